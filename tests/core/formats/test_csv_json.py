"""CSV and JSON: quoting, encodings, rows that do not fit, files without rows."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

PLAIN = {"format": "csv"}


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


def malformed(result: Any) -> list[Any]:
    return [p.facts["count"] for p in result.warnings if p.code == "ROWS_MALFORMED"]


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        ('id,name\n1,"say ""hi"", ok"\n2,"a, b"\n', {}, [(1, 'say "hi", ok'), (2, "a, b")]),
        ('id,name\n1,"two\nlines"\n2,c\n', {"multiLine": True}, [(1, "two\nlines"), (2, "c")]),
        ("\ufeffid,name\n1,é\n".encode(), {}, [(1, "é")]),
        ("\ufeffid,name\n1,é\n".encode(), {"multiLine": "true"}, [(1, "é")]),
        ("id;name\n1;João\n".encode("latin-1"), {"encoding": "ISO-8859-1", "sep": ";"}, [(1, "João")]),
        ("id,name\n1, blank \n2,\"\"\n3,\n", {}, [(1, " blank "), (2, None), (3, None)]),
        ("1,x\n2,y\n", {"header": False, "inferSchema": False}, [("1", "x"), ("2", "y")]),
        ("id,name\r\n1,x\r\n", {}, [(1, "x")]),
    ],
    ids=["quotes", "line breaks", "byte order mark", "byte order mark, multiLine", "latin-1", "blanks and nulls", "no header", "windows line ends"],
)
def test_reading(house, content: str | bytes, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    assert house.rows("csv", house.text("a.csv", content), **options) == sorted(rows, key=str)


def test_other_programs_read_what_is_written(house) -> None:
    values = [(1, 'say "hi", ok'), (2, " blanks kept "), (3, "é\\n"), (4, "two\nlines")]
    house.write(values, "id INT, name STRING", {"format": "csv", "path": house.path("out")})
    found = []
    for part in Path(house.path("out")).glob("part-*"):
        with part.open(encoding="utf-8", newline="") as file:
            found += [(int(r["id"]), r["name"]) for r in csv.DictReader(file)]
    assert sorted(found) == values
    assert house.rows("csv", house.path("out"), multiLine=True) == values


def test_a_header_only_and_an_empty_file(house) -> None:
    result = house.copy({"format": "csv", "path": house.text("a.csv", "id,name\n")}, {"format": "parquet", "path": house.path("out")})
    assert (result.status, result.rows_written or 0, result.rows_read or 0) == ("success", 0, 0) and house.columns("parquet", house.path("out")) == ["id", "name"]
    result = house.copy({"format": "csv", "path": house.text("b.csv", "")}, {"format": "parquet", "path": house.path("out")})
    assert problems(result) == [("SOURCE_EMPTY", "/input/path")]
    result = house.copy({"format": "csv", "path": house.path("b.csv"), "schema": "id INT"}, {"format": "parquet", "path": house.path("out")})
    assert result.status == "success" and house.columns("parquet", house.path("out")) == ["id"]


RAGGED = "id,a,b\n1,x,y\n2,x\n3,x,y,z\n4,p,q\nfive,r,s\n"


@pytest.mark.parametrize(("schema", "count"), [(None, 2), ("id INT, a STRING, b STRING", 3)])
@pytest.mark.parametrize("steps", [[], [{"type": "select", "columns": ["id"]}], [{"type": "filter", "condition": "b = 'q'"}, {"type": "select", "columns": ["b"]}]])
def test_rows_that_do_not_fit_are_counted_whatever_columns_are_used(house, schema: str | None, count: int, steps: list[dict[str, Any]]) -> None:
    source = {"format": "csv", "path": house.text("a.csv", RAGGED), **({"schema": schema} if schema else {})}
    rules = {"on_failure": "warn", "rules": [{"type": "row_count", "min": 1}]}
    result = house.copy(source, {"format": "parquet", "path": house.path("out")}, steps, validations=rules)
    assert result.status == "success" and malformed(result) == [count]
    written = 5 if not steps or "columns" in steps[0] else 1
    assert result.rows_written == written and result.validation_results[0].metric_value == written


def test_a_look_at_one_row_does_not_spoil_the_count(house) -> None:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    from sparquet_provider.core.engine import Engine, observed

    engine, observation = Engine(house.spark), Observation()
    df = house.spark.range(10).observe(observation, F.count(F.lit(1)).alias("n")).where("id > 2").join(house.spark.range(5), "id")
    assert not engine.unobserved(df).isEmpty() and engine.unobserved(df).columns == ["id"]
    assert engine.connect or observed(observation, engine) is None
    assert df.count() == 2 and observed(observation, engine) == {"n": 10}
    plain = house.spark.range(3)
    assert engine.unobserved(plain) is plain


def test_modes_of_spark_decide_instead(house) -> None:
    source = {"format": "csv", "path": house.text("a.csv", RAGGED)}
    out = {"format": "parquet", "path": house.path("out")}
    dropped = house.copy({**source, "options": {"mode": "DROPMALFORMED"}}, out, validations={"rules": [{"type": "row_count", "min": 1}]})
    assert dropped.rows_written == dropped.validation_results[0].metric_value == 3 and not malformed(dropped)
    refused = house.copy({**source, "options": {"mode": "failfast"}}, {**out, "path": house.path("none")})
    assert refused.status == "failed" and not (house.classic and Path(house.path("none")).exists())


def test_a_column_for_bad_rows_of_your_own(house) -> None:
    source = {"format": "csv", "path": house.text("a.csv", RAGGED), "schema": "id INT, a STRING, b STRING, _corrupt_record STRING"}
    result = house.copy(source, {"format": "json", "path": house.path("out")})
    assert result.rows_written == 5 and not malformed(result)


def test_partitions_of_folders_keep_their_types(house) -> None:
    house.text("in/day=2026-01-02/a.csv", "id\n1\n")
    result = house.copy({"format": "csv", "path": house.path("in")}, {"format": "parquet", "path": house.path("out")})
    assert result.rows_written == 1
    assert house.spark.read.parquet(house.path("out")).schema.simpleString() == "struct<id:int,day:date>"


# --- json ----------------------------------------------------------------------------------------------------------
def test_json_lines_that_are_none(house) -> None:
    path = house.text("a.json", '{"id": 1, "a": "x"}\nnot json\n{"id": 2}\n')
    for schema in ({}, {"schema": "id INT, a STRING"}):
        result = house.copy({"format": "json", "path": path, **schema}, {"format": "parquet", "path": house.path("out")})
        assert (result.status, result.rows_written, malformed(result)) == ("success", 3, [1])
        assert set(house.columns("parquet", house.path("out"))) == {"id", "a"}
    pretty = house.copy({"format": "json", "path": house.text("b.json", '{\n"id":\n1\n}\n')}, {"format": "parquet", "path": house.path("out")})
    assert problems(pretty) == [("SOURCE_NOT_READABLE", "/input/path")] and "multiLine" in pretty.message
    assert house.rows("json", house.path("b.json"), multiLine=True) == [(1,)]
    assert problems(house.copy({"format": "json", "path": house.text("c.json", "")}, {"format": "parquet", "path": house.path("out")})) == [("SOURCE_EMPTY", "/input/path")]
