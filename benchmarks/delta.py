"""Delta append, merge and overwrite of one partition, against the tuned hand-written form; table of one million rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sparquet_provider.core import Sparquet
from sparquet_provider.core.jars import DELTA, resolve

from .harness import compare, session, table

TABLE_ROWS, APPENDED, MERGED = 1_000_000, 100_000, 10_000
ROWS_OF = {"append": APPENDED, "merge": MERGED, "part": TABLE_ROWS // 10}
TUNED = {"spark.sql.shuffle.partitions": "4", "spark.databricks.delta.snapshotPartitions": "2"}


def main(folder: Path) -> None:
    """Run and print the ratios."""
    spark = session(folder, resolve([DELTA]), TUNED)
    rows = "id", "CAST(pmod(id, 10) AS int) AS part", "concat('name', id) AS name", "pmod(xxhash64(id), 100000) / 100 AS amount"
    for name, first, count in (("base", 0, TABLE_ROWS), ("append", TABLE_ROWS, APPENDED), ("merge", TABLE_ROWS - MERGED // 2, MERGED)):
        spark.range(first, first + count, 1, 2).selectExpr(*rows).write.mode("overwrite").parquet(str(folder / name))
    spark.read.parquet(str(folder / "base")).where("part = 3").write.mode("overwrite").parquet(str(folder / "part"))
    sparquet = Sparquet(spark)

    def fresh(name: str) -> str:
        path = str(folder / name)
        shutil.rmtree(path, ignore_errors=True)
        spark.read.parquet(str(folder / "base")).write.format("delta").partitionBy("part").save(path)
        return path

    def read(name: str) -> Any:
        return spark.read.parquet(str(folder / name))

    def by_document(source: str, path: str, mode: str, options: dict[str, Any]) -> None:
        document = {
            "name": "benchmark",
            "input": {"format": "parquet", "path": str(folder / source)},
            "transformations": [{"type": "drop", "columns": ["ingestion_ts"]}],
            "output": {"format": "delta", "path": path, "mode": mode, "options": options, "partition_by": ["part"]},
        }
        result = sparquet.run_from_dict(document).raise_for_status()
        assert result.rows_written == ROWS_OF[source], result.rows_written

    def merge_by_hand(path: str) -> None:
        source = read("merge")
        repeated = source.groupBy("id").count().where("count > 1").limit(1).count()
        assert repeated == 0
        source.createOrReplaceTempView("source")
        spark.sql(f"MERGE INTO delta.`{path}` T USING source S ON T.id <=> S.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")

    a, b = fresh("hand"), fresh("document")
    table(
        f"Delta append of {APPENDED:,}",
        compare(
            spark,
            {"hand-written": lambda: read("append").write.format("delta").mode("append").save(a), "sparquet": lambda: by_document("append", b, "append", {})},
        ),
        "hand-written",
        {"sparquet": 1.05},
    )
    a, b = fresh("hand"), fresh("document")
    table(
        "Delta overwrite of one partition",
        compare(
            spark,
            {
                "hand-written": lambda: read("part").write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(a),
                "sparquet": lambda: by_document("part", b, "overwrite", {"partitionOverwriteMode": "dynamic"}),
            },
        ),
        "hand-written",
        {"sparquet": 1.05},
    )
    a, b = fresh("hand"), fresh("document")
    table(
        f"Delta merge of {MERGED:,}, with the check for repeated keys",
        compare(spark, {"hand-written": lambda: merge_by_hand(a), "sparquet": lambda: by_document("merge", b, "merge", {"merge_keys": ["id"]})}),
        "hand-written",
        {"sparquet": 1.05},
    )
    spark.stop()
