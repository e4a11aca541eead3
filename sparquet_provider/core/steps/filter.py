"""The ``filter`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Filter(Step):
    """Keep the rows that satisfy a condition."""

    type: ClassVar[str] = "filter"

    condition: Annotated[str, Field("A Spark SQL predicate.", example="status = 'CONFIRMED' AND amount > 0", sql=True, nonempty=True)]

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        return df.where(self.condition)
