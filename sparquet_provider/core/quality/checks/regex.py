"""The ``regex`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...spec import Field, spec
from ...text import literal
from ..metrics import Metric, Values, Verdict, count_if
from ..wording import rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Regex(Rule):
    """Fail for values in which a regular expression is not found; null fails."""

    type: ClassVar[str] = "regex"
    shares_pass: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ("The dialect is Java's; the pattern may match anywhere unless it has ^ and $.",)

    column: Annotated[str, Field("The column.", example="cpf", nonempty=True)]
    pattern: Annotated[str, Field("The regular expression.", example="^[0-9]{11}$", nonempty=True)]

    def expression(self) -> str:
        return f"regex({self.column},{self.pattern})"

    def target(self) -> str:
        return self.column

    def violation(self, columns: Columns) -> str:
        column = columns.find(self.column)
        text = column.sql if column.is_text else f"CAST({column.sql} AS string)"
        return f"NOT coalesce({text} RLIKE {literal(self.pattern)}, false)"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (count_if(self.violation(columns), self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        return Verdict(failed == 0, f"{rows(failed)} with {self.column} not like {self.pattern}", failed, failed)
