"""The rules ``duplicate_count``, ``duplicate_percent`` and ``distinct_count``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...spec import Field, spec
from ..kinds import ColumnsRule, CountRule, MetricRule
from ..metrics import Metric, Values, Verdict
from ..threshold import Unit

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class KeyRule(MetricRule, ColumnsRule):
    """A rule over the counts of a key."""

    dimension: ClassVar[str] = "uniqueness"
    measured_in: ClassVar[str] = "keys"
    judging: ClassVar[tuple[str, ...]] = (*MetricRule.judging, "exact")
    notes: ClassVar[tuple[str, ...]] = (
        "Beyond 5,000,000 rows, a key that is no number and has many duplicates is counted by 64-bit hashes, and the message says so: "
        "at 10,000,000 rows the chance that a count is off by one is 0.0003%. exact compares the keys themselves.",
    )

    exact: Annotated[bool, Field("Verify the counts by the keys themselves, at any size.")] = False

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (self.counts(columns),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        verdict = super().judge(metrics, values)
        return verdict if values[metrics[0]].exact else replace(verdict, message=f"{verdict.message}, counted by 64-bit hashes")


@spec
class DuplicateCount(KeyRule, CountRule):
    """Compare the number of surplus rows: rows less distinct keys, over keys without a null."""

    type: ClassVar[str] = "duplicate_count"

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
    bounds: ClassVar[tuple[int | None, int | None]] = (0, 100)
    whole: ClassVar[bool] = False
    units: ClassVar[tuple[Unit, ...]] = ("percent", "number")


@spec
class DistinctCount(KeyRule):
    """Compare the number of distinct keys; keys with a null do not count."""

    type: ClassVar[str] = "distinct_count"
    bounds: ClassVar[tuple[int | None, int | None]] = (0, None)
    whole: ClassVar[bool] = True

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        return int(values[metrics[0]].distinct)
