"""Metrics that need more than the frame's own pass: a query, another source, earlier results, the clock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..columns import Columns
from ..document import check_instant
from ..errors import SparquetError
from ..text import instant, literal
from .metrics import Clock, Elsewhere, History, Partnerless, Query

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run


def query(df: DataFrame, metric: Query, run: Run) -> Any:
    """The first row of a query as a tuple (None without one), or the number of its rows."""
    result = run.engine.query(df.where(metric.filter) if metric.filter else df, "_validation_df", metric.sql)
    if metric.counts_rows:
        return int(result.count())
    rows = result.limit(1).collect()
    return tuple(rows[0]) if rows else None


def partnerless(df: DataFrame, metric: Partnerless, run: Run) -> int:
    """The number of rows whose key has no partner in the other source."""
    from pyspark.sql import functions as F

    rows = df.where(metric.filter) if metric.filter else df
    whole = " AND ".join(f"{c} IS NOT NULL" for c in metric.columns)
    own = rows.where(whole).select(*[F.expr(c).alias(f"k{i}") for i, c in enumerate(metric.columns)])
    names = own.columns
    return int(own.join(keys_elsewhere(metric, run, "r"), _equal(names, "r"), "left_anti").count())


def keys_elsewhere(metric: Partnerless, run: Run, prefix: str) -> DataFrame:
    """The distinct keys of the other source, as columns ``<prefix>0``, ``<prefix>1`` …"""
    from pyspark.sql import functions as F

    other = run.read(metric.source, "/source")
    columns = Columns.of(other)
    picked: list[str] = []
    for name, family in zip(metric.source_columns, metric.families, strict=True):
        try:
            column = columns.find(name)
        except SparquetError as error:
            raise error.below("/source_columns") from error
        if column.family != family:
            # Spark would compare them after a cast, by which several keys there may become one.
            found, expected = f"{name}, which is {column.type_name}", f"a column of the same kind as {metric.columns[len(picked)]} ({family})"
            raise SparquetError("WRONG_TYPE", "/source_columns", found=found, expected=expected, hint="; cast one of them first")
        picked.append(column.sql)
    return other.select(*[F.expr(c).alias(f"{prefix}{i}") for i, c in enumerate(picked)]).distinct()


def _equal(names: list[str], prefix: str) -> Column:
    from pyspark.sql import functions as F

    return reduce(lambda a, b: a & b, [F.col(n) == F.col(f"{prefix}{i}") for i, n in enumerate(names)])


def elsewhere(_: DataFrame, metric: Elsewhere, run: Run) -> Any:
    """An aggregate of another source."""
    from pyspark.sql import functions as F

    return run.read(metric.source, "/source").agg(F.expr(metric.sql)).collect()[0][0]


def history(_: DataFrame, metric: History, run: Run) -> list[float]:
    """The figures of a rule in earlier runs of the same pipeline, newest first; a report that does not exist yet holds none.

    Results of the library have neither pipeline nor run: there every earlier measurement counts, told apart by its time.
    """
    from pyspark.sql import functions as F

    try:
        report = run.read(metric.source, "/history")
    except SparquetError as error:
        if error.code in ("SOURCE_NOT_FOUND", "SOURCE_EMPTY"):
            return []
        raise
    same = F.col("rule_uid") == metric.rule_uid
    if metric.previous_name:
        same |= F.col("check_name") == metric.previous_name
    if run.name:
        same &= (F.col("pipeline_name") == run.name) & (F.col("run_id") != run.run_id)
    earlier = report.where(same & F.col("error").isNull() & F.col("metric_value").isNotNull())
    # A run that was tried again stands more than once: its last figure counts.
    one_run = F.coalesce("run_id", F.col("measured_at").cast("string"))
    runs = earlier.groupBy(one_run).agg(F.max("measured_at").alias("at"), F.max_by("metric_value", "measured_at").alias("value"))
    return [float(row["value"]) for row in runs.orderBy(F.col("at").desc()).limit(metric.last).collect()]


def clock(_: DataFrame, metric: Clock, run: Run) -> int:
    """The time by which freshness is judged, in microseconds since 1970; a text without zone is read in the session's."""
    text = metric.as_of or run.as_of
    if text is None:
        return _micros(run.ingestion_ts)
    if problem := next(check_instant(text, "/as_of"), None):  # a runtime variable gave it
        raise SparquetError.of([problem])
    found = instant(text)
    if found.tzinfo is not None:
        return _micros(found)
    return int(run.spark.sql(f"SELECT unix_micros(CAST({literal(text)} AS TIMESTAMP))").collect()[0][0])


def _micros(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)


#: How the metrics are measured that need a job of their own.
MEASURES: Mapping[type, Callable[[DataFrame, Any, Run], Any]] = {Clock: clock, Query: query, Partnerless: partnerless, Elsewhere: elsewhere, History: history}
