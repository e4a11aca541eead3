"""The ``unique`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...spec import spec
from ..kinds import ColumnsRule
from ..metrics import Keys, Metric, Values, Verdict
from ..wording import rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Unique(ColumnsRule):
    """Fail when a key, of one or more columns, stands in more than one row."""

    type: ClassVar[str] = "unique"
    dimension: ClassVar[str] = "uniqueness"
    measured_in: ClassVar[str] = "keys"
    blames_rows: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ("Every row of a repeated key counts, not only the surplus.", "Nulls compare equal.")

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Keys(tuple(c.sql for c in self.found(columns)), self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = values[metrics[0]].repeated
        return Verdict(failed == 0, f"{rows(failed)} {self.wrong()}", failed, failed)

    def wrong(self) -> str:
        """What is wrong with a bad row."""
        return f"with a repeated {self.target()}"

    def reason(self) -> str:
        return self.error_message or self.wrong()
