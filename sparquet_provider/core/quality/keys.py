"""How often keys occur: the counts behind ``unique``, ``duplicate_*`` and ``distinct_count``, of all keys in one pass.

A key is counted by a number: its own value where that is one (whole numbers, dates, timestamps), else a hash. The upper
bits of the number say whose key it is, so that the numbers of all keys are one column, which is sorted to find equal
neighbours. Two keys with one hash can only make a duplicate that is none, so a key without duplicates is proven to have
none; the duplicates are verified by the keys themselves, on the rows with a repeated hash alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .metrics import KeyCounts, Keys, Metric

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: Most entries (rows times keys) that are sorted. Beyond, they are grouped: then no single task gets all rows of a frequent key.
SORTED_ENTRIES = 40_000_000
#: Entries of one partition of the sort.
PARTITION_ENTRIES = 1_000_000
#: Repeated numbers of a key that are handed over for verification: at most, from one partition and from all.
PARTITION_REPEATS, REPEATS = 4_096, 65_536
#: Up to so many rows every count is verified; beyond, counts with many duplicates are by hash unless exactness is asked for.
ALWAYS_EXACT_ROWS = 5_000_000

#: Types whose values are numbers, and the expression that gives them.
_NUMBERS = {
    "byte": "CAST({0} AS BIGINT)",
    "short": "CAST({0} AS BIGINT)",
    "integer": "CAST({0} AS BIGINT)",
    "long": "{0}",
    "boolean": "CAST({0} AS BIGINT)",
    "date": "CAST(unix_date({0}) AS BIGINT)",
    "timestamp": "unix_micros({0})",
}


def measure_keys(df: DataFrame, metrics: list[Keys], run: Run, rows: int | None, exact: Collection[Keys]) -> Mapping[Metric, Any]:
    """The counts of every key.

    Args:
        df: the frame.
        metrics: the keys.
        run: the run.
        rows: how many rows the frame has, None when that is not known.
        exact: the keys whose counts must be verified, whatever it takes.
    """
    found: dict[Metric, Any] = {m: grouped(df, m) for m in metrics if _is_collated(df, m)}
    metrics = [m for m in metrics if m not in found]
    if not metrics:
        return found
    numbers = _tagged(df, metrics)
    entries = (SORTED_ENTRIES if rows is None else rows) * len(metrics)
    for metric, by_number in _count(df, numbers, run, entries).items():
        counts = by_number.counts
        if not by_number.doubtful:
            found[metric] = counts
        elif by_number.repeats is not None:
            found[metric] = _verified(df, metric, numbers[metric].sql, by_number, run)
        elif metric in exact or (rows or 0) <= ALWAYS_EXACT_ROWS:
            found[metric] = grouped(df, metric)
        else:
            found[metric] = replace(counts, exact=False)
    return found


@dataclass(frozen=True)
class _Number:
    """The tagged number of a key as SQL, null for a key of nulls alone. ``own`` when an even tag stands for the key's own value."""

    sql: str
    own: bool


@dataclass(frozen=True)
class _ByNumber:
    """Counts by the numbers.

    ``doubtful`` is how many hashes are repeated, ``repeats`` are the repeated numbers (None when there are too many), and ``whole`` is how
    many of them belong to keys without a null.
    """

    counts: KeyCounts
    doubtful: int
    repeats: list[int] | None
    whole: int


def _is_collated(df: DataFrame, metric: Keys) -> bool:
    """True when texts that differ may be equal: their hashes would differ."""
    types = df.selectExpr(*(f"{c} AS k{i}" for i, c in enumerate(metric.columns))).schema
    return any("collate" in field.dataType.simpleString() for field in types)


def _number(df: DataFrame, metric: Keys) -> tuple[str, bool]:
    """The 64-bit number of a key as SQL, and whether different keys have different numbers."""
    if len(metric.columns) == 1:
        column = metric.columns[0]
        kind = df.selectExpr(f"{column} AS c").schema[0].dataType.typeName()
        return (_NUMBERS[kind].format(column), True) if kind in _NUMBERS else (f"xxhash64({column})", False)
    # xxhash64 passes over nulls, so (1, null) and (null, 1) would have one hash.
    return f"xxhash64({', '.join(f'{c}, {c} IS NULL' for c in metric.columns)})", False


def _width(keys: int) -> int:
    """The bits of a number that its tag leaves: each key has two tags."""
    return 64 - (2 * keys - 1).bit_length()


def _tagged(df: DataFrame, metrics: list[Keys]) -> dict[Keys, _Number]:
    """The numbers with tags in their upper bits: twice the position of the key, plus one for a key with a null and for a value that needs all bits."""
    width = _width(len(metrics))
    low, half = f"& {2**width - 1}L", 2 ** (width - 1)
    found = {}
    for i, metric in enumerate(metrics):
        number, own = _number(df, metric)
        even, odd = (f"shiftleft({2 * i + j}L, {width})" for j in (0, 1))
        if own:
            tagged = f"IF({number} BETWEEN -{half}L AND {half - 1}L, {number} {low} | {even}, xxhash64({number}) {low} | {odd})"
        elif len(metric.columns) > 1:
            tagged = f"{number} {low} | IF({' OR '.join(f'{c} IS NULL' for c in metric.columns)}, {odd}, {even})"
        else:
            tagged = f"{number} {low} | {even}"
        found[metric] = _Number(f"IF({_not_all_null(metric)}, {tagged}, NULL)", own)
    return found


def _count(df: DataFrame, numbers: Mapping[Keys, _Number], run: Run, entries: int) -> dict[Keys, _ByNumber]:
    """The counts of all keys by their numbers, in one job; both plans spill to disk when memory is short."""
    from pyspark.sql import functions as F

    listed = (f"IF(coalesce({m.filter}\n, false), {number.sql}, NULL)" if m.filter else number.sql for m, number in numbers.items())
    tagged = df.selectExpr(f"explode(array({', '.join(listed)})) AS h").where("h IS NOT NULL")
    if entries <= SORTED_ENTRIES:
        partitions = entries // PARTITION_ENTRIES + 1
        # The filter lets every row pass: it keeps the optimizer from dropping the sort, which no count needs.
        tagged = tagged.repartition(partitions, "h").sortWithinPartitions("h").where("spark_partition_id() >= 0")
    # Of sorted rows a group is counted without a hash map, at half the cost.
    with run.engine.setting("spark.sql.execution.replaceHashWithSortAgg", "true"):
        # The lower 33 bits of the identifier number the repeated numbers of a partition.
        kept = f"(monotonically_increasing_id() & {2**33 - 1}L) < {PARTITION_REPEATS}"
        groups = tagged.groupBy("h").agg(F.count(F.lit(1)).alias("n"))
        groups = groups.selectExpr(f"CAST(shiftrightunsigned(h, {_width(len(numbers))}) AS INT) AS t", "n", f"IF(n > 1, IF({kept}, h, NULL), NULL) AS r")
        figures = ("sum(n) AS n", "count(1) AS d", "sum(IF(n > 1, n, 0)) AS m", "count_if(n > 1) AS c")
        totals = ("sum(n)", "sum(d)", "sum(m)", "sum(c)", f"slice(collect_list(r), 1, {REPEATS})")
        rows = groups.groupBy("t", "r").agg(*map(F.expr, figures)).groupBy("t").agg(*map(F.expr, totals)).collect()
    by_tag = {tag: _Tally(*figures) for tag, *figures in rows}
    return {m: _by_number(m, number, by_tag.get(2 * i, _Tally()), by_tag.get(2 * i + 1, _Tally())) for i, (m, number) in enumerate(numbers.items())}


@dataclass(frozen=True)
class _Tally:
    """Of the numbers with one tag: their rows, how many differ, the rows of the repeated ones, how many are repeated, and those that were kept."""

    rows: int = 0
    distinct: int = 0
    repeated_rows: int = 0
    repeated: int = 0
    kept: Sequence[int] = ()


def _by_number(metric: Keys, number: _Number, even: _Tally, odd: _Tally) -> _ByNumber:
    whole = (even,) if len(metric.columns) > 1 else (even, odd)
    counts = KeyCounts(sum(t.rows for t in whole), sum(t.distinct for t in whole), even.repeated_rows + odd.repeated_rows)
    repeats = [*even.kept, *odd.kept]
    return _ByNumber(
        counts,
        odd.repeated if number.own else even.repeated + odd.repeated,
        repeats if len(repeats) == even.repeated + odd.repeated else None,
        sum(t.repeated for t in whole),
    )


def _verified(df: DataFrame, metric: Keys, number: str, by_number: _ByNumber, run: Run) -> KeyCounts:
    """The counts after a look at the keys themselves, on the rows whose number is repeated."""
    from pyspark.sql import functions as F

    rows = df.where(metric.filter) if metric.filter else df
    keys = rows.where(_not_all_null(metric)).select(*_named(metric), F.expr(number).alias("h"))
    # As JSON, since a frame made of Python rows would start Python workers.
    listed = F.from_json(F.lit(json.dumps(by_number.repeats)), "array<bigint>")
    repeated = run.spark.range(1).select(F.explode(listed).alias("h"))
    true = _counts(keys.join(F.broadcast(repeated), "h", "left_semi").drop("h"))
    return KeyCounts(by_number.counts.rows, by_number.counts.distinct - by_number.whole + true.distinct, true.repeated)


def grouped(df: DataFrame, metric: Keys) -> KeyCounts:
    """The counts of one key by grouping the keys themselves."""
    rows = df.where(metric.filter) if metric.filter else df
    return _counts(rows.where(_not_all_null(metric)).select(*_named(metric)))


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
