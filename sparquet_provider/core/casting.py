"""Casts that give null for what does not convert, and count what was lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .columns import Reference
from .errors import Problem, SparquetError, nearest
from .losses import NOT_REPORTED, Tally, can_lose, is_nested, tallied, why_not_counted
from .parts import located

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from .context import Run

_TYPES = (
    "boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double", "decimal", "dec", "numeric",
    "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "string", "char", "character", "varchar", "binary", "interval", "void",
    "variant", "geometry", "geography", "array", "map", "struct",
)
#: A type of one word, with what stands in its brackets; and one that holds another.
_SIMPLE = re.compile(r"([A-Za-z_]+)\s*(?:\(([^()]*)\))?")
_HOLDER = re.compile(r"(array|map|struct)\s*<(.*)>", re.IGNORECASE | re.DOTALL)
#: Types whose names may go on: with a collation, a time zone, units.
_LONG = re.compile(r"(?:string|char|varchar|character|timestamp|time|interval|double|geometry|geography)\b.+", re.IGNORECASE | re.DOTALL)


def check_type(kind: str, at: str) -> Iterator[Problem]:
    """The defect of a text that is no Spark type, as far as that shows without Spark."""
    if (wrong := _wrong_type(kind.strip())) is not None:
        yield Problem("TYPE_INVALID", at, {"found": kind, "nearest": nearest(wrong, _TYPES)})


def _wrong_type(kind: str) -> str | None:
    """The part of a type that is none; None when all of it may be one."""
    if holder := _HOLDER.fullmatch(kind):
        inside = holder[2].strip()
        if holder[1].lower() == "array":
            return _wrong_type(inside)
        return None if inside or holder[1].lower() == "struct" else kind
    simple = _SIMPLE.fullmatch(kind)
    if simple is None:
        return None if _LONG.fullmatch(kind) else kind
    name, numbers = simple[1].lower(), [n.strip() for n in simple[2].split(",")] if simple[2] is not None else []
    if name in ("decimal", "dec", "numeric") and numbers:
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else "0"
        fits = precision.isdigit() and scale.isdigit() and len(numbers) <= 2 and 1 <= int(precision) <= 38 and int(scale) <= int(precision)
        return None if fits else kind
    if name in ("char", "character", "varchar"):
        return None if len(numbers) == 1 and numbers[0].isdigit() else kind
    return None if name in _TYPES else name


def try_casts(df: DataFrame, casts: Iterable[tuple[str, str, str]], run: Run, tallies: Sequence[Tally] = ()) -> DataFrame:
    """The frame with top-level columns converted; values that do not convert become null, and a warning says how many.

    Args:
        df: the frame.
        casts: place below the run's place, column, type.
        run: the run; every column that is missing or can never be converted is an error at its place.
        tallies: what else is counted at the same place.
    """
    from pyspark.errors import PySparkException

    casts = list(casts)
    found = located(df, ((at, name) for at, name, _ in casts), run, "", top_level=True)
    pairs = [(at, column, kind) for (at, column), (_, _, kind) in zip(found, casts, strict=True)]
    try:
        out = run.engine.check_analysis(df.withColumns({column.name: _converted(column, kind) for _, column, kind in pairs}))
    except PySparkException as error:
        faults = [p for at, column, kind in pairs for p in _fault(df, run, at, column, kind)]
        raise (SparquetError.of(faults) if faults else error) from error
    return _counted(df, out, run, pairs, tallies)


def _counted(df: DataFrame, out: DataFrame, run: Run, pairs: list[tuple[str, Reference, str]], tallies: Sequence[Tally]) -> DataFrame:
    """``out``, computed in a way that the values lost are known at the end."""
    from pyspark.sql import functions as F

    schema = out.schema
    losing = [(at, c, kind) for at, c, kind in pairs if can_lose(c.type, schema[c.name].dataType)]
    counted = [(at, c, kind) for at, c, kind in losing if not is_nested(c.type)]
    for at, column, _ in (pair for pair in losing if is_nested(pair[1].type)):
        run.warn("VALUES_LOST_UNKNOWN", at, found=column.name, reason="they lie inside arrays, maps or structs")
    if not counted:
        return tallied(out, tallies, run)
    names = ", ".join(c.name for _, c, _ in counted)
    if reason := why_not_counted(df, run):
        run.warn("VALUES_LOST_UNKNOWN", "", found=names, reason=reason)
        return tallied(out, tallies, run)
    # Each value is converted once, and what is counted beside it is one bit.
    temporary = {c.name: f"__sparquet_cast{i}" for i, (_, c, _) in enumerate(counted)}
    bits = tuple(f"__sparquet_lost{i}" for i in range(len(counted)))

    def tell(numbers: list[int] | None) -> None:
        if numbers is None:
            run.warn("VALUES_LOST_UNKNOWN", "", found=names, reason=NOT_REPORTED)
            return
        for number, (at, column, kind) in zip(numbers, counted, strict=True):
            if number:
                run.warn("VALUES_LOST", at, count=number, found=column.name, expected=kind)

    both = df.withColumns({temporary[c.name]: _converted(c, kind) for _, c, kind in counted})
    is_lost = {bit: F.col(c.sql).isNotNull() & F.col(temporary[c.name]).isNull() for bit, (_, c, _) in zip(bits, counted, strict=True)}
    values = {c.name: F.col(temporary[c.name]) if c.name in temporary else _converted(c, kind) for _, c, kind in pairs}
    return tallied(both.withColumns({**is_lost, **values}).drop(*temporary.values()), [*tallies, Tally(bits, tell)], run)


def _converted(column: Reference, kind: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(column.sql).try_cast(kind)


def _fault(df: DataFrame, run: Run, at: str, column: Reference, kind: str) -> Iterator[Problem]:
    """Why Spark refuses to convert this column, if it does."""
    from pyspark.errors import PySparkException

    try:
        run.engine.check_analysis(df.select(_converted(column, kind)))
    except PySparkException as error:
        if (error.getCondition() or "").startswith("DATATYPE_MISMATCH"):
            yield Problem("CAST_IMPOSSIBLE", run.at + at, {"found": column.name, "type": column.type_name, "expected": kind})
        else:
            yield Problem("TYPE_INVALID", run.at + at, {"found": kind})
