"""Exact uniqueness of 50 million keys, a number and a text, within a driver of 4 GiB."""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path
from typing import Any

from sparquet_provider.core import Cola

from .harness import session

KEYS = int(os.environ.get("BENCH_KEYS", "50000000"))
COLUMNS = "number", "code"
RULES = [{"type": "unique", "columns": [c]} for c in COLUMNS]


def main(folder: Path) -> None:
    """Measure both keys twice: all distinct, and with one key that occurs twice; end with an error when an answer is wrong."""
    spark = session(folder, configs={"spark.driver.memory": "4g"})
    pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    print(f"\nExact uniqueness of {KEYS:,} keys, driver of 4 GiB")
    wrong = []
    for title, repeated in (("all distinct", 0), ("one key twice", 2)):
        started = time.perf_counter()
        results = Cola().run(_keys(spark, bool(repeated)), RULES)
        found = [r.failed_count for r in results]
        if any(r.error for r in results) or found != [repeated] * len(RULES) or any(r.passed == bool(repeated) for r in results):
            wrong += [f"{title}: {r}" for r in results]
        print(f"  {title:44s} rows of repeated keys {found}   wall s {time.perf_counter() - started:7.1f}   peak of the JVM {_peak(pid):.2f} GiB")
    print(f"  peak of Python {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    spark.stop()
    if wrong:
        raise SystemExit("\n".join(wrong))


def _keys(spark: Any, repeat: bool) -> Any:
    number = "IF(id = 1, 0, id)" if repeat else "id"
    return (
        spark.range(0, KEYS, 1, 8).selectExpr(f"{number} AS number").selectExpr("number", "concat('ORD-', hex(xxhash64(number)), lpad(number, 9, '0')) AS code")
    )


def _peak(pid: int) -> float:
    """The most memory that a process has held so far, in GiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 2**20
