"""The modes of tables that compare by key, and replace_partitions: exact rows after every kind of run, on Delta and on Iceberg."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.lint import lint

SCHEMA = "id INT, name STRING, k INT"
ROWS = [(1, "a", 10), (2, "b", 20), (None, "n", 30)]
T1, T2, T3, T4 = (dt.datetime(2026, 1, day) for day in (1, 2, 3, 4))


class Table:
    """One table in one format, with short ways to write to it and to look at it."""

    def __init__(self, house: Any, format: str, name: str) -> None:
        self.house, self.format = house, format
        self.path = f"lake.db.{name}" if format == "iceberg" else house.path(name)

    def write(self, mode: str, rows: list[tuple[Any, ...]], schema: str = SCHEMA, keys: Any = ("id",), partition_by: tuple[str, ...] = (), **options: Any) -> Any:
        options = {**({"merge_keys": list(keys)} if keys else {}), **options}
        output = {"format": self.format, "path": self.path, "mode": mode, "options": options, "partition_by": list(partition_by)}
        return self.house.write(rows, schema, output)

    def frame(self) -> Any:
        return self.house.spark.table(self.path) if self.format == "iceberg" else self.house.spark.read.format("delta").load(self.path)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Those columns of all rows, in an order that nulls don't disturb."""
        return sorted((tuple(r) for r in self.frame().selectExpr(*columns).collect()), key=str)

    def sql(self, text: str) -> None:
        self.house.spark.sql(text.replace("$t", self.path if self.format == "iceberg" else f"delta.`{self.path}`"))

    def versions(self) -> int:
        """The number of commits that the table has seen."""
        if self.format == "iceberg":
            return int(self.house.spark.sql(f"SELECT snapshot_id FROM {self.path}.snapshots").count())
        return int(self.house.spark.sql(f"DESCRIBE HISTORY delta.`{self.path}`").count())


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, house, table: str) -> Table:
    return Table(house, request.param, table)


def details(result: Any) -> dict[str, int]:
    """The figures of rows that are not zero."""
    assert result.success, result.message
    names = ("inserted", "updated", "closed", "deleted", "unchanged", "late")
    return {n: v for n in names if (v := result.outputs[0].details.get(f"rows_{n}"))}


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


# --- upsert and replace_partitions -----------------------------------------------------------------------------------
def test_upsert_is_merge(store: Table) -> None:
    assert store.write("upsert", ROWS).rows_written == 3
    again = store.write("UPSERT", [(1, "new", 10), (4, "d", 40)])
    assert (again.rows_written, details(again)) == (2, {"inserted": 1, "updated": 1})
    assert store.rows("id", "name") == [(1, "new"), (2, "b"), (4, "d"), (None, "n")]


def test_replace_partitions_replaces_what_the_frame_holds(store: Table) -> None:
    bare = store.write("replace_partitions", ROWS, keys=())
    assert problems(bare) == [("INVALID_COMBINATION", "/output/mode")] and "partition_by" in bare.message
    assert store.write("replace_partitions", ROWS, keys=(), partition_by=("k",)).rows_written == 3
    for _ in range(2):
        assert store.write("replace_partitions", [(7, "x", 10), (8, "y", 50)], keys=()).rows_written == 2
        assert store.rows("id", "name", "k") == [(2, "b", 20), (7, "x", 10), (8, "y", 50), (None, "n", 30)]
    assert store.write("replace_partitions", [], keys=()).rows_written == 0
    assert len(store.rows("id")) == 4


def test_replace_partitions_of_a_table_without_any_is_refused(store: Table) -> None:
    store.write("append", ROWS, keys=())
    for by in ((), ("k",)):
        assert problems(store.write("replace_partitions", ROWS[:1], keys=(), partition_by=by)) == [("INVALID_COMBINATION", "/output/mode")]
    assert len(store.rows("id")) == 3


# --- hash_diff_upsert --------------------------------------------------------------------------------------------------
def with_time(store: Table, rows: list[tuple[Any, ...]], mode: str, **options: Any) -> Any:
    """A run whose rows have an ingestion_ts, as rows that are read have."""
    out = {"format": store.format, "path": store.path, "mode": mode, "options": {"merge_keys": ["id"], **options}}
    store.house.spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("incoming")
    return Sparquet(store.house.spark).run_from_dict({"name": "p", "input": {"format": "view", "path": "incoming"}, "output": out})


def test_hash_diff_writes_only_what_differs(store: Table) -> None:
    first = with_time(store, ROWS, "hash_diff_upsert")
    assert (first.rows_written, details(first)) == (3, {"inserted": 3})
    before, versions = store.rows("id", "row_hash", "ingestion_ts"), store.versions()
    again = with_time(store, ROWS[::-1], "hash_diff_upsert")
    assert (again.rows_written, again.outputs[0].files, details(again)) == (0, 0, {"unchanged": 3})
    assert again.outputs[0].version == first.outputs[0].version
    assert (store.rows("id", "row_hash", "ingestion_ts"), store.versions()) == (before, versions)
    changed = with_time(store, [(1, "a", 10), (2, None, 20), (4, "d", 40), (None, "", 30)], "hash_diff_upsert")
    assert (changed.rows_written, details(changed)) == (3, {"inserted": 1, "updated": 2, "unchanged": 1})
    assert store.rows("id", "name", "k") == [(1, "a", 10), (2, None, 20), (4, "d", 40), (None, "", 30)]
    kept = {r[0]: r for r in store.rows("id", "row_hash", "ingestion_ts")}
    assert kept[1] in before and kept[2] not in before
    reverted = with_time(store, ROWS, "hash_diff_upsert")
    assert details(reverted) == {"updated": 2, "unchanged": 1}
    assert store.rows("id", "name") == [(1, "a"), (2, "b"), (4, "d"), (None, "n")]
    assert details(with_time(store, [], "hash_diff_upsert")) == {}


def test_hash_diff_compares_the_columns_that_are_asked_for(store: Table) -> None:
    store.write("hash_diff_upsert", ROWS, hash_columns="name")
    assert details(store.write("hash_diff_upsert", [(1, "a", 11), (2, "x", 21)], hash_columns=["NAME"])) == {"updated": 1, "unchanged": 1}
    assert store.rows("id", "k") == [(1, 10), (2, 21), (None, 30)]
    missing = store.write("hash_diff_upsert", ROWS, hash_exclude=["kk"])
    assert problems(missing) == [("COLUMN_NOT_FOUND", "/output/options/hash_exclude/0")]


def test_equal_rows_in_another_order_of_columns_and_other_types_are_unchanged(store: Table) -> None:
    wide = "id INT, price DOUBLE, at TIMESTAMP, tags MAP<STRING, INT>, deep STRUCT<b: INT, a: ARRAY<DATE>>"
    row = (1, 2.0, dt.datetime(2026, 1, 1, 12, 0, 0, 123456), {"x": 1, "y": 2}, (5, [dt.date(2026, 1, 1), None]))
    store.write("hash_diff_upsert", [row], wide)
    other = "at TIMESTAMP, deep STRUCT<b: INT, a: ARRAY<DATE>>, price INT, tags MAP<STRING, INT>, id LONG"
    assert details(store.write("hash_diff_upsert", [(row[2], row[4], 2, {"y": 2, "x": 1}, 1)], other)) == {"unchanged": 1}
    later = row[2].replace(microsecond=123457)
    assert details(store.write("hash_diff_upsert", [(later, row[4], 2, {"y": 2, "x": 1}, 1)], other)) == {"updated": 1}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hash_diff_upsert", "historical", "snapshot_soft_delete"])
def test_faults_that_all_have(store: Table, mode: str) -> None:
    fresh = store.write(mode, [(1, "a", 1), (1, "b", 1)])
    assert problems(fresh) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")]
    assert problems(store.write(mode, ROWS, keys=["idd"])) == [("COLUMN_NOT_FOUND", "/output/options/merge_keys/0")]
    store.write("append", ROWS, keys=())
    lacking = store.write(mode, ROWS)
    columns = {"hash_diff_upsert": 1, "historical": 4, "snapshot_soft_delete": 3}[mode]
    assert problems(lacking) == [("MERGE_TARGET_COLUMN", "/output")] * columns
    assert "ALTER TABLE" in lacking.message and "row_hash STRING" in lacking.message
    assert store.versions() == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hash_diff_upsert", "historical", "snapshot_soft_delete"])
def test_columns_are_added_when_that_is_allowed(store: Table, mode: str) -> None:
    store.write(mode, ROWS)
    wide = SCHEMA + ", extra DOUBLE"
    assert problems(store.write(mode, [(1, "a", 10, 1.5)], wide)) == [("MERGE_TARGET_COLUMN", "/output")]
    rows = [(1, "a", 10, 1.5), (2, "b", 20, None), (None, "n", 30, None)]
    grown = store.write(mode, rows, wide, mergeSchema=True)
    assert details(grown) == ({"inserted": 1, "closed": 1, "unchanged": 2} if mode == "historical" else {"updated": 1, "unchanged": 2})
    current = "id = 1" if mode != "historical" else "id = 1 AND is_current"
    assert [tuple(r) for r in store.frame().where(current).select("name", "extra").collect()] == [("a", 1.5)]
    assert store.write(mode, rows, wide, mergeSchema=True).rows_written == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hash_diff_upsert", "snapshot_soft_delete"])
def test_a_table_made_elsewhere_is_taken_over_with_the_columns_added(store: Table, mode: str) -> None:
    store.write("append", ROWS, keys=())
    message = store.write(mode, ROWS).message
    store.sql("ALTER TABLE $t ADD COLUMNS" + message.partition("ADD COLUMNS")[2].partition(")")[0] + ")")
    assert details(store.write(mode, ROWS)) == {"updated": 3}
    assert details(store.write(mode, ROWS)) == {"unchanged": 3}
    assert store.rows("id", "name", "k") == sorted(ROWS, key=str)


# --- snapshot_soft_delete ------------------------------------------------------------------------------------------------
def test_snapshot_marks_what_is_gone_and_revives_what_comes_back(store: Table) -> None:
    state = ("id", "name", "is_deleted", "deleted_at IS NOT NULL")
    assert details(store.write("snapshot_soft_delete", ROWS)) == {"inserted": 3}
    assert store.write("snapshot_soft_delete", ROWS).rows_written == 0 and store.versions() == 1
    gone = store.write("snapshot_soft_delete", [(1, "a", 10), (3, "c", 30)])
    assert (gone.rows_written, details(gone)) == (3, {"inserted": 1, "deleted": 2, "unchanged": 1})
    assert store.rows(*state) == [(1, "a", False, False), (2, "b", True, True), (3, "c", False, False), (None, "n", True, True)]
    when = store.rows("id", "deleted_at")
    assert store.write("snapshot_soft_delete", [(1, "a", 10), (3, "c", 30)]).rows_written == 0
    assert store.rows("id", "deleted_at") == when
    back = store.write("snapshot_soft_delete", [(1, "a", 10), (2, "b", 20), (3, "x", 30), (None, "m", 30)])
    assert details(back) == {"updated": 3, "unchanged": 1}
    assert store.rows(*state) == [(1, "a", False, False), (2, "b", False, False), (3, "x", False, False), (None, "m", False, False)]


def test_an_empty_snapshot_is_refused_unless_meant(store: Table) -> None:
    assert store.write("snapshot_soft_delete", []).rows_written == 0
    assert store.write("snapshot_soft_delete", []).success
    store.write("snapshot_soft_delete", ROWS)
    refused = store.write("snapshot_soft_delete", [])
    assert problems(refused) == [("EMPTY_SNAPSHOT", "/output")] and "all 3 rows" in refused.message
    assert store.rows("is_deleted") == [(False,)] * 3
    assert details(store.write("snapshot_soft_delete", [], allow_empty_snapshot=True)) == {"deleted": 3}
    assert store.rows("is_deleted") == [(True,)] * 3
    assert store.write("snapshot_soft_delete", []).rows_written == 0


# --- historical ------------------------------------------------------------------------------------------------------
DATED = "id INT, name STRING, at TIMESTAMP"
HISTORY = ("id", "name", "valid_from", "valid_to", "is_current")


def keep(store: Table, *rows: tuple[Any, ...], **options: Any) -> Any:
    return store.write("historical", list(rows), DATED, **{"effective_from": "at", **options})


def test_history_grows_by_versions(store: Table) -> None:
    assert details(keep(store, (1, "a", T1), (2, "b", T1), (None, "n", T1))) == {"inserted": 3}
    again = keep(store, (None, "n", T1), (1, "a", T2), (2, "b", T1))
    assert (again.rows_written, details(again), store.versions()) == (0, {"unchanged": 3}, 1)
    changed = keep(store, (1, "x", T2), (None, "m", T2), (3, "c", T1))
    assert (changed.rows_written, details(changed)) == (5, {"inserted": 3, "closed": 2})
    reverted = keep(store, (1, "a", T3))
    assert details(reverted) == {"inserted": 1, "closed": 1}
    expected = [
        (1, "a", T1, T2, False), (1, "a", T3, None, True), (1, "x", T2, T3, False), (2, "b", T1, None, True),
        (3, "c", T1, None, True), (None, "m", T2, None, True), (None, "n", T1, T2, False),
    ]
    assert store.rows(*HISTORY) == sorted(expected, key=str)
    versions = store.versions()
    for rows in ([(1, "a", T3)], [(1, "x", T2), (None, "m", T2), (3, "c", T1)], []):
        repeated = keep(store, *rows)
        assert (repeated.rows_written, details(repeated)) == (0, {"unchanged": len(rows)} if rows else {})
        assert not repeated.warnings
    assert (store.rows(*HISTORY), store.versions()) == (sorted(expected, key=str), versions)


def test_late_rows_are_counted_and_not_applied(store: Table) -> None:
    keep(store, (1, "a", T1), (2, "b", T3))
    keep(store, (1, "x", T3))
    before = store.rows(*HISTORY)
    late = keep(store, (1, "late", T2), (2, "same start", T3), (2, "before all", T1), (1, "a", T1.replace(hour=12)))
    assert (late.rows_written, details(late)) == (0, {"late": 3, "unchanged": 1})
    assert [(w.code, w.facts["count"]) for w in late.warnings if w.code == "LATE_ROWS"] == [("LATE_ROWS", 3)]
    assert store.rows(*HISTORY) == before
    mixed = keep(store, (1, "late", T2), (1, "new", T4), (2, "late", T3), (2, "b", T4))
    assert details(mixed) == {"inserted": 1, "closed": 1, "late": 2, "unchanged": 1}
    assert [r for r in store.rows(*HISTORY) if r[0] == 1] == [(1, "a", T1, T3, False), (1, "new", T4, None, True), (1, "x", T3, T4, False)]


def test_several_versions_of_a_key_in_one_batch(store: Table) -> None:
    made = keep(store, (1, "b", T2), (1, "a", T1), (2, "x", T1), (2, "x", T2), (2, "y", T3), (2, "y", T4))
    assert details(made) == {"inserted": 4, "unchanged": 2}
    first = [(1, "a", T1, T2, False), (1, "b", T2, None, True), (2, "x", T1, T3, False), (2, "y", T3, None, True)]
    assert store.rows(*HISTORY) == first
    again = keep(store, (1, "b", T2), (1, "a", T1), (2, "x", T1), (2, "x", T2), (2, "y", T3), (2, "y", T4))
    assert (again.rows_written, details(again), again.warnings) == (0, {"unchanged": 6}, [])
    more = keep(store, (1, "c", T3), (1, "d", T4), (3, "p", T1), (3, "q", T2))
    assert details(more) == {"inserted": 4, "closed": 1}
    assert store.rows(*HISTORY) == sorted([
        (1, "a", T1, T2, False), (1, "b", T2, T3, False), (1, "c", T3, T4, False), (1, "d", T4, None, True),
        *first[2:], (3, "p", T1, T2, False), (3, "q", T2, None, True),
    ], key=str)


def test_without_a_start_of_its_own_a_version_starts_with_the_run(store: Table) -> None:
    with_time(store, ROWS, "historical")
    assert with_time(store, ROWS, "historical").rows_written == 0
    assert details(with_time(store, [(1, "x", 10)], "historical")) == {"inserted": 1, "closed": 1}
    old, new = (store.frame().where(f"id = 1 AND {c}").collect()[0] for c in ("NOT is_current", "is_current"))
    assert new["valid_from"] == new["ingestion_ts"] == old["valid_to"] and old["valid_from"] == old["ingestion_ts"] < old["valid_to"]
    assert new["valid_to"] is None and store.frame().where("is_current").count() == 3


def test_starts_that_cannot_be_used(store: Table) -> None:
    assert problems(keep(store, (1, "a", T1), (1, "b", T1))) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")]
    undated = keep(store, (1, "a", T1), (2, "b", None))
    assert problems(undated) == [("START_MISSING", "/output/options/effective_from")] and "1 rows" in undated.message
    assert problems(keep(store, (1, "a", T1), effective_from="name")) == [("INVALID_COMBINATION", "/output/options/effective_from")]
    assert problems(keep(store, (1, "a", T1), effective_from="when")) == [("COLUMN_NOT_FOUND", "/output/options/effective_from/0")]
    taken = store.write("historical", [(1, True, T1)], "id INT, is_current BOOLEAN, valid_from TIMESTAMP", effective_from="valid_from")
    assert [(p.code, p.facts["found"]) for p in taken.problems] == [("COLUMN_COLLISION", "is_current")]
    by_day = store.write("historical", [(1, "a", dt.date(2026, 1, 1))], "id INT, name STRING, valid_from DATE", effective_from="valid_from", partition_by=("is_current",))
    assert details(by_day) == {"inserted": 1} and store.rows(*HISTORY) == [(1, "a", T1, None, True)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["historical", "snapshot_soft_delete", "hash_diff_upsert"])
def test_writers_at_once_leave_one_truth(store: Table, mode: str) -> None:
    store.write(mode, [(i, "a", 0) for i in range(50)])
    results: list[Any] = []

    def work(value: int) -> None:
        results.append(store.write(mode, [(i, f"w{value}", value) for i in range(60)]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [r for r in results if not r.success]
    assert {p for r in failed for p in problems(r)} <= {("WRITE_CONFLICT", "/output/path")} and len(failed) < 3, [r.message for r in failed]
    assert all(r.error.retryable for r in failed)
    now = store.frame().where("is_current") if mode == "historical" else store.frame()
    assert now.count() == now.select("id").distinct().count() == 60
    assert now.select("name").distinct().count() == 1


# --- lint --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_lint(format: str) -> None:
    def found(mode: str, **options: Any) -> list[tuple[str, str, str]]:
        tree = {"name": "p", "input": {"format": "parquet", "path": "/in"}, "output": {"format": format, "path": "a.b", "mode": mode, "options": options}}
        return [(p.severity, p.code, p.at) for p in lint(tree)[1]]

    for mode in ("upsert", "hash_diff_upsert", "historical", "Snapshot_Soft_Delete"):
        assert found(mode, merge_keys="id") == []
        assert found(mode) == [("error", "MERGE_KEYS_MISSING", "/output/options")]
    at = "/output/options"
    assert found("replace_partitions") == []
    assert found("replace_partitions", overwriteSchema=True) == [("error", "KEYS_EXCLUDE", at)]
    assert found("historical", merge_keys="id", merge_condition="T.a = 1") == [("error", "INVALID_COMBINATION", at + "/merge_condition")]
    assert found("historical", merge_keys="id", effective_from=["at"]) == [("error", "WRONG_TYPE", at + "/effective_from")]
    assert found("merge", merge_keys="id", effective_from="at") == [("warning", "INVALID_COMBINATION", at + "/effective_from")]
    assert found("historical", merge_keys="id", allow_empty_snapshot=True) == [("warning", "INVALID_COMBINATION", at + "/allow_empty_snapshot")]
    assert found("snapshot_soft_delete", merge_keys="id", allow_empty_snapshot="maybe") == [("error", "WRONG_TYPE", at + "/allow_empty_snapshot")]
    assert found("hash_diff_upsert", merge_keys="id", hash_columns="a", hash_exclude="b") == [("error", "KEYS_EXCLUDE", at)]
    assert found("hash_diff_upsert", merge_keys="id", hash_columns=[]) == [("error", "WRONG_TYPE", at + "/hash_columns")]
    assert found("historic", merge_keys="id")[0][:2] == ("error", "MODE_NOT_SUPPORTED")


def test_other_formats_have_none_of_them() -> None:
    for mode in ("upsert", "replace_partitions", "hash_diff_upsert", "historical", "snapshot_soft_delete"):
        output = {"format": "parquet", "path": "/out", "mode": mode, "options": {"merge_keys": "id"}}
        found = [p for p in lint({"name": "p", "input": {"format": "csv", "path": "/in"}, "output": output})[1] if p.severity == "error"]
        assert [(p.code, p.at) for p in found] == [("MODE_NOT_SUPPORTED", "/output/mode")] and mode in found[0].message


def test_a_second_snapshot_of_the_same_table_would_undo_the_first() -> None:
    one = {"format": "delta", "path": "/t", "mode": "snapshot_soft_delete", "options": {"merge_keys": "id"}}
    tree = {"name": "p", "input": {"format": "parquet", "path": "/in"}, "outputs": [one, one]}
    assert [(p.code, p.at) for p in lint(tree)[1]] == [("OUTPUTS_COLLIDE", "/outputs/1/path")]


def test_a_business_column_that_another_mode_keeps_is_compared(house, table: str) -> None:
    store = Table(house, "delta", table)
    schema = "id INT, is_deleted BOOLEAN, valid_to STRING"
    store.write("hash_diff_upsert", [(1, False, "2024-01-01")], schema)
    assert details(store.write("hash_diff_upsert", [(1, True, "2025-01-01")], schema)) == {"updated": 1}
    assert store.rows("is_deleted", "valid_to") == [(True, "2025-01-01")]


@pytest.mark.parametrize(
    ("stored", "given", "value", "fits"),
    [
        ("DATE", "TIMESTAMP", dt.datetime(2024, 1, 1, 10), False), ("INT", "DOUBLE", 1.5, False), ("INT", "STRING", "01", False), ("INT", "BIGINT", 1, True),
        ("BIGINT", "INT", 1, True), ("DECIMAL(10,2)", "INT", 1, True), ("DECIMAL(10,2)", "DECIMAL(10,3)", 1, False), ("STRING", "VARCHAR(5)", "a", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["upsert", "hash_diff_upsert", "historical"])
def test_a_key_of_another_type_than_the_tables(house, table: str, mode: str, stored: str, given: str, value: Any, fits: bool) -> None:
    store, spark = Table(house, "delta", table), house.spark
    first = spark.sql(f"SELECT CAST(NULL AS {stored}) AS id, 'a' AS name")
    output = {"format": "delta", "path": store.path, "mode": mode, "options": {"merge_keys": ["id"]}, "transformations": [{"type": "drop", "columns": ["ingestion_ts"]}]}
    document = {"name": "w", "input": {"format": "view", "path": "x"}, "output": output}
    assert Sparquet(spark).run_from_dict(document, input_df=first).success
    frame = spark.createDataFrame([("b",)], "name STRING").selectExpr(f"CAST('{value}' AS {given}) AS id", "name")
    result = Sparquet(spark).run_from_dict(document, input_df=frame)
    assert problems(result) == ([] if fits else [("COLUMN_TYPE", "/output/options/merge_keys")])
    assert len(store.rows("id")) == (2 if fits else 1)
