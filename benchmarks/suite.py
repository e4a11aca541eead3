"""Twenty-one rules over the orders: by hand in the fastest form that we know, and as rules of our language.

Eighteen rules need one aggregation. ``unique`` twice and ``duplicate_percent`` need the distinct values of three keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import orders

_NOT_NULL = ("id", "order_code", "email", "status", "amount")
_BUCKETS = 1024
_FALLBACK = "spark.sql.objectHashAggregate.sortBased.fallbackThreshold"

_AGGREGATES = (
    {f"null {c}": f"count_if({c} IS NULL)" for c in (*_NOT_NULL, "discount")}
    | {name: f"count_if({condition})" for name, condition in orders.row_facts().items()}
    | {"rows": "count(*)", "min amount": "min(amount)", "max qty": "max(qty)", "avg discount": "avg(discount)", "latest": "max(created_at)"}
)

#: The rules by the fact that they find; sparquet-cola reads the same ones. The last has none: its value is an age.
RULES: dict[str, dict[str, Any]] = {
    **{f"null {c}": {"type": "not_null", "columns": [c]} for c in _NOT_NULL},
    **{f"repeated {c}": {"type": "unique", "columns": [c]} for c in ("id", "order_code")},
    **{f"outside {c}": {"type": "range", "column": c, "min": low, "max": high} for c, (low, high) in orders.BOUNDS.items()},
    **{f"mismatched or null {c}": {"type": "regex", "column": c, "pattern": p} for c, p in (("email", orders.EMAIL), ("phone", orders.PHONE))},
    **{
        f"other {c}": {"type": "invalid_count", "column": c, "valid_values": list(values), "must_be": "= 0"}
        for c, values in (("country", orders.COUNTRIES), ("status", orders.STATUSES))
    },
    "rows": {"type": "row_count", "min": 1},
    "null percent discount": {"type": "missing_percent", "column": "discount", "must_be": "< 6%"},
    "surplus percent email": {"type": "duplicate_percent", "columns": ["email"], "must_be": "< 90%"},
    "min amount": {"type": "min", "column": "amount", "must_be": ">= -10000"},
    "max qty": {"type": "max", "column": "qty", "must_be": "<= 19"},
    "avg discount": {"type": "avg", "column": "discount", "must_be": "between 0.2 and 0.4"},
    "age": {"type": "freshness", "column": "created_at", "must_be": "< 9999d"},
}


def by_hand(spark: Any, place: Path) -> dict[str, float]:
    """One aggregation for the eighteen, and one job that counts the distinct values of all keys.

    The second puts the hashes of all keys into buckets: an array for each key and bucket, whose distinct values are counted without
    a hash map of rows. It is exact but for collisions of 64 bits. The setting keeps Spark from sorting beyond 128 groups.
    """
    from pyspark.sql import functions as F

    df = orders.read(spark, place)
    found = dict(zip(_AGGREGATES, df.agg(*(F.expr(e) for e in _AGGREGATES.values())).head(), strict=True))
    del found["latest"]
    pairs = ", ".join(f"struct({i}Y AS t, IF({key} IS NULL, NULL, xxhash64({key})) AS h)" for i, key in enumerate(orders.KEYS))
    spark.conf.set(_FALLBACK, str(_BUCKETS * 8))
    try:
        hashes = df.selectExpr(f"explode(array({pairs})) AS x").selectExpr("x.t", "x.h").where("h IS NOT NULL")
        buckets = hashes.groupBy("t", F.expr(f"pmod(h, {_BUCKETS}L)").alias("b")).agg(F.expr("collect_list(h) AS hs"))
        counts = buckets.groupBy("t").agg(F.expr("sum(size(array_distinct(hs))) AS n")).collect()
    finally:
        spark.conf.unset(_FALLBACK)
    return found | {f"distinct {orders.KEYS[row.t]}": row.n for row in counts}


def by_rules(cola: Any, spark: Any, place: Path, **named: str) -> dict[str, float]:
    """The rules by a ``Cola``, ours or another's: both give a result for each rule, in order.

    ``named`` says which other fact a rule type finds than ours: ``unique="surplus"``.
    """
    results = cola.run(orders.read(spark, place), list(RULES.values()))
    broken = [str(r) for r in results if getattr(r, "error", None)]
    if broken:
        raise AssertionError("; ".join(broken))
    found = {}
    for (fact, rule), result in zip(RULES.items(), results, strict=True):
        kind, column = fact.rsplit(" ", 1) if " " in fact else (fact, "")
        counted = rule["type"] in ("not_null", "unique", "range", "regex", "invalid_count")
        found[f"{named.get(rule['type'], kind)} {column}".strip()] = float(result.failed_count if counted else result.metric_value)
    del found["age"]
    return found


def checked(tool: str, run: Any, place: Path) -> Any:
    """The same work; its facts are compared each time, which takes no time that counts."""

    def run_and_compare() -> None:
        orders.compare_facts(tool, run(), place)

    return run_and_compare
