"""The ``completeness`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...spec import Field, spec
from ..kinds import ColumnsRule, MetricRule
from ..metrics import Metric, Query, Values, Verdict
from ..threshold import Unit
from ..wording import figure, joined

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Completeness(MetricRule, ColumnsRule):
    """Compare the share of complete rows, from 0 to 100, in every group."""

    type: ClassVar[str] = "completeness"
    dimension: ClassVar[str] = "completeness"
    measured_in: ClassVar[str] = "query"
    units: ClassVar[tuple[Unit, ...]] = ("percent", "number")
    bounds: ClassVar[tuple[int | None, int | None]] = (0, 100)
    notes: ClassVar[tuple[str, ...]] = ("The rule fails when one group does; the figure is the share of the worst group.", "A frame without rows passes.")

    by: Annotated[tuple[str, ...], Field("The columns that form the groups.", example=["country"], nonempty=True, one_or_more=True)]

    def expression(self) -> str:
        return f"completeness({joined(self.columns)} by {joined(self.by)})"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        complete = " AND ".join(f"{c.sql} IS NOT NULL" for c in self.found(columns))
        keys = ", ".join(columns.find(name).sql for name in self.by)
        broken = [f"count_if(NOT {c.sql('share')})" if c else "0L" for c in (self.condition("must_be"), self.condition("warn"))]
        shares = f"SELECT 100D * count_if({complete}) / count(1) AS share FROM _validation_df GROUP BY {keys}"
        return (Query(f"SELECT count(1), {broken[0]}, {broken[1]}, min(share), max(share) FROM ({shares})", False, self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        groups, failed, warned, low, high = values[metrics[0]]
        if not groups:
            return Verdict(True, f"{self.expression()}: no group to measure", 0, None)
        worst = self._worst(low, high)
        words = f"{self.expression()} = {figure(worst)}% in the worst of {groups} groups"
        if failed:
            return Verdict(False, f"{words}; {failed} break must_be ({self.must_be})", 1, worst)
        return Verdict(True, f"{words}; {warned} break warn ({self.warn})" if warned else words, 0, worst, bool(warned))

    def _worst(self, low: float, high: float) -> Any:
        # A condition such as "< 50%" is broken from above.
        for condition in (self.condition("must_be"), self.condition("warn")):
            if condition and condition.holds(low) and not condition.holds(high):
                return high
        return low
