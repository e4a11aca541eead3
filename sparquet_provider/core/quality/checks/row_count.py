"""The ``row_count`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...errors import Problem
from ...spec import Field, spec
from ..metrics import ROWS, Aggregate, Metric, Values, Verdict

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class RowCount(Rule):
    """Fail when the number of rows is outside of an interval."""

    type: ClassVar[str] = "row_count"
    shares_pass: ClassVar[bool] = True
    dimension: ClassVar[str] = "volume"

    min: Annotated[int | None, Field("The smallest number of rows allowed.", example=1, minimum=0)] = None
    max: Annotated[int | None, Field("The largest number of rows allowed.", example=1000000, minimum=0)] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.min is None and self.max is None:
            yield Problem("MISSING_KEY", at, {"expected": "min", "hint": ", or max, or both"})
        elif self.min is not None and self.max is not None and self.min > self.max:
            yield Problem("INVALID_COMBINATION", at, {"reason": f"min {self.min} is above max {self.max}: no count can pass", "remedy": "Exchange them."})

    def expression(self) -> str:
        return f"row_count({'' if self.min is None else self.min},{'' if self.max is None else self.max})"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Aggregate(ROWS.sql, self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        count = int(values[metrics[0]])
        passed = (self.min is None or count >= self.min) and (self.max is None or count <= self.max)
        low, high = (0 if self.min is None else self.min), ("∞" if self.max is None else self.max)
        return Verdict(passed, f"{count} rows, expected [{low}, {high}]", 0 if passed else 1, count)
