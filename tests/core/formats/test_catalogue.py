"""Schemas that are made for a target table, and comments that are written on request."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core import ingest

NOTES = {"description": "it's the orders", "columns": {"id": {"description": "the order's number"}, "Größe": {"description": "size"}}}


def comments(spark: Any, table: str) -> dict[str, str | None]:
    return {row["col_name"]: row["comment"] for row in spark.sql(f"DESCRIBE TABLE {table}").collect()}


@pytest.mark.parametrize(("kind", "catalog"), [("delta", None), ("iceberg", "lake")])
def test_a_new_table_gets_its_schema_and_its_comments(spark: Any, kind: str, catalog: str | None) -> None:
    layer, name = "silver", f"notes_{kind}"
    df = spark.createDataFrame([(1, "a")], "id int, `Größe` string")
    table = ".".join(part for part in (catalog, layer, name) if part)
    options = {"comments": True}
    result = ingest(source=df, target_table=name, catalog=catalog, layer=layer, format=kind, mode="overwrite", options=options, annotations=NOTES, run_id="r1")
    assert result.status == "success", result.error
    found = comments(spark, table)
    assert (found["id"], found["Größe"], found["__run_id"]) == ("the order's number", "size", None)
    extended = {row["col_name"]: row["data_type"] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    assert extended["Comment"] == "it's the orders"
    assert [(r.id, r["Größe"], r["__run_id"]) for r in spark.table(table).collect()] == [(1, "a", "r1")]


def test_a_repeated_run_makes_no_change_of_comments(spark: Any) -> None:
    df = spark.createDataFrame([(1,)], "id int")
    notes = {"columns": {"id": {"description": "n"}}}
    for _ in range(2):
        ingest(source=df, target_table="notes_twice", layer="silver", mode="append", options={"comments": True}, annotations=notes).raise_for_status()
    operations = [row.operation for row in spark.sql("DESCRIBE HISTORY silver.notes_twice").collect()]
    assert operations.count("CHANGE COLUMN") == 1


def test_comments_are_written_only_on_request_and_unknown_columns_are_named(spark: Any) -> None:
    df = spark.createDataFrame([(1,)], "id int")
    notes = {"columns": {"id": {"description": "n"}, "gone": {"description": "x"}}}
    ingest(source=df, target_table="notes_silent", layer="silver", annotations=notes).raise_for_status()
    assert comments(spark, "silver.notes_silent")["id"] is None
    result = ingest(source=df, target_table="notes_silent", layer="silver", annotations=notes, options={"comments": True})
    assert [w.code for w in result.warnings] == ["NOTHING_CHANGED"]
    assert "'gone'" in result.warnings[0].message


def test_comments_for_files_are_a_warning() -> None:
    from sparquet_provider.core.lint import lint

    document = {"name": "x", "input": {"format": "csv", "path": "/a"}, "output": {"format": "parquet", "path": "/b", "options": {"comments": True}}}
    _, problems = lint(document)
    assert [(p.code, p.at, p.severity) for p in problems] == [("INVALID_COMBINATION", "/output/options/comments", "warning")]


@pytest.mark.classic_only("a Connect session reports what was observed by other means")
def test_what_was_observed_is_counted_when_a_named_table_is_overwritten(spark: Any) -> None:
    df = spark.createDataFrame([("1",), ("x",)], "n string")
    keys = {"target_table": "observed", "layer": "silver", "mode": "overwrite", "transform": {"cast": {"n": "int"}}}
    first, again = (ingest(source=df, **keys) for _ in range(2))
    assert [w.code for w in first.warnings] == ["VALUES_LOST_UNKNOWN"], "the table is made by this write"
    assert [(w.code, w.facts["count"]) for w in again.warnings] == [("VALUES_LOST", 1)]
    assert (again.rows_written, again.outputs[0].version) == (2, 1)
    fewer = ingest(source=df.selectExpr("n", "1 AS extra"), **keys)
    assert fewer.error is not None
    assert (fewer.error.code, fewer.error.problems[0].facts["found"]) == ("MERGE_TARGET_COLUMN", "extra")
    assert sorted(r.n or 0 for r in spark.table("silver.observed").collect()) == [0, 1]
