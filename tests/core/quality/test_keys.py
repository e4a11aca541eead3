"""Counts of keys: every plan gives the same, also when hashes collide."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core import Cola
from sparquet_provider.core.quality import keys
from sparquet_provider.core.quality.metrics import KeyCounts

RULES = [
    {"type": "unique", "columns": ["id"]},
    {"type": "unique", "columns": ["name"]},
    {"type": "unique", "columns": ["name", "grp"]},
    {"type": "unique", "columns": ["name"], "filter": "id > 2"},
    {"type": "duplicate_count", "columns": ["name"], "must_be": "= 0"},
    {"type": "duplicate_percent", "columns": ["name", "grp"], "must_be": "= 0"},
    {"type": "distinct_count", "columns": ["name"], "must_be": "= 0"},
    {"type": "distinct_count", "columns": ["name", "grp"], "must_be": "= 0", "exact": True},
    {"type": "unique", "columns": ["price"]},
    {"type": "unique", "columns": ["day"]},
]
#: By hand: id 1..8; names a a b null null c c c; two rows of nulls alone in (name, grp); prices 0.0 -0.0 NaN NaN null 1 2 3.
EXPECTED = [0, 7, 6, 5, 3, 40.0, 3, 3, 4, 8]
ROWS = """VALUES
    (1L, 'a', 1, 0.0D, DATE'2026-01-01'), (2L, 'a', 1, -0.0D, DATE'2026-01-01'), (3L, 'b', 1, double('NaN'), DATE'2026-01-01'), (4L, null, null, double('NaN'), DATE'2026-01-01'),
    (5L, null, null, null, null), (6L, 'c', 1, 1.0D, null), (7L, 'c', 1, 2.0D, DATE'2026-01-02'), (8L, 'c', null, 3.0D, DATE'2026-01-02') AS t(id, name, grp, price, day)"""


@pytest.fixture
def frame(spark) -> Any:
    return spark.sql(f"SELECT * FROM {ROWS}")


def figures(frame: Any) -> list[Any]:
    return [r.metric_value for r in Cola().run(frame, RULES)]


def test_counts_in_buckets(frame: Any) -> None:
    assert figures(frame) == EXPECTED


def test_counts_by_grouping_are_the_same(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BUCKETED_ENTRIES", 1)
    assert figures(frame) == EXPECTED


def test_counts_that_were_not_verified_say_so(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BUCKETED_ENTRIES", 1)
    monkeypatch.setattr(keys, "ALWAYS_EXACT_ROWS", 1)
    results = Cola().run(frame, [{"type": "distinct_count", "columns": ["grp", "name"], "must_be": "= 2", "exact": exact} for exact in (False, True)])
    # One measurement serves both rules, and the one that asks for exactness decides.
    assert [r.message for r in results] == ["distinct_count(grp,name) = 3 breaks must_be (= 2)"] * 2
    alone = Cola().run(frame, [{"type": "distinct_count", "columns": ["grp", "name"], "must_be": "= 3"}])
    assert alone[0].message == "distinct_count(grp,name) = 3 satisfies must_be (= 3), counted by 64-bit hashes"


@pytest.mark.parametrize("entries", [1, keys.BUCKETED_ENTRIES])
def test_colliding_hashes_change_nothing(frame: Any, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = keys._number

    def colliding(metric: Any) -> tuple[str, bool]:
        number, proven = honest(metric)
        return (number, True) if proven else (f"pmod({number}, 2)", False)  # every key has one of two hashes

    monkeypatch.setattr(keys, "_number", colliding)
    monkeypatch.setattr(keys, "BUCKETED_ENTRIES", entries)
    assert figures(frame) == EXPECTED


def test_too_many_repeats_for_a_list_are_counted_by_the_keys_themselves(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BUCKET_REPEATS", 1)
    frame = spark.range(0, 2000, 1, 2).selectExpr("concat('k', id div 2) AS k")
    results = Cola().run(frame, [{"type": "unique", "columns": ["k"]}, {"type": "distinct_count", "columns": ["k"], "must_be": "= 1000"}])
    assert [(r.failed_count, r.metric_value) for r in results] == [(2000, 2000), (0, 1000)]


@pytest.mark.parametrize("entries", [1, keys.BUCKETED_ENTRIES])
def test_numbers_of_all_sizes_are_told_apart(spark, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BUCKETED_ENTRIES", entries)
    values = [0, 2**60, 2**61, 2**62, -(2**60), -(2**61), -(2**62), -(2**63), 2**63 - 1, 5, 5, 2**62 + 7, 2**62 + 7, -1]
    # The smallest number has no literal.
    rows = ", ".join(f"(CAST('{v}' AS BIGINT), timestamp_micros({v if abs(v) < 2**58 else 1000 + i}), {i})" for i, v in enumerate(values))
    frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t(a, t, i)")
    found = Cola().run(frame, [{"type": "unique", "columns": ["a"]}])
    found += Cola().run(frame, [{"type": kind, "columns": ["a"], **more} for kind, more in (("unique", {}), ("distinct_count", {"must_be": "= 12"}), ("duplicate_count", {"must_be": "= 2"}))])
    found += Cola().run(frame, [{"type": "unique", "columns": [c]} for c in ("a", "t", "i")])
    assert [r.metric_value for r in found] == [4, 4, 12, 2, 4, 2, 0]


@pytest.mark.classic_only(reason="jobs are counted by the status store")
def test_all_keys_share_one_pass(spark) -> None:
    frame = spark.range(0, 1000, 1, 2).selectExpr("id", "concat('n', id) AS a", "concat('m', id) AS b", "id * 2 AS c", "id % 7 AS d")
    rules = [{"type": "unique", "columns": [c]} for c in "abc"] + [{"type": "unique", "columns": ["a", "b"]}, {"type": "distinct_count", "columns": ["d"], "must_be": "= 7"}]
    from sparquet_provider.core.engine import Engine

    engine = Engine(spark)
    before = engine.last_execution()
    assert all(r.passed for r in Cola().run(frame, rules))
    # One execution for the aggregates, one for all keys: nothing repeats whose hash is not its own number, so nothing is verified.
    assert len(engine.executions_after(before)) == 2


#: Ids, and what unique, distinct_count and duplicate_count find in them; by hand.
DENSE = {
    "all distinct": ("id", (0, 4000, 0)),
    "below zero, some are null": ("IF(id % 8 = 3, NULL, id - 2000)", (500, 3500, 0)),  # nulls are equal
    "every fourth stands twice": ("IF(id % 4 = 0, id + 1, id)", (2000, 3000, 1000)),
    "one stands 15 times": ("IF(id < 15, 14, id)", (15, 3986, 14)),
    "the last of sixteen stands 7 times": ("IF(id BETWEEN 10 AND 16, 15, id)", (7, 3994, 6)),
    "the last of sixteen runs over": ("IF(id BETWEEN 9 AND 16, 15, id)", (8, 3993, 7)),
    "one runs over into its neighbour": ("IF(id < 16, 8, id)", (16, 3985, 15)),
    "one runs over many times": ("IF(id < 1000, 7, id)", (1000, 3001, 999)),
}


@pytest.mark.parametrize("case", DENSE)
@pytest.mark.parametrize("kind", ["bigint", "int"])
def test_dense_numbers_have_a_counter_each(spark, case: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number, expected = DENSE[case]
    counted = []
    honest = keys._in_counters
    monkeypatch.setattr(keys, "_in_counters", lambda df, metrics: counted.append(honest(df, metrics)) or counted[-1])
    frame = spark.range(0, 4000, 1, 2).selectExpr(f"CAST({number} AS {kind}) AS id")
    rules = [{"type": "unique", "columns": ["id"]}, *({"type": t, "columns": ["id"], "must_be": ">= 0"} for t in ("distinct_count", "duplicate_count"))]
    assert tuple(r.metric_value for r in Cola().run(frame, rules)) == expected
    assert [len(found) for found in counted] == [0 if "over" in case else 1]  # else they are counted once more, in buckets


def test_a_filter_narrows_dense_numbers(spark) -> None:
    frame = spark.range(0, 4000, 1, 2).selectExpr("IF(id % 4 = 0, id + 1, id) AS id", "id % 4 AS part")
    results = Cola().run(frame, [{"type": "unique", "columns": ["id"], "filter": f"part {parts} -- odd"} for parts in ("= 0", "< 2", "> 1")])
    assert [r.metric_value for r in results] == [0, 2000, 0]


@pytest.mark.classic_only(reason="jobs are counted by the status store")
@pytest.mark.parametrize(("made_of", "passes"), [("id", 3), ("first(id) OVER (PARTITION BY id)", 2)])
def test_dense_numbers_are_read_once_more_only_where_that_is_cheap(spark, made_of: str, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparquet_provider.core.engine import Engine

    monkeypatch.setattr(keys, "DENSE_ROWS", 1000)
    frame = spark.range(0, 1000, 1, 2).selectExpr(f"{made_of} AS id", "concat('n', id) AS name")
    engine = Engine(spark)
    before = engine.last_execution()
    assert [r.failed_count for r in Cola().run(frame, [{"type": "unique", "columns": [c]} for c in ("id", "name")])] == [0, 0]
    assert len(engine.executions_after(before)) == passes


def test_an_empty_frame_has_no_keys(frame: Any) -> None:
    results = Cola().run(frame.where("false"), RULES)
    assert [(r.failed_count, r.metric_value) for r in results[:2]] == [(0, 0), (0, 0)]
    assert [r.metric_value for r in results[4:7]] == [0, 0.0, 0]
    assert KeyCounts(0, 0, 0).exact


@pytest.mark.parametrize(
    "rows",
    [
        "(CAST(NULL AS STRUCT<x: INT>), struct(0 AS x)), (NULL, struct(0 AS x)), (struct(1 AS x), struct(CAST(NULL AS INT) AS x))",
        "(CAST(NULL AS ARRAY<INT>), array(0)), (NULL, array(0)), (array(1), CAST(array() AS ARRAY<INT>))",
        "(NULL, 'x'), (NULL, 'x'), ('p', 'q')",
    ],
)
def test_a_key_with_the_hash_of_a_repeated_one_that_has_a_null_is_counted_once(spark, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = keys._number
    monkeypatch.setattr(keys, "_number", lambda metric: (f"pmod({honest(metric)[0]}, 1)", False))
    frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t(a, b)")
    rules = [{"type": "unique", "columns": ["a", "b"]}, *({"type": t, "columns": ["a", "b"], "must_be": ">= 0"} for t in ("distinct_count", "duplicate_count"))]
    assert [r.metric_value for r in Cola().run(frame, rules)] == [2, 1, 0]


def test_hashes_of_nested_values_are_not_counted_for_them(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    # The hash passes over nulls inside: each pair of neighbours has one.
    frame = spark.range(100).selectExpr("struct(IF(id % 2 = 0, id div 2, NULL) AS x, IF(id % 2 = 1, id div 2, NULL) AS y) AS s")
    monkeypatch.setattr(keys, "BUCKETED_ENTRIES", 1)
    monkeypatch.setattr(keys, "ALWAYS_EXACT_ROWS", 1)
    assert [r.metric_value for r in Cola().run(frame, [{"type": "distinct_count", "columns": ["s"], "must_be": "= 100"}])] == [100]
