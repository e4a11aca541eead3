"""Avro, XML and binary files: what is written is read back, and what does not fit is said."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.lint import lint

from .conftest import codes, warned

SCHEMA = "id INT, name STRING, price DECIMAL(10,2), day DATE, at TIMESTAMP, tags ARRAY<STRING>, inner STRUCT<x: INT, y: STRING>"
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5)
ROWS = [
    (1, "é <&> \"x\"", Decimal("10.25"), dt.date(2026, 1, 2), MOMENT, ["a", "b"], (1, "z")),
    (2, None, None, None, None, None, None),
]


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(tuple(v) if hasattr(v, "asDict") or isinstance(v, list) else v for v in row) for row in rows]


# --- avro ----------------------------------------------------------------------------------------------------------
def test_avro_round_trip_with_counts(house) -> None:
    result = house.write(ROWS, SCHEMA, {"format": "avro", "path": house.path("out")})
    assert (result.success, result.rows_written) == (True, 2), result.message
    assert plain(house.rows("avro", house.path("out"))) == plain(ROWS)
    copied = house.copy({"format": "avro", "path": house.path("out")}, {"format": "parquet", "path": house.path("copy")})
    assert (copied.rows_read if house.classic else 2, copied.rows_written) == (2, 2)


def test_avro_modes_and_partitions(house) -> None:
    out = {"format": "avro", "path": house.path("out"), "partition_by": ["id"]}
    house.write([(1, "a"), (2, "b")], "id INT, name STRING", out)
    house.write([(2, "B")], "id INT, name STRING", {**out, "options": {"partitionOverwriteMode": "dynamic"}})
    assert house.rows("avro", out["path"]) == [("B", 2), ("a", 1)]
    assert codes(house.write([(3, "c")], "id INT, name STRING", {**out, "mode": "error"})) == ["TARGET_EXISTS"] or not house.classic


def test_a_schema_reads_some_columns_of_avro(house) -> None:
    house.write([(1, "a")], "id INT, name STRING", {"format": "avro", "path": house.path("out")})
    result = house.copy({"format": "avro", "path": house.path("out"), "schema": "name STRING"}, {"format": "view", "path": "avro_names"})
    assert [tuple(r) for r in house.spark.table("avro_names").collect()] == [("a",)] and result.success


def test_what_avro_cannot_hold(house) -> None:
    out = {"format": "avro", "path": house.path("out")}
    assert codes(house.write([(1, None)], "id INT, nothing VOID", out)) == ["TYPE_NOT_STORABLE"]
    result = house.write([(1,)], "`order id` INT", out)
    assert result.status == "failed" and not Path(out["path"]).exists()


# --- xml -----------------------------------------------------------------------------------------------------------
ORDERS = '<?xml version="1.0"?><orders><order id="1"><name>a</name><item>x</item><item>y</item></order><order id="2"><name>b</name></order></orders>'


def test_xml_elements_attributes_and_repeats(house) -> None:
    rows = house.rows("xml", house.text("o.xml", ORDERS), rowTag="order")
    assert plain(rows) == [(1, ("x", "y"), "a"), (2, None, "b")]


def test_xml_round_trip(house) -> None:
    flat = [row[:5] for row in ROWS]
    options = {"rowTag": "row"}
    schema = "id INT, name STRING, price DECIMAL(10,2), day DATE, at TIMESTAMP"
    result = house.write(flat, schema, {"format": "xml", "path": house.path("out"), "options": options})
    assert (result.success, result.rows_written) == (True, 2), result.message
    document = {"name": "x", "input": {"format": "xml", "path": house.path("out"), "schema": schema, "options": options}, "output": {"format": "view", "path": "xmls"}}
    assert Sparquet(house.spark).run_from_dict(document).success
    assert sorted(tuple(r)[:5] for r in house.spark.table("xmls").collect()) == sorted(flat)


@pytest.mark.parametrize("schema", [None, "id INT, name STRING"])
def test_xml_that_does_not_fit_is_counted(house, schema: str | None) -> None:
    text = "<rows><row><id>1</id><name>a</name></row><row><id>no number</id><name>b</name></row></rows>"
    bad = text if schema else "<rows><row><id>1</id><name>a</name></row><row><id>2</id><name>b</row></rows>"
    source = {"format": "xml", "path": house.text("a.xml", bad), "options": {"rowTag": "row"}, **({"schema": schema} if schema else {})}
    result = house.copy(source, {"format": "parquet", "path": house.path("out")})
    assert result.success and "ROWS_MALFORMED" in warned(result), result.warnings


def test_xml_without_such_an_element(house) -> None:
    result = house.copy({"format": "xml", "path": house.text("o.xml", ORDERS), "options": {"rowTag": "ordr"}}, {"format": "parquet", "path": house.path("out")})
    assert [(p.code, p.at) for p in result.problems] == [("SOURCE_NOT_READABLE", "/input/options/rowTag")]


def test_xml_needs_the_name_of_its_rows() -> None:
    _, problems = lint({"name": "x", "input": {"format": "xml", "path": "a.xml"}, "output": {"format": "xml", "path": "b"}})
    assert [(p.code, p.at) for p in problems] == [("MISSING_KEY", "/input/options")]


# --- binary --------------------------------------------------------------------------------------------------------
def test_binary_files(house) -> None:
    for name, content in (("a.bin", b"\x00\xff\x01"), ("b.bin", b""), ("c.txt", b"no")):
        house.text(f"files/{name}", content) if not Path(house.path("files")).mkdir(exist_ok=True) else None
    source = {"format": "binary", "path": house.path("files"), "options": {"pathGlobFilter": "*.bin"}}
    steps = [{"type": "select", "columns": ["content", "length"]}]
    result = house.copy(source, {"format": "parquet", "path": house.path("out")}, steps)
    assert (result.rows_written, result.rows_read if house.classic else 1) == (1, 1), result.message
    found = [(bytes(r[0]), r[1]) for r in house.spark.read.parquet(house.path("out")).collect()]
    assert found == [(b"\x00\xff\x01", 3)]


def test_binary_can_only_be_read() -> None:
    _, problems = lint({"name": "x", "input": {"format": "binary", "path": "a"}, "output": {"format": "binary", "path": "b"}})
    assert [(p.code, p.at) for p in problems] == [("FORMAT_NOT_WRITABLE", "/output/format")]
    _, problems = lint({"name": "x", "input": {"format": "avro", "path": "/a"}, "output": {"format": "xml", "path": "/a"}})
    assert [p.code for p in problems] == ["SOURCE_OVERWRITTEN"]
