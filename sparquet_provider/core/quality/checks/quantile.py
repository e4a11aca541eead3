"""The ``quantile`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...errors import Problem
from ...spec import Field, spec
from ..kinds import ValueRule
from ..metrics import Aggregate, Metric

if TYPE_CHECKING:
    from ...columns import Columns

#: The rank error of an approximate quantile is at most 1/ACCURACY of the rows (Spark's percentile_approx).
ACCURACY = 10000


@spec
class Quantile(ValueRule):
    """Compare a quantile of a numeric column, such as the median (0.5)."""

    type: ClassVar[str] = "quantile"
    notes: ClassVar[tuple[str, ...]] = (
        "A value of the column whose rank is at most 0.01% of the rows away; with exact, the interpolated quantile, at the cost of memory.",
    )

    quantile: Annotated[float, Field("Which quantile, from 0 to 1.", example=0.95, minimum=0)]
    exact: Annotated[bool, Field("Interpolate between the two nearest values instead of an approximation.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.quantile > 1:
            yield Problem("WRONG_TYPE", at + "/quantile", {"found": self.quantile, "expected": "a number from 0 to 1", "hint": "; 95% is 0.95"})

    def expression(self) -> str:
        return f"quantile({self.column},{self.quantile})"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        column = self.numeric(columns).sql
        call = f"percentile({column}, {self.quantile})" if self.exact else f"percentile_approx({column}, {float(self.quantile)}, {ACCURACY})"
        return (Aggregate(call, self.filter),)
