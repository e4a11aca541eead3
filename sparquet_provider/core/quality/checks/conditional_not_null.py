"""The ``conditional_not_null`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...spec import Field, spec
from ..kinds import ColumnsRule, RowRule

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class ConditionalNotNull(RowRule, ColumnsRule):
    """Fail when any of the columns is null in a row that satisfies a condition."""

    type: ClassVar[str] = "conditional_not_null"
    dimension: ClassVar[str] = "completeness"

    when: Annotated[str, Field("The condition, as an SQL predicate.", example="status = 'shipped'", sql=True, nonempty=True)]

    def wrong(self) -> str:
        return f"with null in {self.target()} although {self.when}"

    def violation(self, columns: Columns) -> str:
        return f"coalesce({self.when}\n, false) AND ({' OR '.join(f'{c.sql} IS NULL' for c in self.found(columns))})"
