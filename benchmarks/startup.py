"""From ``execute`` to a session that can run its first job, against a bare spark-submit of an empty application; and what the
defaults for local masters gain against plain ``--packages``."""

from __future__ import annotations

import datetime as dt
import logging
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sparquet_provider.core.jars import DELTA

from .harness import REPETITIONS

_EMPTY = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
open(sys.argv[1], "w").write(repr(time.time()))
spark.stop()
"""
_BY_HAND = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.read.parquet(sys.argv[1]).where("id % 2 = 0").write.format("delta").mode("overwrite").save(sys.argv[2])
spark.stop()
"""
_DELTA_CONF = [
    "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
]


def _submit(script: Path, *arguments: str, conf: list[str], packages: str | None = None) -> None:
    command = ["spark-submit", "--master", "local[2]", *(("--packages", packages) if packages else ()), *(p for c in conf for p in ("--conf", c))]
    subprocess.run([*command, str(script), *arguments], check=True, capture_output=True)


def _execute(document: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run the operator as a worker does, with a stand-in for the task instance that keeps nothing."""
    from sparquet_provider.operators import SparquetRunOperator

    operator = SparquetRunOperator(task_id="bench", pipeline=document, **options)
    ti = SimpleNamespace(dag_id="bench", run_id=repr(time.time()), task_id="bench", map_index=-1, try_number=1, xcom_push=lambda **_: None)
    found: dict[str, Any] = operator.execute({"ti": ti})
    return found


def main(folder: Path) -> None:
    """Measure and print seconds and ratios."""
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(dir=folder)
    os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = '{"conn_type": "spark", "host": "local[2]"}'
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
    from sparquet_provider.core.sparquet import Sparquet
    from sparquet_provider.hooks.settings import settle
    from sparquet_provider.operators import SparquetRunOperator  # noqa: F401 - imported here, so that no measurement pays for it

    logging.disable(logging.CRITICAL)
    empty, by_hand, source = folder / "empty.py", folder / "by_hand.py", folder / "rows"
    empty.write_text(_EMPTY)
    by_hand.write_text(_BY_HAND)
    spark = Sparquet({"master": "local[2]", "configs": {"spark.ui.enabled": "false"}}).session(SimpleNamespace(configs={}, master=None, app_name=None), [])  # type: ignore[arg-type]
    spark.range(100_000).write.parquet(str(source))
    spark.stop()

    def document(fmt: str) -> dict[str, Any]:
        return {
            "name": "bench",
            "input": {"format": "parquet", "path": str(source)},
            "transformations": [{"type": "filter", "condition": "id % 2 = 0"}],
            "output": {"format": fmt, "path": str(folder / "out" / fmt)},
        }

    ready: dict[str, list[float]] = {"bare": [], "operator": []}
    whole: dict[str, list[float]] = {"packages": [], "operator": [], "operator, quick_start": []}
    same = [f"{k}={v}" for k, v in settle(document("parquet"), master="local[2]").conf.items()]
    for repetition in range(REPETITIONS + 1):
        shutil.rmtree(folder / "out", ignore_errors=True)
        began = time.time()
        _submit(empty, str(folder / "ready"), conf=same)
        bare = float((folder / "ready").read_text()) - began
        began = time.time()
        operator = dt.datetime.fromisoformat(_execute(document("parquet"))["started_at"]).timestamp() - began
        began = time.time()
        _submit(by_hand, str(source), str(folder / "out" / "by_hand"), conf=_DELTA_CONF, packages=DELTA)
        packages = time.time() - began
        began = time.time()
        _execute(document("delta"))
        defaults = time.time() - began
        began = time.time()
        _execute(document("delta"), quick_start=True)
        quick = time.time() - began
        if repetition:  # the first round fills caches
            ready["bare"].append(bare)
            ready["operator"].append(operator)
            for name, value in zip(whole, (packages, defaults, quick), strict=True):
                whole[name].append(value)
    ratio = statistics.median(a / b for a, b in zip(ready["operator"], ready["bare"], strict=True))
    print(
        f"\nFrom execute to a session (median of {REPETITIONS}): bare spark-submit {statistics.median(ready['bare']):.1f} s, operator {statistics.median(ready['operator']):.1f} s, ratio {ratio:.2f} (limit 1.2)"
    )
    print("A small Delta job (100,000 rows), submit to end")
    for name, values in whole.items():
        against = statistics.median(a / b for a, b in zip(values, whole["packages"], strict=True))
        print(f"  {name if name != 'packages' else 'hand-written, --packages, Spark defaults':44s} {statistics.median(values):6.1f} s   ratio {against:.2f}")
