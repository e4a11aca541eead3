"""How often keys occur: the exact counts behind ``unique``, ``duplicate_*`` and ``distinct_count``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .metrics import KeyCounts, Keys, Metric

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


def measure_keys(df: DataFrame, metrics: list[Keys], run: Run, rows: int | None) -> Mapping[Metric, Any]:
    """The counts of every key."""
    return {m: grouped(df, m) for m in metrics}


def grouped(df: DataFrame, metric: Keys) -> KeyCounts:
    """The counts of one key, by grouping."""
    from pyspark.sql import functions as F

    rows = df.where(metric.filter) if metric.filter else df
    keys = rows.select(*[F.expr(c).alias(f"k{i}") for i, c in enumerate(metric.columns)])
    counts = keys.groupBy(*keys.columns).agg(F.count(F.lit(1)).alias("n"))
    whole = " AND ".join(f"{name} IS NOT NULL" for name in keys.columns)
    figures = ("sum(IF(whole, n, 0))", "count_if(whole)", "sum(IF(n > 1, n, 0))")
    row = counts.selectExpr("n", f"{whole} AS whole").agg(*map(F.expr, figures)).collect()[0]
    return KeyCounts(int(row[0] or 0), int(row[1] or 0), int(row[2] or 0))
