"""The ``distinct`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..document import Step
from ..spec import spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Distinct(Step):
    """Remove rows that repeat another in every column."""

    type: ClassVar[str] = "distinct"
    reduces: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ("Nulls compare equal.", "A column of type map cannot be compared: drop it, or turn it into text with to_json.")

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        return df.distinct()
