"""How often keys occur: the counts behind ``unique``, ``duplicate_*`` and ``distinct_count``, of all keys in one pass.

A key is counted by a 64-bit number: its own value where that is one (whole numbers, dates, timestamps), else a hash. Two
keys with one hash can only make a duplicate that is none, so a key without duplicates is proven to have none; the
duplicates are verified by the keys themselves, on the rows with a repeated hash alone.

Whole numbers that lie close together (ids, mostly) have a counter each instead, which costs a fraction of that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .metrics import ROWS, Aggregate, KeyCounts, Keys, Metric

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: Rows of one bucket, whose numbers are sorted in memory; their number decides how many buckets there are.
BUCKET_ROWS = 30_000
#: Most entries (rows times keys) that are counted in buckets: beyond, grouping, which can spill to disk, bounds the memory.
BUCKETED_ENTRIES = 40_000_000
#: Repeated numbers that one bucket hands over for verification.
BUCKET_REPEATS = 64
#: Up to so many rows every count is verified; beyond, counts with many duplicates are by hash unless exactness is asked for.
ALWAYS_EXACT_ROWS = 5_000_000
#: From so many rows on, one more reading of a dense key is cheaper than its share of the pass over all keys.
DENSE_ROWS = 1_000_000
#: Counters in one 64-bit number, and the bits of each.
COUNTERS, COUNTER_BITS = 16, 4

#: Types whose values are their own 64-bit numbers, and the expression that gives them.
_NUMBERS = {
    "tinyint": "CAST({0} AS BIGINT)",
    "smallint": "CAST({0} AS BIGINT)",
    "int": "CAST({0} AS BIGINT)",
    "bigint": "{0}",
    "boolean": "CAST({0} AS BIGINT)",
    "date": "CAST(unix_date({0}) AS BIGINT)",
    "timestamp": "unix_micros({0})",
}


def bounds(metric: Keys) -> Iterator[Aggregate]:
    """The least and the greatest value of a key that is one whole number: measured beside other aggregates, they tell whether it is dense."""
    if metric.types in (("int",), ("bigint",)):
        yield from (Aggregate(f"{bound}({metric.columns[0]})", metric.filter) for bound in ("min", "max"))


def measure_keys(df: DataFrame, metrics: list[Keys], run: Run, values: Mapping[Metric, Any], exact: Collection[Keys]) -> Mapping[Metric, Any]:
    """The counts of every key.

    Args:
        df: the frame.
        metrics: the keys.
        run: the run.
        values: what is measured already: the number of rows, and the :func:`bounds` of keys, as far as they are known.
        exact: the keys whose counts must be verified, whatever it takes.
    """
    rows = values.get(ROWS)
    found: dict[Metric, Any] = {m: grouped(df, m) for m in metrics if any(map(_hashes_badly, m.types))}
    dense = [m for m in metrics if _is_dense(m, values)]
    if dense and (len(dense) == len(metrics) or (rows or 0) >= DENSE_ROWS and run.engine.rereads_cheaply(df)):
        found |= _in_counters(df, dense)
    metrics = [m for m in metrics if m not in found]
    if not metrics:
        return found
    numbers = {m: _number(m) for m in metrics}
    entries = (rows or BUCKETED_ENTRIES) * len(metrics)
    counted = _in_buckets(df, numbers, run, entries) if entries <= BUCKETED_ENTRIES else _by_grouping(df, numbers)
    for metric in metrics:
        by_number, (number, proven) = counted[metric], numbers[metric]
        counts = by_number.counts
        if proven or not counts.repeated:
            found[metric] = counts
        elif by_number.repeats is not None:
            found[metric] = _verified(df, metric, number, by_number, run)
        elif metric in exact or (rows or 0) <= ALWAYS_EXACT_ROWS:
            found[metric] = grouped(df, metric)
        else:
            found[metric] = replace(counts, exact=False)
    return found


@dataclass(frozen=True)
class _ByNumber:
    """Counts by the numbers. ``repeats`` are the repeated numbers, with whether the keys have a null; None when there are too many.

    ``whole`` is how many of them belong to keys without a null.
    """

    counts: KeyCounts
    repeats: list[tuple[int, bool]] | None = None
    whole: int = 0


def _hashes_badly(kind: str) -> bool:
    """True where hashes do not stand for values: texts of a collation that differ may be equal, and the hash passes over what is null or empty inside."""
    return "collate" in kind or kind.startswith(("struct", "array"))


def _is_dense(metric: Keys, values: Mapping[Metric, Any]) -> bool:
    """True when there is about one row for each number between the least and the greatest."""
    known = [int(value) for m in (ROWS, *bounds(metric)) if (value := values.get(m)) is not None]
    if len(known) != 3:
        return False
    rows, least, greatest = known
    return rows / 2 <= greatest - least < rows * 2


def _in_counters(df: DataFrame, metrics: list[Keys]) -> dict[Metric, KeyCounts]:
    """A counter for each number, sixteen of them side by side in one sum; keys of which a counter ran over are left out."""
    from pyspark.sql import functions as F

    one = f"shiftleft(1L, CAST({COUNTER_BITS} * (h & {COUNTERS - 1}) AS INT))"
    entries = _entries(df, {m: _number(m) for m in metrics})
    groups = entries.groupBy("t", F.expr(f"shiftright(h, {COUNTERS.bit_length() - 1})")).agg(F.expr(f"try_sum({one}) AS s"), F.expr("count(1) AS n"))
    counters = [f"(shiftright(s, {COUNTER_BITS * i}) & {2**COUNTER_BITS - 1})" for i in range(COUNTERS)]
    distinct, single = (" + ".join(f"IF({c} {condition}, 1, 0)" for c in counters) for condition in ("> 0", "= 1"))
    # One that runs over makes the counters less than the rows, or the sum too large.
    figures = ("sum(n)", f"sum({distinct})", f"sum(n - ({single}))", f"bool_and(coalesce({' + '.join(counters)} = n, false))")
    rows = {r[0]: tuple(r)[1:] for r in groups.groupBy("t").agg(*map(F.expr, figures)).collect()}
    counted = {m: rows.get(2 * i, (0, 0, 0, True)) for i, m in enumerate(metrics)}
    return {m: KeyCounts(*figures) for m, (*figures, held) in counted.items() if held}


def _number(metric: Keys) -> tuple[str, bool]:
    """The 64-bit number of a key as SQL, and whether different keys have different numbers."""
    if len(metric.columns) == 1:
        column, kind = metric.columns[0], metric.types[0]
        return (_NUMBERS[kind].format(column), True) if kind in _NUMBERS else (f"xxhash64({column})", False)
    # xxhash64 passes over nulls, so (1, null) and (null, 1) would have one hash.
    return f"xxhash64({', '.join(f'{c}, {c} IS NULL' for c in metric.columns)})", False


def _entries(df: DataFrame, numbers: Mapping[Keys, tuple[str, bool]]) -> DataFrame:
    """One row for each key of each row: ``t`` tells keys apart (odd: the key has a null), ``h`` is the number; keys of nulls alone are left out."""
    structs = []
    for i, (metric, (number, _)) in enumerate(numbers.items()):
        all_null = " AND ".join(f"{c} IS NULL" for c in metric.columns)
        left_out = f"({all_null})" + (f" OR NOT coalesce({metric.filter}\n, false)" if metric.filter else "")
        structs.append(f"struct(CAST(IF({_some_null(metric)}, {2 * i + 1}, {2 * i}) AS INT) AS t, IF({left_out}, NULL, {number}) AS h)")
    return df.selectExpr(f"explode(array({', '.join(structs)})) AS e").select("e.*").where("h IS NOT NULL")


def _in_buckets(df: DataFrame, numbers: Mapping[Keys, tuple[str, bool]], run: Run, entries: int) -> dict[Keys, _ByNumber]:
    """Sorted arrays of numbers, bucket by bucket: neighbours that are equal are the surplus of a key."""
    from pyspark.sql import functions as F

    buckets = max(32, entries // len(numbers) // BUCKET_ROWS)
    with run.engine.setting("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", str(2 * buckets * len(numbers) + 1)):
        # Whole numbers are often dense: their hash spreads them evenly over the buckets.
        lists = _entries(df, numbers).groupBy("t", F.expr(f"pmod(xxhash64(h), {buckets})").alias("b")).agg(F.sort_array(F.collect_list("h")).alias("l"))
        equal = lists.selectExpr("t", "size(l) AS n", "filter(l, (v, i) -> i > 0 AND l[i - 1] = v) AS d")
        surplus = equal.selectExpr("t", "n", "size(d) AS s", "array_distinct(d) AS u")
        figures = ("sum(n)", "sum(s)", "sum(size(u))", f"flatten(collect_list(slice(u, 1, {BUCKET_REPEATS})))")
        rows = {r[0]: tuple(r)[1:] for r in surplus.groupBy("t").agg(*map(F.expr, figures)).collect()}
    found = {}
    for i, metric in enumerate(numbers):
        whole, partial = rows.get(2 * i, (0, 0, 0, [])), rows.get(2 * i + 1, (0, 0, 0, []))
        counts = KeyCounts(whole[0], whole[0] - whole[1], whole[1] + whole[2] + partial[1] + partial[2])
        repeats = [(number, bool(has_null)) for has_null, (*_, repeated) in enumerate((whole, partial)) for number in repeated]
        found[metric] = _ByNumber(counts, repeats if len(repeats) == whole[2] + partial[2] else None, whole[2])
    return found


def _by_grouping(df: DataFrame, numbers: Mapping[Keys, tuple[str, bool]]) -> dict[Keys, _ByNumber]:
    """The same by grouping, which spills to disk."""
    from pyspark.sql import functions as F

    groups = _entries(df, numbers).groupBy("t", "h").agg(F.count(F.lit(1)).alias("n"))
    rows = {r[0]: tuple(r)[1:] for r in groups.groupBy("t").agg(F.sum("n"), F.count(F.lit(1)), F.expr("sum(IF(n > 1, n, 0))")).collect()}
    found = {}
    for i, metric in enumerate(numbers):
        whole, partial = rows.get(2 * i, (0, 0, 0)), rows.get(2 * i + 1, (0, 0, 0))
        found[metric] = _ByNumber(KeyCounts(whole[0], whole[1], whole[2] + partial[2]))
    return found


def _verified(df: DataFrame, metric: Keys, number: str, by_number: _ByNumber, run: Run) -> KeyCounts:
    """The counts after a look at the keys themselves, on the rows whose number is repeated."""
    from pyspark.sql import functions as F

    rows = df.where(metric.filter) if metric.filter else df
    keys = rows.where(_not_all_null(metric)).select(*_named(metric), F.expr(number).alias("h"), F.expr(_some_null(metric)).alias("p"))
    # As JSON, since a frame made of Python rows would start Python workers.
    listed = F.from_json(F.lit(json.dumps([{"h": h, "p": p} for h, p in by_number.repeats or ()])), "array<struct<h: bigint, p: boolean>>")
    repeated = run.spark.range(1).select(F.inline(listed))
    true = _counts(keys.join(F.broadcast(repeated), ["h", "p"], "left_semi").drop("h", "p"))
    return KeyCounts(by_number.counts.rows, by_number.counts.distinct - by_number.whole + true.distinct, true.repeated)


def grouped(df: DataFrame, metric: Keys) -> KeyCounts:
    """The counts of one key by grouping the keys themselves."""
    rows = df.where(metric.filter) if metric.filter else df
    return _counts(rows.where(_not_all_null(metric)).select(*_named(metric)))


def _some_null(metric: Keys) -> str:
    return " OR ".join(f"{c} IS NULL" for c in metric.columns)


def _not_all_null(metric: Keys) -> str:
    # Not by dropna: it takes NaN for a null.
    return " OR ".join(f"{c} IS NOT NULL" for c in metric.columns)


def _named(metric: Keys) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.expr(c).alias(f"k{i}") for i, c in enumerate(metric.columns)]


def _counts(keys: DataFrame) -> KeyCounts:
    from pyspark.sql import functions as F

    whole = " AND ".join(f"{name} IS NOT NULL" for name in keys.columns)
    counts = keys.groupBy(*keys.columns).agg(F.count(F.lit(1)).alias("n")).selectExpr("n", f"{whole} AS whole")
    row = counts.agg(F.expr("sum(IF(whole, n, 0))"), F.expr("count_if(whole)"), F.expr("sum(IF(n > 1, n, 0))")).collect()[0]
    return KeyCounts(int(row[0] or 0), int(row[1] or 0), int(row[2] or 0))
