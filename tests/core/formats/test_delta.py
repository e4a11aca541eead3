"""Delta: versions, parts that are replaced, merges, what the table's log says."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.engine import Engine
from sparquet_provider.core.formats.places import Place
from sparquet_provider.core.storage import delta_version

ROWS = [(1, "a", 10), (2, "b", 20), (3, None, 10)]
SCHEMA = "id INT, name STRING, k INT"


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


@pytest.fixture
def target(house) -> str:
    """A Delta table by location."""
    return house.path("t")


@pytest.fixture(params=["path", "table"])
def either(request: pytest.FixtureRequest, house, table: str) -> str:
    """A Delta table by location and by name."""
    if request.param == "table":
        house.spark.sql("CREATE DATABASE IF NOT EXISTS formats")
        return f"formats.{table}"
    return house.path("t")


def version(house, target: str) -> int | None:
    return delta_version(Engine(house.spark), Place.of(target))


def test_modes_counts_and_versions(house, either: str) -> None:
    out = {"format": "delta", "path": either}
    first = house.write(ROWS, SCHEMA, {**out, "mode": "error"})
    assert (first.status, first.rows_written, first.outputs[0].version) == ("success", 3, 0), first.message
    assert first.outputs[0].files and first.outputs[0].bytes
    assert problems(house.write(ROWS, SCHEMA, {**out, "mode": "error"})) == [("TARGET_EXISTS", "/output/path")]
    kept = house.write(ROWS, SCHEMA, {**out, "mode": "ignore"})
    assert (kept.rows_written, kept.outputs[0].status, kept.outputs[0].version) == (0, "kept", 0)
    added = house.write(ROWS[:1], SCHEMA, {**out, "mode": "APPEND"})
    assert (added.rows_written, added.outputs[0].version) == (1, 1)
    replaced = house.write(ROWS[:2], SCHEMA, {**out, "mode": "Overwrite"})
    assert (replaced.rows_written, replaced.outputs[0].version) == (2, 2)
    assert house.rows("delta", either) == [(1, "a", 10), (2, "b", 20)]
    assert len(house.rows("delta", either, versionAsOf="1")) == 4 and len(house.rows("delta", either, versionAsOf=0)) == 3


def test_our_commit_is_found_among_others(house) -> None:
    house.write(ROWS, SCHEMA, {"format": "delta", "path": house.path("t")})
    result = house.write(ROWS, SCHEMA, {"format": "delta", "path": house.path("t"), "mode": "append", "options": {"userMetadata": "mine"}})
    assert result.outputs[0].version == 1 and result.rows_written == 3
    assert house.spark.sql(f"DESCRIBE HISTORY delta.`{house.path('t')}`").first()["userMetadata"] == "mine"


def test_a_table_that_is_not_there(house) -> None:
    out = {"format": "parquet", "path": house.path("out")}
    for path in (house.path("none"), "formats.none", "no_such_schema.none"):
        assert problems(house.copy({"format": "delta", "path": path}, out)) == [("SOURCE_NOT_FOUND", "/input/path")]
    house.write(ROWS, SCHEMA, {"format": "delta", "path": house.path("t")})
    missing = house.copy({"format": "delta", "path": house.path("t"), "options": {"versionAsOf": 7}}, out)
    assert problems(missing) == [("SOURCE_VERSION_NOT_FOUND", "/input/options")] and "[0, 0]" in missing.message
    late = house.copy({"format": "delta", "path": house.path("t"), "options": {"timestampAsOf": "2999-01-01"}}, out)
    assert problems(late) == [("SOURCE_VERSION_NOT_FOUND", "/input/options")]


def test_rows_read_and_one_version_for_every_destination(house, either: str) -> None:
    """The first destination appends to the source; the second sees the rows that were there at the start."""
    house.write(ROWS, SCHEMA, {"format": "delta", "path": either})
    document = {
        "name": "p", "input": {"format": "delta", "path": either}, "transformations": [{"type": "drop", "columns": ["ingestion_ts"]}],
        "outputs": [{"format": "delta", "path": either, "mode": "append"}, {"format": "parquet", "path": house.path("copy")}],
    }
    result = Sparquet(house.spark).run_from_dict(document)
    assert (result.status, [o.rows_written for o in result.outputs]) == ("success", [3, 3]), result.message
    assert result.rows_read == (3 if house.classic else None)
    assert house.rows("parquet", house.path("copy")) == sorted(ROWS, key=str) and len(house.rows("delta", either)) == 6


def test_replacing_a_part_twice_leaves_the_same_data(house, either: str) -> None:
    out = {"format": "delta", "path": either, "partition_by": ["k"]}
    house.write(ROWS, SCHEMA, out)
    where = {"format": "delta", "path": either, "options": {"replaceWhere": "k = 10"}}
    dynamic = {"format": "delta", "path": either, "options": {"partitionOverwriteMode": "dynamic"}}
    for part in (where, dynamic):
        for _ in range(2):
            assert house.write([(7, "new", 10)], SCHEMA, part).rows_written == 1
            assert house.rows("delta", either) == [(2, "b", 20), (7, "new", 10)]
    assert problems(house.write([(8, "x", 30)], SCHEMA, where)) == [("INVALID_COMBINATION", "/output/options/replaceWhere")]
    assert house.rows("delta", either) == [(2, "b", 20), (7, "new", 10)]


def test_dynamic_overwrite_of_a_table_without_partitions_is_refused(house, target: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "delta", "path": target})
    result = house.write(ROWS[:1], SCHEMA, {"format": "delta", "path": target, "options": {"partitionOverwriteMode": "dynamic"}})
    assert problems(result) == [("INVALID_COMBINATION", "/output/options/partitionOverwriteMode")] and len(house.rows("delta", target)) == 3


def test_an_empty_frame_keeps_schema_and_partitions(house, target: str) -> None:
    assert house.write([], SCHEMA, {"format": "delta", "path": target, "partition_by": ["k"]}).rows_written == 0
    assert house.columns("delta", target) == ["id", "name", "k"] and house.rows("delta", target) == []


def test_columns_that_the_table_lacks(house, target: str) -> None:
    out = {"format": "delta", "path": target, "mode": "append"}
    house.write(ROWS, SCHEMA, out)
    house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("in")})
    plain = {"name": "p", "input": {"format": "parquet", "path": house.path("in")}, "output": out}
    result = Sparquet(house.spark).run_from_dict(plain)
    assert problems(result) == [("MERGE_TARGET_COLUMN", "/output")] and '"type": "drop", "columns": ["ingestion_ts"]' in result.message
    merged = Sparquet(house.spark).run_from_dict({**plain, "output": {**out, "mode": "merge", "options": {"merge_keys": ["id"]}}})
    assert problems(merged) == [("MERGE_TARGET_COLUMN", "/output")]
    assert version(house, target) == 0
    grown = house.write([(9, "z", 1, 2.5)], SCHEMA + ", extra DOUBLE", {**out, "options": {"mergeSchema": "true"}})
    assert grown.success and house.columns("delta", target) == ["id", "name", "k", "extra"]
    other = house.write([(9, "z", "k")], "id INT, name STRING, k STRING", {**out, "mode": "overwrite", "partition_by": ["name"]})
    assert problems(other) == [("SCHEMA_MISMATCH", "/output")] and "overwriteSchema" in other.message
    anew = house.write([(9, "z")], "id INT, name STRING", {**out, "mode": "overwrite", "options": {"overwriteSchema": True}})
    assert anew.success and house.columns("delta", target) == ["id", "name"]


# --- merge ---------------------------------------------------------------------------------------------------------
def merge(target: str, *keys: str, **options: Any) -> dict[str, Any]:
    return {"format": "delta", "path": target, "mode": "merge", "options": {"merge_keys": list(keys), **options}}


def test_merge_makes_updates_and_inserts(house, either: str) -> None:
    made = house.write(ROWS, SCHEMA, {**merge(either, "id"), "partition_by": ["k"]})
    assert (made.status, made.rows_written, made.outputs[0].version) == ("success", 3, 0), made.message
    result = house.write([(3, "c", 10), (4, "d", 30)], SCHEMA, merge(either, "id"))
    output = result.outputs[0]
    assert (result.status, output.rows_written, output.version) == ("success", 2, 1), result.message
    assert output.details["rows_updated"] == output.details["rows_inserted"] == 1
    assert house.rows("delta", either) == [(1, "a", 10), (2, "b", 20), (3, "c", 10), (4, "d", 30)]
    nothing = house.write([], SCHEMA, merge(either, "id"))
    assert (nothing.status, nothing.rows_written) == ("success", 0)


def test_null_keys_match_so_running_twice_changes_nothing(house) -> None:
    rows = [(None, "x", 1), (1, None, 2)]
    for expected in (2, 2):
        assert house.write(rows, SCHEMA, merge(house.path("t"), "id", "name")).rows_written == expected
    assert len(house.rows("delta", house.path("t"))) == 2


def test_keys_with_unusual_names(house, target: str) -> None:
    schema = "`order id` INT, `a-b` STRING, `select` INT"
    house.write([(1, "a", 1)], schema, {**merge(target, "order id"), "options": {"merge_keys": "order id", "delta.columnMapping.mode": "name"}})
    result = house.write([(1, "b", 2), (2, "c", 3)], schema, merge(target, "ORDER ID", "select"))
    assert (result.status, result.rows_written) == ("success", 2), result.message
    assert len(house.rows("delta", target)) == 3


def test_repeated_keys_are_refused_before_anything_is_written(house, target: str) -> None:
    rows = [(1, "a", 1), (1, "b", 1), (None, "c", 1), (None, "d", 1), (None, "e", 1), (2, "f", 1)]
    fresh = house.write(rows, SCHEMA, merge(target, "id"))
    assert problems(fresh) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")]
    assert "5 rows" in fresh.message and "2 keys" in fresh.message and "'a'" not in fresh.message
    assert version(house, target) is None
    allowed = house.write(rows[:2], SCHEMA, merge(target, "id"), validations={"sample_rows": 1, "rules": [{"type": "row_count", "min": 1}]})
    assert "Some of them: id=1." in allowed.message, "keys are shown where sample_rows allows it"
    house.write(ROWS, SCHEMA, merge(target, "id"))
    assert problems(house.write(rows, SCHEMA, merge(target, "id"))) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")]
    assert version(house, target) == 0 and not fresh.error.retryable


def test_missing_keys_are_named(house) -> None:
    result = house.write(ROWS, SCHEMA, merge(house.path("t"), "idd", "k", "day"))
    assert problems(result) == [("COLUMN_NOT_FOUND", "/output/options/merge_keys/0"), ("COLUMN_NOT_FOUND", "/output/options/merge_keys/2")]
    assert problems(house.write(ROWS, SCHEMA, {"format": "delta", "path": house.path("t"), "mode": "merge"})) == [("MERGE_KEYS_MISSING", "/output/options")]


def test_merge_condition_evolution_and_a_part_of_the_columns(house, target: str) -> None:
    house.write(ROWS, SCHEMA, merge(target, "id"))
    house.write([(1, "new", 11), (2, "new", 21)], SCHEMA, merge(target, "id", merge_condition="T.k = 10"))
    assert [r for r in house.rows("delta", target) if r[0] in (1, 2)] == [(1, "new", 11), (2, "b", 20), (2, "new", 21)]
    part = house.write([(3, "named"), (5, "added")], "id INT, name STRING", merge(target, "id"))
    assert part.success and [r for r in house.rows("delta", target) if r[0] in (3, 5)] == [(3, "named", 10), (5, "added", None)]
    grown = house.write([(3, "x", 1, 2.5)], SCHEMA + ", extra DOUBLE", merge(target, "id", mergeSchema=True))
    assert grown.success, grown.message
    assert [r for r in house.rows("delta", target) if r[0] == 3] == [(3, "x", 1, 2.5)]


def test_merge_from_the_table_itself_and_from_rows_that_change(house) -> None:
    house.write(ROWS, SCHEMA, merge(house.path("t"), "id"))
    steps = [{"type": "with_column", "column": "k", "expression": "cast(rand() * 1000000 as int) + 100"}]
    result = house.copy({"format": "delta", "path": house.path("t")}, merge(house.path("t"), "id"), steps)
    assert (result.status, result.rows_written) == ("success", 3), result.message
    assert all(r[2] >= 100 for r in house.rows("delta", house.path("t")))
    assert not house.classic or house.spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_two_writers_at_once_are_a_conflict_that_may_be_retried(house) -> None:
    path = house.path("t")
    house.spark.range(0, 20000).selectExpr("cast(id AS INT) AS id", "'a' AS name", "1 AS k").write.format("delta").save(path)
    results: list[Any] = []

    def work(value: int) -> None:
        rows = [(i, f"w{value}", value) for i in range(50)]
        results.append(house.write(rows, SCHEMA, merge(path, "id")))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [r for r in results if r.status == "failed"]
    assert failed and [r for r in results if r.success]
    assert {problems(r)[0] for r in failed} == {("WRITE_CONFLICT", "/output/path")}
    assert all(r.error.retryable and r.reason == "infrastructure" for r in failed)
    assert house.spark.read.format("delta").load(path).where("name != 'a'").select("name").distinct().count() == 1


def test_a_merge_of_few_rows_leaves_few_files(house) -> None:
    house.write(ROWS, SCHEMA, merge(house.path("t"), "id"))
    result = house.write([(i, "x", 1) for i in range(20)], SCHEMA, merge(house.path("t"), "id"))
    assert result.outputs[0].files <= 2


def test_lint() -> None:
    from sparquet_provider.core.lint import lint

    def found(input: dict[str, Any], output: dict[str, Any]) -> list[tuple[str, str, str]]:
        tree = {"name": "p", "input": {"format": "delta", **input}, "output": {"format": "delta", "path": "a.b", **output}}
        return [(p.severity, p.code, p.at) for p in lint(tree)[1]]

    assert found({"path": "s.t", "options": {"versionAsOf": 1, "timestampasof": "2026-01-01"}}, {}) == [("error", "KEYS_EXCLUDE", "/input/options")]
    assert found({"path": "s.t", "options": {"versionAsOf": "one"}}, {}) == [("error", "WRONG_TYPE", "/input/options/versionAsOf")]
    assert found({"path": "s.t", "schema": "a INT"}, {}) == [("warning", "INVALID_COMBINATION", "/input/schema")]
    assert found({"path": ["s.t", "s.u"]}, {}) == [("error", "WRONG_TYPE", "/input/path")]
    assert found({}, {}) == [("error", "MISSING_KEY", "/input")]
    assert found({"path": "s..t"}, {"path": "a."}) == [("error", "INVALID_COMBINATION", "/input/path"), ("error", "INVALID_COMBINATION", "/output/path")]
    both = {"options": {"replaceWhere": "a = 1", "partitionOverwriteMode": "dynamic"}}
    assert found({"path": "s.t"}, both) == [("error", "KEYS_EXCLUDE", "/output/options")]
    assert found({"path": "s.t"}, {"options": {"partitionOverwriteMode": "dynamc"}}) == [("error", "WRONG_CHOICE", "/output/options/partitionOverwriteMode")]
    assert found({"path": "s.t"}, {"mode": "append", "options": {"replaceWhere": "a = 1"}}) == [("warning", "INVALID_COMBINATION", "/output/options/replaceWhere")]
    assert found({"path": "s.t"}, {"options": {"merge_keys": ["a"]}}) == [("warning", "INVALID_COMBINATION", "/output/options/merge_keys")]
    assert found({"path": "s.t"}, {"mode": "merge", "options": {"merge_keys": []}}) == [("error", "MERGE_KEYS_MISSING", "/output/options/merge_keys")]


def test_a_broken_constraint_of_the_table_is_a_fault_of_the_data_without_values(spark, tmp_path: Path) -> None:
    place = str(tmp_path / "checked")
    spark.sql("SELECT 1 AS id, 'a' AS name").write.format("delta").save(place)
    spark.sql(f"ALTER TABLE delta.`{place}` ADD CONSTRAINT positive CHECK (id > 0)")
    df = spark.sql("SELECT -4711 AS id, 'secretive' AS name")
    document = {"name": "p", "input": {"format": "view", "path": "x"}, "output": {"format": "delta", "path": place, "mode": "append"}}
    result = Sparquet(spark).run_from_dict(document, input_df=df)
    assert (result.status, result.reason, result.problems[0].code) == ("failed", "data", "VALUE_FAILED")
    assert "positive" in result.message and "4711" not in result.message and "secretive" not in result.message
    assert spark.read.format("delta").load(place).count() == 1
