"""Data quality: the suite of 21 rules against the fastest hand-written form, and what 200 rules over 50 columns scan and plan."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

from sparquet_provider.core import Cola

from . import orders, suite
from .harness import REPETITIONS, Meter, compare, session, table

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
WIDE_ROWS, WIDE_COLUMNS, WIDE_KEYS = 100_000, 50, 5


def main(folder: Path) -> None:
    """Run and print the ratios."""
    spark = session(folder, configs=memory(ROWS))
    place = orders.make(spark, folder, ROWS)
    variants = {
        "hand-written": suite.checked("by hand", lambda: suite.by_hand(spark, place), place),
        "sparquet": suite.checked("sparquet", lambda: suite.by_rules(Cola(), spark, place), place),
    }
    table(f"Suite of 21 rules over {ROWS:,} rows", compare(spark, variants, warm=warm(ROWS)), "hand-written", {"sparquet": 1.10})
    _wide(spark, folder)
    spark.stop()


def memory(rows: int) -> dict[str, str]:
    """The driver's memory: the harness's, more for many rows."""
    return {"spark.driver.memory": "8g"} if rows >= orders.KEPT else {}


def warm(rows: int) -> int:
    """Uncounted rounds: the fewer the longer each is."""
    return 2 if rows >= orders.KEPT else 6


def _wide(spark: Any, folder: Path) -> None:
    """Count the scans of 200 rules over 50 columns, and the seconds from the call to the first job."""
    path = str(folder / "wide")
    columns = [_wide_column(i) for i in range(WIDE_COLUMNS)]
    spark.range(0, WIDE_ROWS, 1, 2).selectExpr(*(f"{expression} AS c{i}" for i, (expression, _) in enumerate(columns))).write.parquet(path)
    rules = [rule for _, rules in columns for rule in rules]
    df, meter = spark.read.parquet(path), Meter(spark)
    planning, scans = [], 0.0
    for _ in range(REPETITIONS):
        meter.drain()
        before, started = set(meter.jobs()), time.time()
        results = Cola().run(df, rules)
        meter.drain()
        assert len(results) == len(rules) and all(r.passed for r in results), [str(r) for r in results if not r.passed]
        new = {job: records for job, records in meter.jobs().items() if job not in before}
        scans = sum(new.values()) / WIDE_ROWS
        planning.append(meter.submitted(min(new)) - started)
    print(f"\n{len(rules)} rules over {WIDE_COLUMNS} columns, {WIDE_KEYS} of them keys ({REPETITIONS} runs)")
    print(f"  scans of the input: {scans:.2f} (limit 2: one, and one for the keys)")
    print(f"  from the call to the first job: first {planning[0]:.2f} s, median {statistics.median(planning):.2f} s (limit 2.0)")


def _wide_column(i: int) -> tuple[str, list[dict[str, Any]]]:
    """A column and its four rules: keys, numbers and texts by turns."""
    name = f"c{i}"
    common: list[dict[str, Any]] = [
        {"type": "not_null", "columns": [name]},
        {"type": "missing_percent", "column": name, "missing_values": [""] if i % 2 else [-1], "must_be": "< 1%"},
    ]
    if i < WIDE_KEYS:
        expression = f"concat('{name}-', id)" if i % 2 else f"id * {2 * i + 1}"
        return expression, [*common, {"type": "unique", "columns": [name]}, {"type": "distinct_count", "column": name, "must_be": f"= {WIDE_ROWS}"}]
    if i % 2:
        texts = ["new", "paid", "shipped", "done"]
        pick = f"element_at(array({orders.quoted(tuple(texts))}), CAST(pmod(xxhash64(id, {i}), 4) AS int) + 1)"
        return pick, [
            *common,
            {"type": "regex", "column": name, "pattern": "^[a-z]+$"},
            {"type": "invalid_count", "column": name, "valid_values": texts, "must_be": "= 0"},
        ]
    return f"pmod(xxhash64(id, {i}), 1000) / 10", [
        *common,
        {"type": "range", "column": name, "min": 0, "max": 100},
        {"type": "avg", "column": name, "must_be": "between 40 and 60"},
    ]
