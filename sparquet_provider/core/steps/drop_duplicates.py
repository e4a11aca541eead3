"""The ``drop_duplicates`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..parts import references
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class DropDuplicates(Step):
    """Keep one row for each value of a key."""

    type: ClassVar[str] = "drop_duplicates"
    reduces: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Which of the rows with one key survives is not determined, not even after a sort; use deduplicate (in a transform step) to keep the newest.",
        "Nulls compare equal: rows with a null key become one row.",
        "Without columns the whole row is the key, as in distinct; columns of type map cannot be compared.",
    )

    columns: Annotated[tuple[str, ...] | None, Field("The names of the key columns; the whole row when absent or empty.", example=["id"])] = None

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        if not self.columns:
            return df.dropDuplicates()
        return df.dropDuplicates([c.name for c in references(df, self.columns, run, "/columns", top_level=True)])
