"""Preparation: shaping JSON records and keeping one row for each key, against the same by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sparquet_provider.core import Sparquet

from .harness import compare, session, table

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
SCHEMA = "STRUCT<order:STRUCT<id:STRING,store:STRING,at:STRING>,items:ARRAY<STRUCT<sku:STRING,quantity:STRING,price:STRING>>>"
COLUMNS = {
    "payload.order.id": ("order_id", "BIGINT"),
    "payload.order.store": ("store", "STRING"),
    "payload.order.at": ("at", "TIMESTAMP"),
    "item.sku": ("sku", "STRING"),
    "item.quantity": ("quantity", "INT"),
    "item.price": ("price", "DECIMAL(10,2)"),
}


def main(folder: Path) -> None:
    """Run and print the ratios."""
    spark = session(folder)
    records, events = _records(spark, folder), _events(spark, folder)
    door = Sparquet(spark)
    shape = {
        "parse_json": [{"column": "raw", "alias": "payload", "schema": SCHEMA}],
        "arrays": [{"path": "payload.items", "mode": "explode_outer", "alias": "item"}],
        "columns": {path: {"alias": alias, "cast": kind} for path, (alias, kind) in COLUMNS.items()},
    }
    by_hand = {
        "hand-written": lambda: _shape_by_hand(spark, records, counted=True),
        "hand-written, nothing counted": lambda: _shape_by_hand(spark, records),
    }
    found = compare(spark, {**by_hand, "sparquet": lambda: _run(door, records, {"shape": shape})}, warm=3)
    table(f"JSON, explode, six columns with casts: {ROWS:,} records", found, "hand-written", {"sparquet": 1.05})
    rule = {"keys": ["k"], "order_by": [{"column": "at", "direction": "desc", "nulls": "last"}]}
    variants = {"hand-written": lambda: _deduplicate_by_hand(spark, events), "sparquet": lambda: _run(door, events, {"deduplicate": rule})}
    table(f"One row for each of {ROWS // 5:,} keys of {ROWS:,} rows", compare(spark, variants, warm=3), "hand-written", {"sparquet": 1.0})
    spark.stop()


def _records(spark: Any, folder: Path) -> str:
    path = str(folder / "records")
    item = """concat('{"sku": "S', id % 997, '-', i, '", "quantity": "', 1 + (id + i) % 9, '", "price": "', (id * 7 + i) % 10000, '.25"}')"""
    head = """concat('{"order": {"id": "', id, '", "store": "store ', id % 50, '", "at": "2026-01-', lpad(1 + id % 28, 2, '0'), ' 10:00:00"}, "items": [')"""
    raw = f"concat({head}, array_join(transform(sequence(0, CAST(id % 3 AS INT)), i -> {item}), ', '), ']}}') AS raw"
    spark.range(0, ROWS, 1, 4).selectExpr(raw).write.parquet(path)
    return path


def _events(spark: Any, folder: Path) -> str:
    path = str(folder / "events")
    spark.range(0, ROWS, 1, 4).selectExpr(
        f"pmod(xxhash64(id), {ROWS // 5}) AS k", "timestamp_seconds(1767225600 + pmod(xxhash64(id, 1), 86400)) AS at",
        "concat('status ', id % 7) AS status", "CAST(id % 1000 AS DECIMAL(10,2)) AS amount", "id AS n",
    ).write.parquet(path)
    return path


def _run(door: Sparquet, path: str, transform: dict[str, Any]) -> None:
    document = {
        "name": "benchmark", "input": {"format": "parquet", "path": path}, "transform": transform,
        "output": {"format": "parquet", "path": path + ".ours", "mode": "overwrite"},
    }
    result = door.run_from_dict(document)
    assert result.status == "success" and not result.warnings, (result.message, result.warnings)


def _with_control(df: Any) -> Any:
    """The columns that a contract adds, so that both sides write the same."""
    from pyspark.sql import functions as F

    return df.withColumn("ingestion_ts_utc", F.current_timestamp()).withColumn("__run_id", F.lit("0" * 32))


def _shape_by_hand(spark: Any, path: str, *, counted: bool = False) -> None:
    """What people write; ``counted``: the same work as the document, which tells what each cast loses and how many texts are no JSON."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    df = spark.read.parquet(path).withColumn("payload", F.from_json("raw", SCHEMA)).withColumn("item", F.explode_outer("payload.items"))
    columns = [F.col(p).try_cast(kind).alias(alias) for p, (alias, kind) in COLUMNS.items()]
    if not counted:
        df = df.select(*columns)
    else:
        sources = {path: f"source {i}" for i, (path, (_, kind)) in enumerate(COLUMNS.items()) if kind != "STRING"}
        df = df.select(*columns, *(F.col(p).alias(name) for p, name in sources.items()), F.expr("raw IS NOT NULL AND payload IS NULL").alias("no json"))
        lost = [F.count_if(F.col(name).isNotNull() & F.col(COLUMNS[p][0]).isNull()).alias(name) for p, name in sources.items()]
        observation = Observation()
        df = df.observe(observation, *lost, F.count_if("no json").alias("no json")).drop(*sources.values(), "no json")
    _with_control(df).write.mode("overwrite").parquet(path + ".hand")
    if counted:
        assert not any(observation.get.values()), observation.get


def _deduplicate_by_hand(spark: Any, path: str) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    df = spark.read.parquet(path).withColumn("ingestion_ts", F.current_timestamp())
    window = Window.partitionBy("k").orderBy(*[F.col(name).desc_nulls_last() for name in ("at", "status", "amount", "n")])
    df = df.withColumn("number", F.row_number().over(window)).where("number = 1").drop("number")
    _with_control(df).write.mode("overwrite").parquet(path + ".hand")
