"""The ``regex`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ...spec import Field, spec
from ...text import literal
from ..kinds import ColumnRule, RowRule
from ..predicates import is_false_or_null, text_of

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Regex(RowRule, ColumnRule):
    """Fail for values in which a regular expression is not found; null fails."""

    type: ClassVar[str] = "regex"
    notes: ClassVar[tuple[str, ...]] = ("The dialect is Java's; the pattern may match anywhere unless it has ^ and $.",)

    pattern: Annotated[str, Field("The regular expression.", example="^[0-9]{11}$", nonempty=True)]

    def expression(self) -> str:
        return f"regex({self.column},{self.pattern})"

    def wrong(self) -> str:
        return f"with {self.column} not like {self.pattern}"

    def violation(self, columns: Columns) -> str:
        return is_false_or_null(f"{text_of(columns.find(self.column))} RLIKE {literal(self.pattern)}")
