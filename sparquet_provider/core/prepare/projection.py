"""``shape.columns``: the columns that stay, from paths and expressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from ..casting import Cast, check_type, converted, try_casts
from ..columns import HIDDEN, Columns, quoted
from ..errors import Problem, SparquetError, pointer
from ..losses import Tally, is_nested, tallied
from ..parts import part
from ..spec import Field, spec
from .part import Part, reserved, same_names
from .paths import check_path, default_alias, find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: The names in a reference; the first is that of a top-level column.
_ROOT = re.compile(r"`((?:[^`]|``)+)`")
#: The control columns that survive a projection.
KEPT = ("ingestion_ts_utc", "__run_id")


@spec
class Projected(Part):
    """One column of the projection; the key is its path, such as ``geometry.coordinates[0]``."""

    alias: Annotated[str | None, Field("Its name; by default the path with _ for dots. Required with expression.", example="longitude", runtime=False)] = None
    cast: Annotated[
        str | None, Field("Its type; values that do not convert become null and are counted in each row that is written.", example="DOUBLE", runtime=False)
    ] = None
    expression: Annotated[str | None, Field("An SQL expression instead of the path.", example="upper(event.code)", sql=True)] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.expression is not None:
            if not self.expression.strip():
                yield Problem("EMPTY_VALUE", at + "/expression", {"expected": "an SQL expression", "hint": ""})
            if self.alias is None:
                yield Problem("MISSING_KEY", at, {"expected": "alias", "hint": ": an expression has no name of its own"})
        if self.alias is not None and not self.alias.strip():
            yield Problem("EMPTY_VALUE", at + "/alias", {"expected": "a name", "hint": ""})
        if self.cast is not None:
            yield from check_type(self.cast, at + "/cast")


def check_projection(columns: Mapping[str, Projected], at: str) -> Iterator[Problem]:
    """Paths that are none, and names that are given twice or belong to the run."""
    for path, column in columns.items():
        if column.expression is None:
            yield from check_path(path, at + pointer(path), indices=True)
    names = [(at + pointer(path), _name(path, column)) for path, column in columns.items()]
    yield from same_names(names)
    itself = {at + pointer(path) for path, column in columns.items() if path in KEPT and column.cast is None and column.expression is None}
    yield from reserved([(place, name) for place, name in names if place not in itself or name not in KEPT])


def _name(path: str, column: Projected) -> str:
    return column.alias or default_alias(path)


def cast_early(columns: Mapping[str, Projected], df: DataFrame, run: Run, replaced: Collection[str]) -> tuple[DataFrame, dict[str, str], list[Tally]]:
    """Convert what a record holds once, before its items make rows of it and each row would be converted.

    Args:
        columns: the projection.
        df: the records.
        run: the run, at the place of the projection.
        replaced: the columns that are made later; paths that begin there wait for them.

    Returns:
        The frame, the new column for each path that was converted, and the tally of lost values.
    """
    casts: list[Cast] = []
    early: dict[str, str] = {}
    known, later = Columns.of(df), {name.casefold() for name in replaced}
    for path, column in columns.items():
        if column.cast is None or column.expression is not None or re.split(r"[.\[]", path)[0].casefold() in later:
            continue
        with suppress(SparquetError):  # it is not there yet
            source = find(known, path, run, pointer(path))
            if not is_nested(source.type):
                early[path] = f"{HIDDEN}early{len(early)}"
                casts.append(Cast(pointer(path, "cast"), replace(source, name=_name(path, column)), column.cast, early[path]))
    if not casts:
        return df, early, []
    df, tallies = converted(df, casts, run)
    return df, early, tallies


def project(
    columns: Mapping[str, Projected], df: DataFrame, run: Run, tallies: Sequence[Tally] = (), early: Mapping[str, str] | None = None
) -> DataFrame:
    """The frame with these columns only, in this order, and those that the run itself adds; the tallies are counted here.

    ``early`` are the columns that hold the converted values of paths already.
    """
    from pyspark.sql import functions as F

    early = early or {}
    chosen: list[Column] = []
    problems: list[Problem] = []
    for path, column in columns.items():
        try:
            chosen.append(F.expr(f"{early[path]} AS {quoted(_name(path, column))}") if path in early else _value(df, path, column, run))
        except SparquetError as error:
            problems += error.problems
    if problems:
        raise SparquetError.of(problems)
    named = {_name(path, column).casefold() for path, column in columns.items()}
    kept = {*KEPT, *run.literals, *(column for tally in tallies for column in tally.columns)}
    control = [F.col(quoted(name)) for name in df.columns if name in kept and name.casefold() not in named]
    out = df.select(*chosen, *control)
    casts = [(pointer(path, "cast"), _name(path, c), c.cast) for path, c in columns.items() if c.cast is not None and path not in early]
    return try_casts(out, casts, run, tallies) if casts else tallied(out, tallies, run)


def texts_within(roots: Collection[str], columns: Mapping[str, Projected], df: DataFrame, run: Run) -> Iterator[str]:
    """The names of projected columns that take a text, as it is, out of some top-level columns."""
    known = Columns.of(df)
    for path, column in columns.items():
        if column.expression is None:
            with suppress(SparquetError):  # project tells
                source = find(known, path, run, "")
                if source.is_text and _ROOT.findall(source.sql)[0].replace("``", "`") in roots:
                    yield _name(path, column)


def _value(df: DataFrame, path: str, column: Projected, run: Run) -> Column:
    """The column under its name."""
    from pyspark.sql import functions as F

    name = _name(path, column)
    if column.expression is None:
        return F.expr(f"{find(Columns.of(df), path, run, pointer(path)).sql} AS {quoted(name)}")
    at = pointer(path, "expression")
    with part(run, at, df.columns):
        value = F.expr(column.expression).alias(name)
        run.engine.check_analysis(df.select("*", value))  # beside the columns, where an aggregate has no place
        return value
