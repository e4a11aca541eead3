"""The ``freshness`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...document import check_instant
from ...errors import Problem, SparquetError
from ...spec import Field, spec
from ..kinds import ValueRule
from ..metrics import Aggregate, Clock, Metric, Values, Verdict
from ..threshold import Unit
from ..wording import span

if TYPE_CHECKING:
    from ...columns import Columns

#: Seconds by which the newest value may be ahead of the clock: clocks of machines differ.
TOLERANCE = 300


@spec
class Freshness(ValueRule):
    """Compare the age of the newest value of a date or timestamp column."""

    type: ClassVar[str] = "freshness"
    dimension: ClassVar[str] = "freshness"
    units: ClassVar[tuple[Unit, ...]] = ("duration",)
    judging: ClassVar[tuple[str, ...]] = (*ValueRule.judging, "as_of", "allow_future")
    notes: ClassVar[tuple[str, ...]] = (
        "A date counts from its start in the time zone of the session.",
        "A newest value more than 5 minutes ahead of the clock fails, unless allow_future is true.",
        "The figure is in seconds.",
    )

    as_of: Annotated[str | None, Field("The clock, as an ISO timestamp: for backfills.", example="2026-01-31T06:00:00Z")] = None
    allow_future: Annotated[bool, Field("Accept values that lie in the future.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        yield from check_instant(self.as_of, at + "/as_of")

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        column = columns.find(self.column)
        if column.type.typeName() not in ("date", "timestamp", "timestamp_ntz"):
            found = f"{column.name}, which is {column.type_name}"
            raise SparquetError("WRONG_TYPE", "/column", found=found, expected="a date or timestamp", hint="; cast it first")
        return (Aggregate(f"max({column.sql})", self.filter, "unix_micros(CAST({} AS TIMESTAMP))"), Clock(self.as_of))

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        newest = values[metrics[0]]
        return None if newest is None else (values[metrics[1]] - int(newest)) / 1_000_000

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        age = self.measured(metrics, values)
        if age is not None and age < -TOLERANCE and not self.allow_future:
            return Verdict(False, f"{self.expression()}: the newest value lies {span(-age)} in the future", 1, age)
        return super().judge(metrics, values)

    def worded(self, value: Any) -> str:
        return span(value)
