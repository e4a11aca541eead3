"""The ``column_comparison`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...errors import SparquetError
from ...spec import Field, spec
from ..kinds import ColumnRule, RowRule
from ..predicates import any_of

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class ColumnComparison(RowRule, ColumnRule):
    """Fail for rows in which two columns are not in the given relation; a null on either side passes."""

    type: ClassVar[str] = "column_comparison"
    dimension: ClassVar[str] = "consistency"

    operator: Annotated[str, Field("The relation that must hold.", example="<=", choices=("<", "<=", "=", "!=", ">=", ">"))]
    other: Annotated[str, Field("The other column.", example="delivered_at", nonempty=True)]

    def expression(self) -> str:
        return f"column_comparison({self.column} {self.operator} {self.other})"

    def target(self) -> str:
        return f"{self.column}, {self.other}"

    def shown(self) -> tuple[str, ...]:
        return (self.column, self.other)

    def wrong(self) -> str:
        return f"in which {self.column} {self.operator} {self.other} does not hold"

    def violation(self, columns: Columns) -> str:
        left, right = columns.find(self.column), columns.find(self.other)
        if left.family != right.family:
            found = f"{left.name} is {left.type_name}, {right.name} is {right.type_name}"
            raise SparquetError("WRONG_TYPE", "/other", found=found, expected="two columns that compare", hint="; cast one of them first")
        return any_of([f"NOT ({left.sql} {self.operator} {right.sql})"])
