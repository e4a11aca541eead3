"""The ``unique`` rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...spec import spec
from ..kinds import ColumnsRule
from ..metrics import Metric, Values, Verdict, count_if
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
    exact: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ("Every row of a repeated key counts, not only the surplus.", "Nulls compare equal.")

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        keys = self.counts(columns)
        return (keys, count_if(" AND ".join(f"{c} IS NULL" for c in keys.columns), self.filter))

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        nulls = int(values[metrics[1]])
        failed = values[metrics[0]].repeated + (nulls if nulls > 1 else 0)
        return Verdict(failed == 0, f"{rows(failed)} {self.wrong()}", failed, failed)

    def wrong(self) -> str:
        """What is wrong with a bad row."""
        return f"with a repeated {self.target()}"

    def reason(self) -> str:
        return self.error_message or self.wrong()
