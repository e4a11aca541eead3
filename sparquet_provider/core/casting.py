"""Casts that give null for what does not convert, and count what was lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .columns import Reference
from .errors import Problem, SparquetError, nearest
from .faults import condition_of, translate
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
#: How the columns begin that are true where a value was lost.
_LOST = "__sparquet_lost"
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


@dataclass(frozen=True)
class Cast:
    """A conversion: its place below the run's, what is converted, the type, the column that takes the result."""

    at: str
    source: Reference
    kind: str
    column: str


def try_casts(df: DataFrame, casts: Iterable[tuple[str, str, str]], run: Run, tallies: Sequence[Tally] = ()) -> DataFrame:
    """The frame with top-level columns converted; values that do not convert become null, and a warning says how many.

    Args:
        df: the frame.
        casts: place below the run's place, column, type.
        run: the run; every column that is missing or can never be converted is an error at its place.
        tallies: what else is counted at the same place.
    """
    casts = list(casts)
    found = located(df, ((at, name) for at, name, _ in casts), run, "", top_level=True)
    out, lost = converted(df, [Cast(at, column, kind, column.name) for (at, column), (_, _, kind) in zip(found, casts, strict=True)], run)
    return tallied(out, [*tallies, *lost], run)


def converted(df: DataFrame, casts: Sequence[Cast], run: Run) -> tuple[DataFrame, list[Tally]]:
    """The frame with the results, and the tally of the values that are lost, whose columns are there until :func:`tallied` drops them."""
    try:
        values = {cast.column: _value(cast) for cast in casts}
        out = run.engine.check_analysis(df.withColumns(values))
    except Exception as error:  # some types are refused by the JVM before any query has them
        faults = [p for cast in casts for p in _fault(df, run, cast)]
        raise (SparquetError.of(faults) if faults else error) from error
    schema = out.schema
    losing = [cast for cast in casts if can_lose(cast.source.type, schema[cast.column].dataType)]
    counted = [cast for cast in losing if not is_nested(cast.source.type)]
    for cast in (cast for cast in losing if is_nested(cast.source.type)):
        run.warn("VALUES_LOST_UNKNOWN", cast.at, found=cast.source.name, reason="they lie inside arrays, maps or structs")
    if not counted:
        return out, []
    names = ", ".join(cast.source.name for cast in counted)
    if reason := why_not_counted(df, run):
        run.warn("VALUES_LOST_UNKNOWN", "", found=names, reason=reason)
        return out, []

    def tell(numbers: list[int] | None) -> None:
        if numbers is None:
            run.warn("VALUES_LOST_UNKNOWN", "", found=names, reason=NOT_REPORTED)
            return
        for number, cast in zip(numbers, counted, strict=True):
            if number:
                run.warn("VALUES_LOST", cast.at, count=number, found=cast.source.name, expected=cast.kind)

    out, bits = _flagged(df, counted, values)
    return out, [Tally(bits, tell)]


def _flagged(df: DataFrame, counted: Sequence[Cast], values: Mapping[str, Column]) -> tuple[DataFrame, tuple[str, ...]]:
    """The frame with the values, each converted once, and for each that is counted one bit: it was lost."""
    from pyspark.sql import functions as F

    temporary = {cast.column: f"__sparquet_cast{i}" for i, cast in enumerate(counted)}
    first = sum(name.startswith(_LOST) for name in df.columns)
    bits = tuple(f"{_LOST}{first + i}" for i in range(len(counted)))
    both = df.withColumns({name: values[column] for column, name in temporary.items()})
    is_lost = {bit: F.expr(f"{c.source.sql} IS NOT NULL AND {temporary[c.column]} IS NULL") for bit, c in zip(bits, counted, strict=True)}
    results = {name: F.expr(temporary[name]) if name in temporary else value for name, value in values.items()}
    return both.withColumns({**is_lost, **results}).drop(*temporary.values()), bits


def _value(cast: Cast) -> Column:
    from pyspark.sql import functions as F

    return F.expr(cast.source.sql).try_cast(cast.kind)


def _fault(df: DataFrame, run: Run, cast: Cast) -> Iterator[Problem]:
    """Why Spark refuses to convert this column, if it does."""
    from pyspark.errors import PySparkException

    try:
        run.engine.check_analysis(df.select(_value(cast)))
    except Exception as error:
        if not isinstance(error, PySparkException) and not hasattr(error, "java_exception"):  # a lost connection says nothing of the type
            raise
        condition = condition_of(error)
        if condition.startswith("DATATYPE_MISMATCH"):
            yield Problem("CAST_IMPOSSIBLE", run.at + cast.at, {"found": cast.source.name, "type": cast.source.type_name, "expected": cast.kind})
        elif condition.startswith("AMBIGUOUS"):
            yield from translate(error, run.at + cast.at).problems
        else:
            yield Problem("TYPE_INVALID", run.at + cast.at, {"found": cast.kind})
