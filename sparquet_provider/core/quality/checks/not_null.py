"""The ``not_null`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...spec import Field, spec
from ..metrics import Metric, Values, Verdict, count_if
from ..wording import listed, rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class NotNull(Rule):
    """Fail when any of the columns is null in a row."""

    type: ClassVar[str] = "not_null"
    shares_pass: ClassVar[bool] = True
    dimension: ClassVar[str] = "completeness"
    notes: ClassVar[tuple[str, ...]] = ("A row with several nulls counts once.", "NaN is a value, not a null.")

    columns: Annotated[
        tuple[str, ...], Field("The columns that must have a value.", example=["id", "customer_id"], aliases=("column",), nonempty=True, one_or_more=True)
    ]

    def expression(self) -> str:
        return f"not_null({listed(self.columns)})"

    def target(self) -> str:
        return listed(self.columns)

    def violation(self, columns: Columns) -> str:
        return " OR ".join(f"{columns.find(c).sql} IS NULL" for c in self.columns)

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (count_if(self.violation(columns), self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        return Verdict(failed == 0, f"{rows(failed)} without a value in {self.target()}", failed, failed)
