"""The ``row_count`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...errors import Problem
from ...spec import Field, spec
from ..kinds import MetricRule
from ..metrics import Metric, Values, Verdict, rows_of

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class RowCount(MetricRule):
    """Fail when the number of rows is outside of an interval, or breaks a threshold."""

    type: ClassVar[str] = "row_count"
    dimension: ClassVar[str] = "volume"
    judging: ClassVar[tuple[str, ...]] = ("must_be", "warn", "min", "max")
    bounds: ClassVar[tuple[int | None, int | None]] = (0, None)
    whole: ClassVar[bool] = True

    min: Annotated[int | None, Field("The smallest number of rows allowed.", example=1, minimum=0)] = None
    max: Annotated[int | None, Field("The largest number of rows allowed.", example=1000000, minimum=0)] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.min is None and self.max is None:
            yield from super().check(at)
            return
        yield from Rule.check(self, at)
        for key in ("must_be", "warn"):
            if (text := getattr(self, key)) is not None and "{{" not in text:
                yield from self._check_threshold(text, f"{at}/{key}")
        if self.min is not None and self.max is not None and self.min > self.max:
            yield Problem("INVALID_COMBINATION", at, {"reason": f"min {self.min} is above max {self.max}: no count can pass", "remedy": "Exchange them."})

    def expression(self) -> str:
        bounded = self.min is not None or self.max is not None
        return f"row_count({'' if self.min is None else self.min},{'' if self.max is None else self.max})" if bounded else "row_count"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (rows_of(self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        count = int(values[metrics[0]])
        passed = (self.min is None or count >= self.min) and (self.max is None or count <= self.max)
        if passed and (self.must_be or self.warn):
            return super().judge(metrics, values)
        low, high = (0 if self.min is None else self.min), ("∞" if self.max is None else self.max)
        return Verdict(passed, f"{count} rows, expected [{low}, {high}]", 0 if passed else 1, count)
