"""The ``filter`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..parts import part
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Filter(Step):
    """Keep the rows that satisfy a condition."""

    type: ClassVar[str] = "filter"
    notes: ClassVar[tuple[str, ...]] = (
        "A row for which the condition is null is dropped: status <> 'X' drops rows without a status.",
        "A plain comparison on a column of the source reaches the reader; a function or cast around the column often keeps it from there.",
    )

    condition: Annotated[str, Field("A Spark SQL predicate.", example="status = 'CONFIRMED' AND amount > 0", sql=True, nonempty=True)]

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        with part(run, "/condition", df.columns):
            return run.engine.check_analysis(df.where(self.condition))
