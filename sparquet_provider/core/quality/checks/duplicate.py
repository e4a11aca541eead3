"""The rules ``duplicate_count``, ``duplicate_percent`` and ``distinct_count``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...spec import spec
from ..kinds import ColumnsRule, CountRule, MetricRule
from ..metrics import Keys, Metric, Values
from ..threshold import Unit

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class DuplicateCount(CountRule, ColumnsRule):
    """Compare the number of surplus rows: rows less distinct keys, over keys without a null."""

    type: ClassVar[str] = "duplicate_count"
    dimension: ClassVar[str] = "uniqueness"
    measured_in: ClassVar[str] = "keys"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Keys(tuple(c.sql for c in self.found(columns)), self.filter),)

    def total(self, metrics: tuple[Metric, ...], values: Values) -> int:
        return int(values[metrics[0]].rows)

    def bad_rows(self, metrics: tuple[Metric, ...], values: Values) -> int | None:
        counts = values[metrics[0]]
        return int(counts.rows - counts.distinct)


@spec
class DuplicatePercent(DuplicateCount):
    """Compare the share of surplus rows, from 0 to 100, among the rows whose key has no null."""

    type: ClassVar[str] = "duplicate_percent"
    percent: ClassVar[bool] = True
    units: ClassVar[tuple[Unit, ...]] = ("percent", "number")


@spec
class DistinctCount(MetricRule, ColumnsRule):
    """Compare the number of distinct keys; keys with a null do not count."""

    type: ClassVar[str] = "distinct_count"
    dimension: ClassVar[str] = "uniqueness"
    measured_in: ClassVar[str] = "keys"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Keys(tuple(c.sql for c in self.found(columns)), self.filter),)

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        return int(values[metrics[0]].distinct)
