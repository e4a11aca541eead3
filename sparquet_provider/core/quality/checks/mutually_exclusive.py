"""The ``mutually_exclusive`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...errors import Problem
from ...spec import Field, spec
from ..kinds import ColumnsRule, RowRule

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class MutuallyExclusive(RowRule, ColumnsRule):
    """Fail for rows in which more than one of the columns has a value."""

    type: ClassVar[str] = "mutually_exclusive"
    dimension: ClassVar[str] = "consistency"

    exactly_one: Annotated[bool, Field("Rows in which none of them has a value fail, too.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if len(self.columns) < 2:
            reason = f"{len(self.columns)} column excludes nothing"
            yield Problem("INVALID_COMBINATION", at + "/columns", {"reason": reason, "remedy": "Name two columns or more."})

    def wrong(self) -> str:
        return f"with {'not exactly' if self.exactly_one else 'more than'} one value in {self.target()}"

    def violation(self, columns: Columns) -> str:
        filled = " + ".join(f"int({c.sql} IS NOT NULL)" for c in self.found(columns))
        return f"{filled} {'!=' if self.exactly_one else '>'} 1"
