"""The ``stop_if_empty`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..context import Stopped
from ..document import Step
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class StopIfEmpty(Step):
    """End the run as skipped when no row is left."""

    type: ClassVar[str] = "stop_if_empty"
    passes_through: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Put it right after the filter that defines the work, before costly joins: it looks for one row and stops at the first it finds.",
        "In an output's own steps the run is reported as skipped although earlier outputs were written; they stay and are counted.",
    )

    message: Annotated[str, Field("What the result and the log say.", example="No approved orders in the window")] = "There are no rows to process"

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        if run.engine.unobserved(df).isEmpty():
            raise Stopped(self.message)
        return df
