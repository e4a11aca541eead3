"""The ``accepted_values`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...errors import Problem
from ...spec import Field, spec
from ..kinds import ColumnsRule, RowRule
from ..predicates import any_of, one_of

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class AcceptedValues(RowRule, ColumnsRule):
    """Fail for values that are not in a list; null passes."""

    type: ClassVar[str] = "accepted_values"

    values: Annotated[tuple[Any, ...], Field("The accepted values.", example=["new", "paid"])]

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if all(value is None for value in self.values):
            yield Problem("EMPTY_VALUE", at + "/values", {"expected": "a list of values", "hint": ", for example ['new', 'paid']"})

    def wrong(self) -> str:
        return f"with {self.target()} not among the accepted values"

    def violation(self, columns: Columns) -> str:
        return any_of(f"NOT {one_of(c, self.values, '/values')}" for c in self.found(columns))
