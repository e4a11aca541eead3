"""One million rows: read, filter, three columns, broadcast join, group, write; against the same in plain PySpark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparquet_provider.core import Sparquet

from .harness import compare, session, table

ROWS, CUSTOMERS = 1_000_000, 50_000
RULES = [{"type": "not_null", "columns": ["segment"]}, {"type": "range", "column": "total", "min": -1e15}, {"type": "row_count", "min": 1}]
COLUMNS = {"net": "amount * (1 - coalesce(discount, 0))", "month": "date_trunc('MM', order_date)", "domain": "lower(substring_index(email, '@', -1))"}
CONDITION = "status IS NOT NULL AND amount > 0"
AGGREGATES = ["sum(net) AS total", "count(*) AS orders", "max(domain) AS domain", "avg(score) AS score"]


def make_data(spark: Any, folder: Path) -> tuple[str, str]:
    """Orders and customers as parquet; the same rows every time."""
    orders, customers = str(folder / "orders"), str(folder / "customers")
    spark.range(0, ROWS, 1, 2).selectExpr(
        "id",
        "concat('ORD-', hex(xxhash64(id)), lpad(id, 9, '0')) AS order_code",
        "IF(pmod(xxhash64(id, 1), 100) = 0, NULL, CAST(pmod(xxhash64(id, 2), 50000) AS int)) AS customer_id",
        "concat('user', pmod(xxhash64(id, 3), 300000), '@', element_at(array('example.com', 'Mail.org', 'corp.net', 'uni.edu'), CAST(pmod(xxhash64(id, 4), 4) AS int) + 1)) AS email",
        "element_at(array('BR', 'US', 'DE', 'FR', 'ES', 'PT', 'IT', 'NL', 'PL', 'SE'), CAST(pmod(xxhash64(id, 5), 10) AS int) + 1) AS country",
        "IF(pmod(xxhash64(id, 6), 70) = 0, NULL, element_at(array('new', 'paid', 'shipped', 'done'), CAST(pmod(xxhash64(id, 7), 4) AS int) + 1)) AS status",
        "round(pmod(xxhash64(id, 8), 1000000) / 100 - IF(pmod(xxhash64(id, 9), 50) = 0, 10000, 0), 2) AS amount",
        "CAST(pmod(xxhash64(id, 10), 20) AS int) AS quantity",
        "IF(pmod(xxhash64(id, 11), 20) = 0, NULL, round(pmod(xxhash64(id, 12), 60) / 100, 2)) AS discount",
        "date_add(DATE '2025-01-01', CAST(pmod(xxhash64(id, 13), 365) AS int)) AS order_date",
        "concat('+55', lpad(pmod(xxhash64(id, 14), 1000000000), 10, '0')) AS phone",
    ).write.mode("overwrite").parquet(orders)
    spark.range(0, CUSTOMERS, 1, 1).selectExpr(
        "CAST(id AS int) AS customer_id",
        "concat('segment', pmod(id, 12)) AS segment",
        "concat('city', pmod(xxhash64(id), 400)) AS city",
        "pmod(xxhash64(id, 1), 10000) / 100 AS score",
    ).write.mode("overwrite").parquet(customers)
    return orders, customers


def by_hand(spark: Any, orders: str, customers: str, out: str) -> None:
    """The pipeline in plain PySpark."""
    from pyspark.sql import functions as F

    df = spark.read.parquet(orders).where(CONDITION)
    for name, expression in COLUMNS.items():
        df = df.withColumn(name, F.expr(expression))
    df = df.join(F.broadcast(spark.read.parquet(customers)), "customer_id", "inner")
    df.groupBy("segment", "country", "month").agg(*map(F.expr, AGGREGATES)).write.mode("overwrite").parquet(out)


def document(orders: str, customers: str, out: str, *, rules: bool) -> dict[str, Any]:
    """The pipeline as a document."""
    found: dict[str, Any] = {
        "name": "benchmark",
        "input": {"format": "parquet", "path": orders},
        "transformations": [
            {"type": "filter", "condition": CONDITION},
            {"type": "with_column", "columns": COLUMNS},
            {"type": "join", "with": {"format": "parquet", "path": customers}, "on": "customer_id", "broadcast": True},
            {"type": "group_by", "by": ["segment", "country", "month"], "agg": AGGREGATES},
        ],
        "output": {"format": "parquet", "path": out},
    }
    return found | ({"validations": {"on_failure": "warn", "rules": RULES}} if rules else {})


def main(folder: Path) -> None:
    """Run and print the ratios."""
    spark = session(folder)
    orders, customers = make_data(spark, folder)
    sparquet = Sparquet(spark)

    def run(rules: bool) -> None:
        sparquet.run_from_dict(document(orders, customers, str(folder / f"out_{rules}"), rules=rules)).raise_for_status()

    found = compare(
        spark,
        {
            "hand-written PySpark": lambda: by_hand(spark, orders, customers, str(folder / "by_hand")),
            "sparquet": lambda: run(False),
            "sparquet, three warn rules": lambda: run(True),
        },
    )
    table(f"Pipeline over {ROWS:,} rows", found, "hand-written PySpark", {"sparquet": 1.05, "sparquet, three warn rules": 1.10})
    key = ["segment", "country", "month"]
    same = (
        spark.read.parquet(str(folder / "by_hand"))
        .select(*key, "orders")
        .exceptAll(spark.read.parquet(str(folder / "out_True")).select(*key, "orders"))
        .count()
    )
    print(f"  rows that differ from the hand-written result: {same}")
    spark.stop()
