"""Rows that Spark's permissive mode cuts or fills with nulls: counted on the way of the run's first job, no extra pass.

Spark puts such a row as a whole into a column of its own when there is one; an observation counts that column, and then
it is dropped. Formats that are parsed row by row lose nothing by it (there is no push-down worth keeping).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..columns import quoted
from ..document import Source
from ..engine import observed
from .files import MALFORMED, FileFormat
from .options import option, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

COLUMN = "columnNameOfCorruptRecord"


def wants_count(source: Source) -> bool:
    """False when the author decided about such rows: another mode, or a column for them."""
    mode = str(option(source.options, "mode") or "PERMISSIVE").upper()
    return mode == "PERMISSIVE" and option(source.options, COLUMN) is None and "_corrupt_record" not in (source.schema or "")


def counted(fmt: FileFormat, source: Source, run: Run, options: Mapping[str, str], schema: StructType) -> DataFrame:
    """The source with that schema; its malformed rows are counted by the first job and become a warning."""
    from pyspark.sql.types import StringType, StructField, StructType

    wider = StructType([*schema.fields, StructField(MALFORMED, StringType())])
    kept = {k: v for k, v in options.items() if k != "inferSchema"}
    return observe(fmt.load(source, run, {**kept, COLUMN: MALFORMED}, wider), source, run)


def read_counted(fmt: FileFormat, source: Source, run: Run, refuse: Callable[[list[str]], None]) -> DataFrame:
    """The source with its malformed rows counted; ``refuse`` raises for the names of columns that were found and are not enough."""
    options = texts({}, source.options)
    if source.schema:
        return counted(fmt, source, run, options, fmt.load(source, run, options, source.schema).schema)
    df = fmt.load(source, run, {**options, COLUMN: MALFORMED}, None)
    refuse(df.columns)
    return observe(df, source, run) if MALFORMED in df.columns else df


def observe(df: DataFrame, source: Source, run: Run) -> DataFrame:
    """Count the malformed rows of a frame that has them in a column, and drop the column."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation()
    # Spark refuses a job that needs nothing but that column, so another one is looked at too.
    other = next(name for name in df.columns if name != MALFORMED)
    seen = df.observe(observation, F.count(MALFORMED).alias("malformed"), F.count(F.col(quoted(other))).alias("other"))

    def warn(_success: bool) -> None:
        values = observed(observation, run.engine)
        if values and values["malformed"]:
            run.warn("ROWS_MALFORMED", count=values["malformed"], found=", ".join(source.paths))

    run.deferred.append(warn)
    return seen.drop(MALFORMED)
