"""Files: reading what is there and what is not, writing whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet

ROWS = [(1, "a", 10), (2, "b", 20), (3, None, 10)]
SCHEMA = "id INT, name STRING, k INT"
BREAKS = "IF(id = 3, raise_error('broken'), id)"


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv"])
def test_what_is_written_is_read_back_and_counted(house, format: str) -> None:
    result = house.write(ROWS, SCHEMA, {"format": format, "path": house.path("out")})
    assert (result.status, result.rows_written, result.outputs[0].rows_written) == ("success", 3, 3), result.message
    if house.classic:
        assert result.outputs[0].files and result.outputs[0].bytes
    found = house.rows(format, house.path("out"))
    # As sets: json puts the columns in the order of their names.
    assert len(found) == 3 and set(map(frozenset, found)) == set(map(frozenset, ROWS))


def test_rows_read_is_what_the_scan_gave(house) -> None:
    house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("in"), "partition_by": ["k"]})
    source = {"format": "parquet", "path": house.path("in")}
    result = house.copy(source, {"format": "parquet", "path": house.path("out")}, [{"type": "filter", "condition": "k = 10"}])
    assert result.rows_written == 2
    assert result.rows_read == (2 if house.classic else None)
    if house.classic:
        globbed = house.copy({**source, "path": house.path("i*")}, {"format": "parquet", "path": house.path("out2")}, [{"type": "stop_if_empty"}])
        assert globbed.rows_read == 3


@pytest.mark.classic_only("Connect does not tell what a scan returned")
@pytest.mark.parametrize("format", ["parquet", "csv", "delta"])
def test_rows_are_counted_of_a_relative_path_too(house, format: str) -> None:
    house.write(ROWS, SCHEMA, {"format": format, "path": house.path("in")})
    path = os.path.relpath(house.path("in"), house.spark._jvm.System.getProperty("user.dir"))
    result = house.copy({"format": format, "path": path}, {"format": "parquet", "path": house.path("out")})
    assert (result.rows_read, result.rows_written) == (3, 3), result.message


@pytest.mark.classic_only("Connect does not tell what a scan returned")
def test_rows_are_counted_of_a_relative_path_with_a_colon(house) -> None:
    house.write(ROWS, SCHEMA, {"format": "csv", "path": house.path("col:on")})
    path = os.path.relpath(house.path("col:on"), house.spark._jvm.System.getProperty("user.dir"))
    assert house.copy({"format": "csv", "path": f"./{path}"}, {"format": "parquet", "path": house.path("out")}).rows_read == 3


@pytest.mark.parametrize("path", ["file:in.csv", "col:on"])
def test_a_path_that_hadoop_takes_for_an_address_is_named(house, path: str) -> None:
    result = house.copy({"format": "csv", "path": path}, {"format": "parquet", "path": house.path("out")})
    assert (problems(result), result.reason) == ([("PATH_INVALID", "/input/path")], "document") and f"path {path} " in result.message


def test_a_folder_below_a_file_is_no_target(house) -> None:
    Path(house.path("file")).write_text("")
    for place in ("file", "file/part"):
        result = house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path(place), "mode": "append"})
        assert (problems(result), result.reason) == ([("PATH_INVALID", "/output/path")], "document"), result.message


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv", "txt"])
def test_a_missing_path_is_named(house, format: str) -> None:
    result = house.copy({"format": format, "path": house.path("none")}, {"format": "parquet", "path": house.path("out")})
    assert problems(result) == [("SOURCE_NOT_FOUND", "/input/path")] and house.path("none") in result.message
    assert result.reason == "data" and not Path(house.path("out")).exists()


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv"])
def test_an_empty_folder_has_no_columns_unless_a_schema_gives_them(house, format: str) -> None:
    os.mkdir(house.path("in"))
    result = house.copy({"format": format, "path": house.path("in")}, {"format": "parquet", "path": house.path("out")})
    assert problems(result) == [("SOURCE_EMPTY", "/input/path")]
    result = house.copy({"format": format, "path": house.path("in"), "schema": "a INT"}, {"format": "parquet", "path": house.path("out")})
    assert (result.status, result.rows_written) == ("success", 0) and house.columns("parquet", house.path("out")) == ["a"]


def test_a_list_of_paths_and_a_glob(house) -> None:
    for i in (1, 2, 3):
        house.text(f"in/{i}.csv", f"id\n{i}\n")
    listed = house.copy({"format": "csv", "path": [house.path("in/1.csv"), house.path("in/3.csv")]}, {"format": "parquet", "path": house.path("out")})
    assert listed.rows_written == 2
    globbed = house.copy({"format": "csv", "path": house.path("in/[12].csv")}, {"format": "parquet", "path": house.path("out")})
    assert globbed.rows_written == 2 and [r[0] for r in house.rows("parquet", house.path("out"))] == [1, 2]


def test_a_file_of_another_format(house) -> None:
    house.text("in/a.parquet", "this is no parquet file at all")
    result = house.copy({"format": "parquet", "path": house.path("in")}, {"format": "parquet", "path": house.path("out")})
    assert problems(result) == [("SOURCE_NOT_READABLE", "/input/path")]


def test_a_schema_that_is_no_ddl(house) -> None:
    house.text("a.csv", "id\n1\n")
    result = house.copy({"format": "csv", "path": house.path("a.csv"), "schema": "id in(t"}, {"format": "parquet", "path": house.path("out")})
    assert [p.at for p in result.problems] == ["/input/schema"]


# --- modes ---------------------------------------------------------------------------------------------------------
def test_the_four_modes(house) -> None:
    out = {"format": "parquet", "path": house.path("out")}
    assert house.write(ROWS, SCHEMA, {**out, "mode": "ERROR"}).rows_written == 3
    again = house.write(ROWS, SCHEMA, {**out, "mode": "error"})
    assert problems(again) == [("TARGET_EXISTS", "/output/path")]
    ignored = house.write(ROWS[:1], SCHEMA, {**out, "mode": "ignore"})
    assert (ignored.status, ignored.rows_written, ignored.outputs[0].status) == ("success", 0, "kept")
    assert house.write(ROWS[:1], SCHEMA, {**out, "mode": "Append"}).rows_written == 1
    assert len(house.rows("parquet", out["path"])) == 4
    assert house.write(ROWS[:2], SCHEMA, {**out, "mode": "overwrite"}).rows_written == 2
    assert house.rows("parquet", out["path"]) == [(1, "a", 10), (2, "b", 20)]
    assert os.listdir(house.folder) == ["out"]


@pytest.mark.parametrize("mode", ["overwrite", "append", "error", "ignore"])
def test_a_write_that_fails_leaves_what_was_there(house, request: pytest.FixtureRequest, mode: str) -> None:
    if not house.classic and mode != "append":
        pytest.skip("a Connect session can't reach file systems: Spark's own overwrite")
    out = {"format": "parquet", "path": house.path("out"), "mode": mode}
    if mode in ("overwrite", "append"):
        house.write(ROWS, SCHEMA, {**out, "mode": "overwrite"})
    steps = [{"type": "with_column", "column": "name", "expression": BREAKS}]
    result = house.write(ROWS, SCHEMA, out, transformations=steps)
    assert result.status == "failed" and result.outputs[0].status == "failed"
    if mode in ("overwrite", "append"):
        assert house.rows("parquet", out["path"]) == sorted(ROWS, key=str)
        assert os.listdir(house.folder) == ["out"]
    else:
        assert os.listdir(house.folder) == []


def test_a_failed_overwrite_of_nothing_leaves_nothing(house) -> None:
    if not house.classic:
        pytest.skip("a Connect session can't reach file systems: Spark's own overwrite")
    result = house.write(ROWS, SCHEMA, {"format": "csv", "path": house.path("out")}, transformations=[{"type": "with_column", "column": "name", "expression": BREAKS}])
    assert result.status == "failed" and os.listdir(house.folder) == []


def test_a_link_is_followed_and_not_replaced(house) -> None:
    house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("real")})
    os.symlink(house.path("real"), house.path("link"))
    assert house.write(ROWS[:1], SCHEMA, {"format": "parquet", "path": house.path("link")}).success
    assert house.rows("parquet", house.path("link")) == [(1, "a", 10)]


# --- partitions ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json"])
def test_dynamic_overwrite_leaves_the_other_partitions_and_runs_twice(house, format: str) -> None:
    out = {"format": format, "path": house.path("out"), "partition_by": ["k"]}
    house.write(ROWS, SCHEMA, out)
    part = {**out, "options": {"partitionOverwriteMode": "dynamic"}}
    before = house.spark.conf.get("spark.sql.sources.partitionOverwriteMode")
    for _ in range(2):
        assert house.write([(7, "new", 10)], SCHEMA, part).rows_written == 1
        assert sorted(r[-1] for r in house.rows(format, out["path"])) == [10, 20]
    assert house.spark.conf.get("spark.sql.sources.partitionOverwriteMode") == before


def test_dynamic_overwrite_needs_partitions(house) -> None:
    out = {"format": "parquet", "path": house.path("out"), "options": {"partitionoverwritemode": "DYNAMIC"}}
    assert problems(house.write(ROWS, SCHEMA, out)) == [("INVALID_COMBINATION", "/output/options/partitionOverwriteMode")]


@pytest.mark.parametrize("format", ["parquet", "orc", "csv"])
@pytest.mark.parametrize("removed", ["1 = 0", "k > 1000"])
def test_an_empty_partitioned_frame_can_be_read_back(house, format: str, removed: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("in")})
    out = {"format": format, "path": house.path("out"), "partition_by": ["k"]}
    steps = [{"type": "filter", "condition": removed}]
    result = house.copy({"format": "parquet", "path": house.path("in")}, out, steps)
    assert (result.status, result.rows_written or 0) == ("success", 0), result.message
    assert house.columns(format, out["path"]) == ["id", "name", "k"] and house.rows(format, out["path"]) == []
    if format != "csv":
        assert house.spark.read.format(format).load(out["path"]).schema.simpleString() == "struct<id:int,name:string,k:int>"
    # What comes later is not disturbed.
    assert house.write(ROWS, SCHEMA, {**out, "mode": "append"}).rows_written == 3
    later = house.copy({"format": format, "path": out["path"]}, {"format": "parquet", "path": house.path("last")})
    assert later.rows_written == 3 and not [w for w in later.warnings if w.code == "ROWS_MALFORMED"]
    assert house.columns(format, out["path"]) == ["id", "name", "k"]
    assert sorted(r[2] for r in house.rows("parquet", house.path("last"))) == [10, 10, 20]


def test_an_empty_frame_writes_its_schema(house) -> None:
    for format in ("parquet", "orc", "csv"):
        result = house.write([], SCHEMA, {"format": format, "path": house.path(format)})
        assert (result.status, result.rows_written or 0) == ("success", 0)
        assert house.columns(format, house.path(format)) == ["id", "name", "k"]


def test_an_empty_append_adds_no_schema_file(house) -> None:
    out = {"format": "parquet", "path": house.path("out"), "partition_by": ["k"]}
    house.write(ROWS, SCHEMA, out)
    house.write([], SCHEMA, {**out, "mode": "append"})
    assert [n for n in os.listdir(out["path"]) if n.endswith(".parquet")] == []


def test_columns_of_partition_by_that_are_missing(house) -> None:
    result = house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("out"), "partition_by": ["kk", "id", "day"]})
    assert problems(result) == [("COLUMN_NOT_FOUND", "/output/partition_by/0"), ("COLUMN_NOT_FOUND", "/output/partition_by/2")]
    result = house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("out"), "partition_by": ["k", "id", "name"]})
    assert problems(result) == [("INVALID_COMBINATION", "/output/partition_by")]


# --- types ---------------------------------------------------------------------------------------------------------
def test_types_that_a_format_cannot_hold_are_found_before_anything_is_removed(house) -> None:
    out = {"format": "csv", "path": house.path("out")}
    house.write(ROWS, SCHEMA, out)
    result = house.write([(1, [1], {"a": 1})], "id INT, list ARRAY<INT>, m MAP<STRING, INT>", out)
    assert problems(result) == [("TYPE_NOT_STORABLE", "/output"), ("TYPE_NOT_STORABLE", "/output")]
    assert "'list' is array<int>, which csv cannot hold" in result.message
    assert len(house.rows("csv", out["path"])) == 3


def test_text_has_one_column(house) -> None:
    out = {"format": "txt", "path": house.path("out")}
    assert problems(house.write(ROWS, SCHEMA, out)) == [("TYPE_NOT_STORABLE", "/output"), ("TYPE_NOT_STORABLE", "/output")]
    assert problems(house.write([("a", "b")], "a STRING, b STRING", out)) == [("INVALID_COMBINATION", "/output")]
    assert house.write([("a",), ("b",)], "line STRING", out).rows_written == 2
    assert house.rows("txt", out["path"]) == [("a",), ("b",)] and house.columns("text", out["path"]) == ["value"]


def test_replace_where_is_refused_for_files(house) -> None:
    out = {"format": "parquet", "path": house.path("out"), "options": {"replaceWhere": "k = 10"}}
    assert problems(house.write(ROWS, SCHEMA, out)) == [("INVALID_COMBINATION", "/output/options/replaceWhere")]


# --- views ---------------------------------------------------------------------------------------------------------
def test_views(house) -> None:
    assert house.write(ROWS, SCHEMA, {"format": "view", "path": "first_view"}).status == "success"
    assert len(house.rows("view", "first_view")) == 3
    result = house.write(ROWS[:1], SCHEMA, {"format": "view", "path": "everywhere", "options": {"scope": "global"}})
    assert result.rows_written is None and "view" in result.unknown["rows_written"]
    source = {"format": "view", "path": "everywhere", "scope": "global"}
    read = house.copy(source, {"format": "parquet", "path": house.path("out")})
    assert read.rows_written == 1 and "rows_read" in read.unknown
    missing = house.copy({"format": "view", "path": "no_such_view"}, {"format": "parquet", "path": house.path("out")})
    assert problems(missing) == [("SOURCE_NOT_FOUND", "/input/path")]


def test_views_can_only_be_replaced(spark) -> None:
    document = {"name": "p", "input": {"format": "view", "path": "v"}, "output": {"format": "view", "path": "w.x", "mode": "append"}}
    result = Sparquet(spark).run_from_dict(document)
    assert sorted(problems(result)) == [("INVALID_COMBINATION", "/output/path"), ("MODE_NOT_SUPPORTED", "/output/mode")]
