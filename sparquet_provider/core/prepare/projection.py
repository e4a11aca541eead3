"""``shape.columns``: the columns that stay, from paths and expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from ..casting import check_type, try_casts
from ..columns import Columns, quoted
from ..errors import Problem, SparquetError, pointer
from ..losses import Tally, tallied
from ..parts import part
from ..spec import Field, spec
from .part import Part, reserved, same_names
from .paths import check_path, default_alias, find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: The control columns that survive a projection.
KEPT = ("ingestion_ts_utc", "__run_id")


@spec
class Projected(Part):
    """One column of the projection; the key is its path, such as ``geometry.coordinates[0]``."""

    alias: Annotated[str | None, Field("Its name; by default the path with _ for dots. Required with expression.", example="longitude", runtime=False)] = None
    cast: Annotated[str | None, Field("Its type; values that do not convert become null and are counted.", example="DOUBLE", runtime=False)] = None
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


def project(columns: Mapping[str, Projected], df: DataFrame, run: Run, tallies: Sequence[Tally] = ()) -> DataFrame:
    """The frame with these columns only, in this order, and those that the run itself adds; the tallies are counted here."""
    from pyspark.sql import functions as F

    chosen: list[tuple[str, Column]] = []
    problems: list[Problem] = []
    for path, column in columns.items():
        try:
            chosen.append((_name(path, column), _value(df, path, column, run)))
        except SparquetError as error:
            problems += error.problems
    if problems:
        raise SparquetError.of(problems)
    named = {name.casefold() for name, _ in chosen}
    kept = {*KEPT, *run.literals, *(column for tally in tallies for column in tally.columns)}
    control = [F.col(quoted(name)) for name in df.columns if name in kept and name.casefold() not in named]
    out = df.select(*[value.alias(name) for name, value in chosen], *control)
    casts = [(pointer(path, "cast"), _name(path, c), c.cast) for path, c in columns.items() if c.cast is not None]
    return try_casts(out, casts, run, tallies) if casts else tallied(out, tallies, run)


def _value(df: DataFrame, path: str, column: Projected, run: Run) -> Column:
    from pyspark.sql import functions as F

    if column.expression is None:
        return F.expr(find(Columns.of(df), path, run, pointer(path)).sql)
    at = pointer(path, "expression")
    with part(run, at, df.columns):
        value = F.expr(column.expression)
        run.engine.check_analysis(df.select(value))
        return value
