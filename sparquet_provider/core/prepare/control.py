"""The control columns of a run, and the cleaning of texts before they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from ..context import Run

#: The instant of the run; there from the read on.
INSTANT = "ingestion_ts_utc"
RUN_ID = "__run_id"


def with_instant(df: DataFrame, run: Run) -> DataFrame:
    """The frame with the run's instant, which the steps may use."""
    from pyspark.sql import functions as F

    warn_of_replaced(INSTANT, df, run)
    return df.withColumn(INSTANT, F.lit(run.ingestion_ts))


def finalise(df: DataFrame, run: Run) -> DataFrame:
    """The frame with its control columns at the end; bytes in top-level texts that are no UTF-8 become U+FFFD."""
    from pyspark.sql import functions as F

    warn_of_replaced(RUN_ID, df, run)
    values = [
        quoted(field.name) if field.name in run.valid_texts else f"{_cleaned(quoted(field.name), field.dataType)} AS {quoted(field.name)}"
        for field in df.schema.fields
        if field.name.casefold() not in (INSTANT, RUN_ID)
    ]
    return df.selectExpr(*values).withColumns({INSTANT: F.lit(run.ingestion_ts), RUN_ID: F.lit(run.run_id)})


def _cleaned(column: str, kind: DataType) -> str:
    if kind.typeName() in ("char", "varchar"):
        return f"CAST(make_valid_utf8({column}) AS {kind.simpleString()})"
    return f"make_valid_utf8({column})" if kind.typeName() == "string" else column


def warn_of_replaced(name: str, df: DataFrame, run: Run) -> None:
    """A column of the source that has a name which the run gives is lost, which the result says."""
    for found in df.columns:
        if found.casefold() == name.casefold():
            run.placed("/input").warn("COLUMN_REPLACED", found=found)
