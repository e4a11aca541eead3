"""Values that a ``try_cast`` turns into null: which pairs of types can lose any, and when counting them costs nothing.

An observation counts them while the first action runs. It stops filters on their way to the source (columns are still
pruned), and it holds wrong numbers when that action reads only a part of the rows, or reads them twice (sorting samples
the rows first). So it is left out where any of this may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .engine import observed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from .context import Following, Run

#: Why losses are unknown when the run ended before its rows were read, or the engine does not tell.
NOT_REPORTED = "no action reported them"

#: Whole numbers and their bits.
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19, "boolean": 1}
_FLOATING = ("float", "double")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_TEXT = ("string", "char", "varchar")
_NESTED = ("array", "map", "struct")

#: Steps that read every row once when they run or make others run.
_WHOLE = frozenset({
    "filter", "select", "drop", "rename", "cast", "drop_duplicates", "distinct", "fill_na", "with_column", "struct", "group_by",
    "join", "union", "repartition", "checkpoint", "collect", "stop_if_empty", "debug", "transform",
})
#: Steps whose filters Spark would move to the source, were there no observation.
_PUSHES = frozenset({"filter", "join", "transform"})


@dataclass(frozen=True)
class Tally:
    """Columns that are true for the rows to be counted; ``tell`` gets the numbers in their order, None when the engine reports none."""

    columns: tuple[str, ...]
    tell: Callable[[list[int] | None], None]


def tallied(df: DataFrame, tallies: Sequence[Tally], run: Run) -> DataFrame:
    """The frame without the columns of the tallies, which its first action counts, all at one place.

    Every place costs: there Spark writes its rows out in full and leaves the code that it generated.
    """
    if not tallies:
        return df
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation()
    columns = [column for tally in tallies for column in tally.columns]

    def ask(success: bool) -> None:
        values = observed(observation, run.engine)
        if not values and not success:  # the run ended before it read rows: that nothing was counted says nothing
            return
        for tally in tallies:
            # An empty answer: Connect does not report what a checkpoint observed.
            tally.tell([int(values[column]) for column in tally.columns] if values else None)

    run.deferred.append(ask)
    return df.observe(observation, *[F.expr(f"count_if({column}) AS {column}") for column in columns]).drop(*columns)


def can_lose(source: DataType, target: DataType) -> bool:
    """True when a value that is not null may become null (overflow, text that is no number, NaN)."""
    s, t = source.typeName(), target.typeName()
    if source == target or s == "void":
        return False
    if t in _TEXT:
        return s == "binary"
    if s in _TEXT:
        return t != "binary"
    if t in _TIMES:
        return s not in _TIMES
    if t in (*_FLOATING, "boolean"):
        return s not in (*_FLOATING, *BITS, "decimal", "boolean")
    if s == "boolean":
        return t not in (*BITS, "decimal")
    if s in BITS and t in BITS:
        return BITS[s] > BITS[t]
    if t == "decimal" and (s in _DIGITS or s == "decimal"):
        return _whole_digits(source) + _rounds(source, target) > _whole_digits(target)
    if s == "decimal" and t in BITS:
        return _whole_digits(source) >= _DIGITS[t]
    return not (s == "timestamp" and t == "long")


def is_nested(kind: DataType) -> bool:
    """True for types whose values hold other values; what is lost inside them cannot be told from the outside."""
    return kind.typeName() in _NESTED


def _whole_digits(kind: Any) -> int:
    return int(kind.precision - kind.scale) if kind.typeName() == "decimal" else _DIGITS[kind.typeName()]


def _rounds(source: Any, target: Any) -> int:
    """One more digit may be needed when a fraction is rounded up."""
    return int(source.typeName() == "decimal" and source.scale > target.scale)


def why_not_counted(df: DataFrame, run: Run) -> str:
    """The reason why lost values are not counted at this place; empty when they can be, at no cost."""
    if run.uncounted:
        return run.uncounted
    pushes = ""
    for step in run.following:
        if not _reads_once(step):
            return f"the {step.type} after it may read a part of the rows only, or read them twice"
        if step.type in _PUSHES:
            pushes = pushes or step.type
        if step.type == "checkpoint" and getattr(step, "eager", False):
            break
    if pushes and run.engine.gains_from_pushdown(df):
        return f"counting would keep the {pushes} after it from the source"
    return ""


def _reads_once(step: Following) -> bool:
    if step.type == "repartition":
        return not getattr(step, "range", False)
    return step.type in _WHOLE
