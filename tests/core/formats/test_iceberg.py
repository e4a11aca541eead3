"""Iceberg: snapshots, parts that are replaced, merges, what the table's log says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet

ROWS = [(1, "a", 10), (2, "b", 20), (3, None, 10)]
SCHEMA = "id INT, name STRING, k INT"


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


@pytest.fixture
def target(table: str) -> str:
    return f"lake.db.{table}"


def snapshots(house, target: str) -> list[int]:
    return [int(r["snapshot_id"]) for r in house.spark.sql(f"SELECT snapshot_id FROM {target}.snapshots ORDER BY committed_at").collect()]


def test_modes_counts_and_snapshots(house, target: str) -> None:
    out = {"format": "iceberg", "path": target}
    first = house.write(ROWS, SCHEMA, {**out, "mode": "error", "partition_by": ["bucket(4, id)", "k"]})
    assert (first.status, first.rows_written) == ("success", 3), first.message
    assert first.outputs[0].files and first.outputs[0].bytes and first.outputs[0].version == snapshots(house, target)[0]
    assert problems(house.write(ROWS, SCHEMA, {**out, "mode": "error"})) == [("TARGET_EXISTS", "/output/path")]
    kept = house.write(ROWS, SCHEMA, {**out, "mode": "ignore"})
    assert (kept.rows_written, kept.outputs[0].status) == (0, "kept")
    assert house.write(ROWS[:1], SCHEMA, {**out, "mode": "append"}).rows_written == 1
    replaced = house.write(ROWS[:2], SCHEMA, out)
    assert (replaced.rows_written, replaced.outputs[0].version) == (2, snapshots(house, target)[-1])
    assert house.rows("iceberg", target) == [(1, "a", 10), (2, "b", 20)]
    old = snapshots(house, target)[0]
    house.spark.sql(f"ALTER TABLE {target} CREATE TAG first AS OF VERSION {old}")
    for options in ({"snapshot-id": old}, {"versionAsOf": str(old)}, {"tag": "first"}, {"VERSIONASOF": "first"}):
        assert len(house.rows("iceberg", target, **options)) == 3
    assert len(house.rows("iceberg", target, branch="main")) == 2
    missing = house.copy({"format": "iceberg", "path": target, "options": {"snapshot-id": 5}}, {"format": "parquet", "path": house.path("out")})
    assert problems(missing) == [("SOURCE_VERSION_NOT_FOUND", "/input/options")]


def test_a_location_can_be_read_and_not_written(house, target: str, warehouse: Path) -> None:
    house.write(ROWS, SCHEMA, {"format": "iceberg", "path": target})
    place = f"{warehouse}/lake/db/{target.split('.')[-1]}"
    assert house.rows("iceberg", place) == sorted(ROWS, key=str)
    assert problems(house.write(ROWS, SCHEMA, {"format": "iceberg", "path": place})) == [("CATALOG_NEEDED", "/output/path")]
    out = {"format": "parquet", "path": house.path("out")}
    assert problems(house.copy({"format": "iceberg", "path": place + "x"}, out)) == [("SOURCE_NOT_FOUND", "/input/path")]
    assert problems(house.copy({"format": "iceberg", "path": target + "x"}, out)) == [("SOURCE_NOT_FOUND", "/input/path")]
    assert problems(house.write(ROWS, SCHEMA, {"format": "iceberg", "path": "nowhere.db.t"})) == [("CATALOG_NEEDED", "/output/path")]
    if house.classic:
        assert problems(house.copy({"format": "iceberg", "path": target}, {"format": "parquet", "path": place})) == [("SOURCE_OVERWRITTEN", "/output/path")]


def test_one_snapshot_for_every_destination(house, target: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "iceberg", "path": target})
    document = {
        "name": "p", "input": {"format": "iceberg", "path": target}, "transformations": [{"type": "drop", "columns": ["ingestion_ts"]}],
        "outputs": [{"format": "iceberg", "path": target, "mode": "append"}, {"format": "parquet", "path": house.path("copy")}],
    }
    result = Sparquet(house.spark).run_from_dict(document)
    assert (result.status, [o.rows_written for o in result.outputs]) == ("success", [3, 3]), result.message
    assert result.rows_read == (3 if house.classic else None)
    assert house.rows("parquet", house.path("copy")) == sorted(ROWS, key=str) and len(house.rows("iceberg", target)) == 6


def test_a_column_added_after_the_last_snapshot_is_read(house, target: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "iceberg", "path": target})
    house.spark.sql(f"ALTER TABLE {target} ADD COLUMNS (extra INT)")
    assert house.columns("iceberg", target) == ["id", "name", "k", "extra"]


def test_replacing_a_part_twice_leaves_the_same_data(house, target: str) -> None:
    out = {"format": "iceberg", "path": target, "partition_by": ["k"]}
    house.write(ROWS, SCHEMA, out)
    where = {"format": "iceberg", "path": target, "options": {"replaceWhere": "k = 10"}}
    dynamic = {"format": "iceberg", "path": target, "options": {"partitionOverwriteMode": "dynamic"}}
    for part in (where, dynamic):
        for _ in range(2):
            assert house.write([(7, "new", 10)], SCHEMA, part).rows_written == 1
            assert house.rows("iceberg", target) == [(2, "b", 20), (7, "new", 10)]
    assert problems(house.write([(8, "x", 30)], SCHEMA, where)) == [("INVALID_COMBINATION", "/output/options/replaceWhere")]
    assert house.rows("iceberg", target) == [(2, "b", 20), (7, "new", 10)]


def test_dynamic_overwrite_of_a_table_without_partitions_is_refused(house, target: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "iceberg", "path": target})
    result = house.write(ROWS[:1], SCHEMA, {"format": "iceberg", "path": target, "options": {"partitionOverwriteMode": "dynamic"}})
    assert problems(result) == [("INVALID_COMBINATION", "/output/options/partitionOverwriteMode")]


def test_schemas(house, target: str) -> None:
    out = {"format": "iceberg", "path": target, "mode": "append"}
    assert house.write([], SCHEMA, {**out, "partition_by": ["k"]}).rows_written == 0
    assert house.columns("iceberg", target) == ["id", "name", "k"]
    wide, row = SCHEMA + ", extra STRUCT<x: INT, `odd name`: STRING>", [(9, "z", 1, (1, "s"))]
    assert problems(house.write(row, wide, out)) == [("MERGE_TARGET_COLUMN", "/output")]
    assert house.write(row, wide, {**out, "options": {"mergeSchema": True}}).rows_written == 1
    assert house.columns("iceberg", target) == ["id", "name", "k", "extra"]
    assert problems(house.write([(1, [1])], "id INT, k ARRAY<INT>", out)) == [("SCHEMA_MISMATCH", "/output")]
    anew = house.write([(9, "z")], "id INT, name STRING", {**out, "mode": "overwrite", "options": {"overwriteSchema": "true"}, "partition_by": ["name"]})
    assert (anew.status, anew.rows_written) == ("success", 1), anew.message
    assert house.columns("iceberg", target) == ["id", "name"]
    missing = house.write(ROWS, SCHEMA, {**out, "path": target + "2", "partition_by": ["days(ts)"]})
    assert problems(missing) == [("COLUMN_NOT_FOUND", "/output/partition_by/0")]


# --- merge ---------------------------------------------------------------------------------------------------------
def merge(target: str, *keys: str, **options: Any) -> dict[str, Any]:
    return {"format": "iceberg", "path": target, "mode": "merge", "options": {"merge_keys": list(keys), **options}}


def test_merge(house, target: str) -> None:
    made = house.write(ROWS, SCHEMA, {**merge(target, "id"), "partition_by": ["k"]})
    assert (made.status, made.rows_written) == ("success", 3), made.message
    result = house.write([(3, "c", 10), (4, "d", 30), (None, "n", 1)], SCHEMA, merge(target, "id"))
    output = result.outputs[0]
    assert (result.status, output.rows_written, output.version) == ("success", 3, snapshots(house, target)[-1]), result.message
    assert (output.details["rows_updated"], output.details["rows_inserted"]) == (1, 2)
    again = house.write([(None, "n", 1)], SCHEMA, merge(target, "id"))
    assert again.rows_written == 1 and again.outputs[0].details["rows_inserted"] == 0
    assert len(house.rows("iceberg", target)) == 5
    assert house.write([], SCHEMA, merge(target, "id")).rows_written == 0
    repeated = house.write([(1, "a", 1), (1, "b", 1)], SCHEMA, merge(target, "id"))
    assert problems(repeated) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")]
    part = house.write([(3, "named"), (5, "added")], "id INT, name STRING", merge(target, "id", merge_condition="T.k < 100"))
    assert part.success and [r for r in house.rows("iceberg", target) if r[0] in (3, 5)] == [(3, "named", 10), (5, "added", None)]
    lacking = house.write([(3, "x", 1, 2.5)], SCHEMA + ", `extra col` DOUBLE", merge(target, "id"))
    assert problems(lacking) == [("MERGE_TARGET_COLUMN", "/output")]
    grown = house.write([(3, "x", 1, 2.5)], SCHEMA + ", `extra col` DOUBLE", merge(target, "id", mergeSchema="true"))
    assert grown.success and [r for r in house.rows("iceberg", target) if r[0] == 3] == [(3, "x", 1, 2.5)]


def test_lint() -> None:
    from sparquet_provider.core.lint import lint

    def found(input: dict[str, Any], output: dict[str, Any]) -> list[tuple[str, str]]:
        tree = {"name": "p", "input": {"format": "iceberg", "path": "lake.db.t", **input}, "output": {"format": "iceberg", "path": "lake.db.t", **output}}
        return [(p.code, p.at) for p in lint(tree)[1]]

    assert found({}, {}) == []
    assert found({"options": {"branch": "a", "tag": "b"}}, {}) == [("KEYS_EXCLUDE", "/input/options")]
    assert found({}, {"path": "/data/t"}) == [("CATALOG_NEEDED", "/output/path")]
