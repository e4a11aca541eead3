"""The ``unique`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...spec import Field, spec
from ..metrics import Metric, RepeatedRows, Values, Verdict
from ..wording import listed, rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Unique(Rule):
    """Fail when a key, of one or more columns, stands in more than one row."""

    type: ClassVar[str] = "unique"
    dimension: ClassVar[str] = "uniqueness"
    notes: ClassVar[tuple[str, ...]] = ("Every row of a repeated key counts, not only the surplus.", "Nulls compare equal.")

    columns: Annotated[tuple[str, ...], Field("The columns of the key.", example=["id"], aliases=("column",), nonempty=True, one_or_more=True)]

    def expression(self) -> str:
        return f"unique({listed(self.columns)})"

    def target(self) -> str:
        return listed(self.columns)

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (RepeatedRows(tuple(columns.find(c).sql for c in self.columns), self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        return Verdict(failed == 0, f"{rows(failed)} with a repeated {self.target()}", failed, failed)
