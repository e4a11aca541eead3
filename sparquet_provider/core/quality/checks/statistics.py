"""The rules ``min``, ``max``, ``avg``, ``sum`` and ``stddev``."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import SparquetError
from ...spec import spec
from ..kinds import ValueRule
from ..metrics import Aggregate, Metric, Values
from ..threshold import Unit

if TYPE_CHECKING:
    from ...columns import Columns, Reference

#: A timestamp with its offset, so that the session's clock can be told whatever the zone of this process.
_INSTANT = "date_format({}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx\")"
#: More digits than any decimal of Spark has.
EXACT = Context(prec=80)


@spec
class Min(ValueRule):
    """Compare the smallest value of a column: a number, a date, a timestamp, a text or a boolean."""

    type: ClassVar[str] = "min"
    units: ClassVar[tuple[Unit, ...]] = ("number", "text")
    notes: ClassVar[tuple[str, ...]] = (
        "Dates and timestamps are compared with dates as text, on the clock of the session's time zone; texts with quoted text.",
        "NaN is the largest number, and never satisfies a condition.",
    )

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        column = columns.find(self.column)
        if column.type.typeName() in ("map", "struct", "array", "binary", "variant"):
            found = f"{column.name}, which is {column.type_name}"
            raise SparquetError("WRONG_TYPE", "/column", found=found, expected="a number, a date, text or a boolean", hint="")
        return (Aggregate(f"{self.type}({column.sql})", self.filter, _INSTANT if column.type.typeName() == "timestamp" else "{}"),)

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        value = values[metrics[0]]
        if value is None or metrics[0].within != _INSTANT:  # type: ignore[union-attr]
            return value
        try:
            return dt.datetime.fromisoformat(value)
        except ValueError:
            reason = "the timestamp lies outside of the years 1 to 9999"
            raise SparquetError("EXPRESSION_FAILED", "/column", reason=reason) from None


@spec
class Max(Min):
    """Compare the largest value of a column: a number, a date, a timestamp, a text or a boolean."""

    type: ClassVar[str] = "max"


@spec
class Sum(ValueRule):
    """Compare the sum of a numeric column; whole numbers and decimals are summed exactly."""

    type: ClassVar[str] = "sum"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Aggregate(f"sum({exact(self.numeric(columns))})", self.filter),)


def exact(column: Reference) -> str:
    """A whole number as decimal(38,0), so that no sum of them overflows; other columns as they are."""
    return column.sql if column.is_floating or column.type.typeName() == "decimal" else f"CAST({column.sql} AS DECIMAL(38,0))"


@spec
class Avg(ValueRule):
    """Compare the mean of a numeric column; whole numbers and decimals are summed exactly."""

    type: ClassVar[str] = "avg"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        column = self.numeric(columns)
        if column.is_floating:
            return (Aggregate(f"avg({column.sql})", self.filter),)
        return (Aggregate(f"sum({exact(column)})", self.filter), Aggregate(f"count({column.sql})", self.filter))

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        first = values[metrics[0]]
        return first if first is None or len(metrics) == 1 else EXACT.divide(Decimal(first), Decimal(values[metrics[1]]))


@spec
class Stddev(ValueRule):
    """Compare the standard deviation of a sample (divided by n - 1); one row alone has none."""

    type: ClassVar[str] = "stddev"
    bounds: ClassVar[tuple[int | None, int | None]] = (0, None)

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        column = self.numeric(columns)
        return (Aggregate(f"stddev_samp(CAST({column.sql} AS DOUBLE))", self.filter), Aggregate(f"count({column.sql})", self.filter))

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        return values[metrics[0]] if int(values[metrics[1]]) > 1 else None
