"""The ``not_null`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...spec import spec
from ..kinds import ColumnsRule, RowRule

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class NotNull(RowRule, ColumnsRule):
    """Fail when any of the columns is null in a row."""

    type: ClassVar[str] = "not_null"
    dimension: ClassVar[str] = "completeness"
    notes: ClassVar[tuple[str, ...]] = ("A row with several nulls counts once.", "NaN is a value, not a null.")

    def wrong(self) -> str:
        return f"with null in {self.target()}"

    def violation(self, columns: Columns) -> str:
        return " OR ".join(f"{c.sql} IS NULL" for c in self.found(columns))
