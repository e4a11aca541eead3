"""What reached the sources, read from real plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparquet_provider.core.engine import Engine
from sparquet_provider.core.pushdown import Report, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def report(spark: SparkSession, df: DataFrame) -> Report:
    return read(Engine(spark).explained(df, "formatted"))


@pytest.fixture(scope="module")
def facts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A parquet table with partitions by ``dt``."""
    path = str(tmp_path_factory.mktemp("facts") / "t")
    spark.range(20).selectExpr("id", "id * 2 AS v", "cast(id AS string) AS s", "id % 4 AS dt").write.partitionBy("dt").parquet(path)
    return spark.read.parquet(path)


def test_filters_of_files_and_partitions(spark: SparkSession, facts: DataFrame) -> None:
    found = report(spark, facts.where("dt = 1 AND v > 3").select("id", "v"))
    (scan,) = found.scans
    assert "GreaterThan(v,3)" in scan.pushed_filters and "dt#" in scan.partition_filters and scan.columns == 3
    assert scan.pushed and found.filters == 1
    assert not any("nothing was pushed" in line for line in found.lines())


def test_a_scan_that_got_nothing_is_named_with_the_advice(spark: SparkSession, facts: DataFrame) -> None:
    found = report(spark, facts.where("coalesce(s, '') = 'A'"))
    text = "\n".join(found.lines())
    assert not found.scans[0].pushed and found.filters == 1
    assert "nothing was pushed to Scan parquet: filter on columns of the source right after the read" in text
    assert "Filter nodes above the scans: 1" in text


def test_a_row_format_gets_other_advice(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (scan,) = report(spark, spark.read.schema("a int, b int").csv(str(tmp_path))).scans
    assert scan.columns == 2 and "reads every row" in scan.advice


def test_dynamic_pruning_is_a_runtime_filter(spark: SparkSession, facts: DataFrame, tmp_path: Path) -> None:
    spark.range(4).selectExpr("id AS dt", "id AS k").write.parquet(str(tmp_path / "dim"))
    small = spark.read.parquet(str(tmp_path / "dim")).where("k = 2")
    found = report(spark, facts.join(small, "dt"))
    pruned = [s for s in found.scans if "dynamicpruning" in s.runtime_filters]
    assert len(pruned) == 1


def test_filters_of_iceberg(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).write.format("iceberg").mode("overwrite").saveAsTable("lake.db.pushed")
    found = report(spark, spark.table("lake.db.pushed").where("id > 5"))
    (scan,) = found.scans
    assert "id > 5" in scan.pushed_filters and scan.columns == 1


def test_rows_in_memory_have_no_scan(spark: SparkSession) -> None:
    found = report(spark, spark.createDataFrame([(1,)], "id int").where("id = 1"))
    assert not found.scans and "no scan of a source: the rows are in memory" in list(found.lines())


def test_the_text_of_a_source_that_takes_aggregates() -> None:
    plan = """== Physical Plan ==
* Filter (2)
+- BatchScan parquet file:/t (1)


(1) BatchScan parquet file:/t
Output [2]: [k#1, max(v)#2]
DataFilters: []
PushedAggregation: [MAX(v)]
PushedFilters: []
PushedGroupBy: [k]
RuntimeFilters: []

(2) Filter [codegen id : 1]
Input [2]: [k#1, max(v)#2]
"""
    found = read(plan)
    (scan,) = found.scans
    assert (scan.pushed_aggregates, scan.pushed_group_by, scan.columns, found.filters) == ("MAX(v)", "k", 2, 1)
