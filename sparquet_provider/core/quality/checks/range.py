"""The ``range`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...errors import Problem
from ...spec import Field, spec
from ..kinds import ColumnRule, RowRule
from ..predicates import any_of, outside

if TYPE_CHECKING:
    from ...columns import Columns

Bound = float | int | str | None


@spec
class Range(RowRule, ColumnRule):
    """Fail for values outside of a closed interval; null passes."""

    type: ClassVar[str] = "range"
    notes: ClassVar[tuple[str, ...]] = (
        "NaN is a violation.",
        "Text in a text column is read as a number; what is no number is a violation.",
        "Dates and timestamps take bounds as text.",
    )

    min: Annotated[Bound, Field("The smallest value allowed.", example=0)] = None
    max: Annotated[Bound, Field("The largest value allowed.", example=150)] = None

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.min is None and self.max is None:
            yield Problem("MISSING_KEY", at, {"expected": "min", "hint": ", or max, or both"})
        elif isinstance(self.min, str) == isinstance(self.max, str) and self.min is not None and self.max is not None and self.min > self.max:  # type: ignore[operator]
            yield Problem("INVALID_COMBINATION", at, {"reason": f"min {self.min} is above max {self.max}: no value can pass", "remedy": "Exchange them."})

    def expression(self) -> str:
        return f"range({self.column},{'' if self.min is None else self.min},{'' if self.max is None else self.max})"

    def wrong(self) -> str:
        low, high = ("-∞" if self.min is None else self.min), ("∞" if self.max is None else self.max)
        return f"with {self.column} outside [{low}, {high}]"

    def violation(self, columns: Columns) -> str:
        return any_of([outside(columns.find(self.column), self.min, self.max, ("/min", "/max"))])
