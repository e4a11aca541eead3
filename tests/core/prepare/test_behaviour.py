"""What cases cannot say: jobs, partitionings, tables, texts of a document."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparquet_provider.core import Sparquet
from sparquet_provider.core.engine import Engine
from sparquet_provider.core.ingest import ingest
from tests.core.prepare.cases import prepared, run
from tests.core.steps.cases import document, door, frame, rows_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARSE = {"shape": {"parse_json": [{"column": "raw", "alias": "p", "schema": "STRUCT<a:INT>"}], "columns": {"p.a": {"alias": "a", "cast": "string"}}}}


@pytest.mark.classic_only("looks at the jobs of the session")
def test_texts_that_are_no_json_are_counted_by_the_job_of_the_write(spark: SparkSession, tmp_path: Path) -> None:
    given = frame(spark, "raw string", [['{"a": 1}'], ["{bad"]])
    group = uuid.uuid4().hex
    spark.sparkContext.setJobGroup(group, group)
    doc = {**document(**PARSE), "output": {"format": "parquet", "path": str(tmp_path / "out")}}
    result = Sparquet(spark).run_from_dict(doc, None, given)
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert [(w.code, w.facts["count"]) for w in result.warnings] == [("JSON_NOT_PARSED", 1)]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == 1


@pytest.mark.parametrize("kind", ["map<string, int>", "struct<m: int>"])
@pytest.mark.parametrize("order", ["at", "at asc", "at asc nulls last"])
def test_the_survivors_of_ties_are_the_same_over_ten_partitionings(spark: SparkSession, kind: str, order: str) -> None:
    rows = [[k, 1, n % 3, {"m": n % 5}, None if n % 2 else n % 4] for k in (1, 2, None) for n in range(40)]
    given = frame(spark, f"k int, at int, a int, m {kind}, b int", rows)
    keys = {"transform": {"deduplicate": {"keys": ["k"], "order_by": order}}}
    found = set()
    for number in range(10):
        run(spark, given.repartition(1 + number % 5).sortWithinPartitions("a", "b", ascending=bool(number % 2)), keys)
        found.add(json.dumps(sorted(prepared(keys)[1], key=repr)))
    assert len(found) == 1
    assert len(json.loads(found.pop())) == 3


@pytest.mark.parametrize("direction", ["desc", "asc"])
def test_the_aggregate_keeps_the_rows_that_numbering_keeps(spark: SparkSession, direction: str) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    df = spark.range(3000).selectExpr(
        "CAST(nullif(xxhash64(id) % 40, 7) / 4D AS DOUBLE) * IF(id % 2 = 0, 1, -1) AS k", "nullif(xxhash64(id, 1) % 3, 1) AS at",
        "element_at(array(0D, -0D, double('NaN'), NULL, 1.5D, double('infinity')), CAST(1 + pmod(xxhash64(id, 2), 6) AS INT)) AS x",
        "IF(id % 5 = 0, NULL, concat('é', xxhash64(id, 3) % 9)) AS `a.b`", "named_struct('s', IF(id % 3 = 0, NULL, id % 4), 't', array(id % 2, NULL)) AS st",
        "CAST(xxhash64(id, 4) % 100 AS DECIMAL(10,2)) AS n", "id",
    )
    where = {"desc": "desc_nulls_last", "asc": "asc_nulls_first"}[direction]
    order = [getattr(F.col(c), where)() for c in ("at", "`a.b`", "x", "st", "n", "id")]
    numbered = df.withColumn("number", F.row_number().over(Window.partitionBy("k").orderBy(*order))).where("number = 1").drop("number")
    rule = {"keys": ["k"], "order_by": [{"column": "at", "direction": direction}, f"`a.b` {direction}"]}
    run(spark, df, {"transform": {"deduplicate": rule}})
    _, rows = prepared({"transform": {}})
    expected = sorted(map(repr, rows_of(numbered)))
    assert len(expected) > 40 and sorted(map(repr, rows)) == expected


@pytest.mark.classic_only("the optimizer is out of reach")
def test_what_a_run_adds_is_no_part_of_the_comparison(spark: SparkSession, tmp_path: Path) -> None:
    """Columns that are the same in all rows are neither compared nor shuffled."""
    frame(spark, "k int, at int", [[1, 1], [1, 2], [2, 3]]).write.parquet(str(tmp_path / "in"))
    doc = document(transform={"deduplicate": {"keys": ["k"], "order_by": ["at"]}}) | {"input": {"format": "parquet", "path": str(tmp_path / "in")}}
    result = Sparquet(spark).run_from_dict(doc, columns={"tenant": "O'Neill", "share": 1.5})
    schema, rows = prepared(doc)
    assert schema == "k int, at int, ingestion_ts timestamp, tenant string, share double"
    assert [(k, at, tenant, share) for k, at, _, tenant, share in sorted(rows)] == [(1, 2, "O'Neill", 1.5), (2, 3, "O'Neill", 1.5)]
    assert {dt.datetime.fromisoformat(row[2]).replace(tzinfo=dt.timezone.utc).isoformat() for row in rows} == {result.started_at}
    compared = re.findall(r"partial_max\(struct\((.*?)\)\)", Engine(spark).physical_plan(result.output_df))
    assert compared and {re.sub(r"#\d+", "", fields) for fields in compared} == {"o0, at"}


@pytest.mark.classic_only("the optimizer is out of reach")
def test_a_constant_instant_keeps_its_value_in_the_hour_that_clocks_repeat(spark: SparkSession) -> None:
    later = "timestamp_micros(1793512800000000)"  # 05:00 and 06:00 UTC of that day are both 01:00 in New York
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        df = spark.range(1).selectExpr("id", f"{later} AS at", "'x' AS name")
        found = Engine(spark).constants(df, {"at", "id"})
        assert list(found) == ["at"]
        assert spark.range(1).select(found["at"].alias("at")).selectExpr("unix_micros(at)").collect()[0][0] == 1793512800000000
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.classic_only("looks at the plan")
def test_what_a_record_holds_is_converted_before_its_items_make_rows_of_it(spark: SparkSession) -> None:
    given = spark.range(1).selectExpr("concat('1', id) AS id", "array('7', 'y') AS items")
    shape = {"arrays": [{"path": "items", "mode": "explode_outer", "alias": "item"}], "columns": {"id": {"cast": "INT"}, "item": {"cast": "INT"}}}
    plan = Engine(spark).physical_plan(run(spark, given, {"transform": {"shape": shape}}).output_df)
    after, before = re.split(r"Generate", plan, maxsplit=1)
    assert [re.findall(r"try_cast\((concat|item)", part) for part in (before, after)] == [["concat"], ["item"]]


def test_control_columns_hold_the_instant_and_the_run(spark: SparkSession) -> None:
    before = dt.datetime.now(dt.timezone.utc)
    result = run(spark, frame(spark, "a int", [[1]]), {"shape": {"columns": {"a": {}}}}, run_id="run-7")
    schema, rows = written()
    assert schema == "a int, ingestion_ts_utc timestamp, __run_id string"
    assert rows[0][2] == "run-7"
    instant = dt.datetime.fromisoformat(rows[0][1]).replace(tzinfo=dt.timezone.utc)
    assert before - dt.timedelta(seconds=1) <= instant <= dt.datetime.now(dt.timezone.utc)
    assert instant.isoformat() == result.started_at


def test_yaml_and_json_texts_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    given = frame(spark, "raw string", [['{"a": 1}'], ['{"a": 2}']])
    doc = document(**PARSE, filter_expression="a <> '{left_out}'")
    found = []
    for name, text in (("d.json", json.dumps(doc)), ("d.yaml", yaml.safe_dump(doc))):
        (tmp_path / name).write_text(text, encoding="utf-8")
        result = door(spark).run(tmp_path / name, {"left_out": "2"}, given, strict=True)
        assert result.status == "success", result.message
        found.append((written()[0], [row[:1] for row in written()[1]]))
    assert found[0] == found[1]
    assert found[0][1] == [("1",)]


def test_a_schema_of_the_reading_holds_for_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,amount\n007,1.50\n", encoding="utf-8")
    source = {"format": "csv", "path": str(tmp_path / "in.csv"), "read": {"schema": "id STRING, amount DECIMAL(5,2)"}}
    doc = {key: value for key, value in document(transform={"derive": {"twice": "amount * 2"}}).items() if key != "input"}
    assert door(spark).run_from_dict({**doc, "source": source}, strict=True).status == "success"
    schema, rows = written()
    assert schema.startswith("id string, amount decimal(5,2)")
    assert rows[0][:2] == ("007", "1.50")


@pytest.mark.parametrize("kind", ["frame", "block", "table"])
def test_ingest_reads_a_frame_a_block_or_a_table(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    name = f"t{uuid.uuid4().hex[:8]}"
    given = frame(spark, "order_id int, amount string, raw string", [[1, "1.50", "x"], [1, "2.50", "y"], [2, "abc", "z"]])
    spark.sql("CREATE DATABASE IF NOT EXISTS silver")
    if kind == "frame":
        source: Any = given
    elif kind == "block":
        given.write.parquet(str(tmp_path / "in"))
        source = {"format": "parquet", "path": str(tmp_path / "in")}
    else:
        given.write.format("delta").saveAsTable(f"{name}_in")
        source = f"{name}_in"
    transform = {"cast": {"amount": "decimal(18,2)"}, "deduplicate": {"keys": ["order_id"], "order_by": [{"column": "amount"}]}}
    result = ingest(source, name, layer="silver", transform=transform, select_columns=["order_id", "amount"], run_id="r", spark=spark)
    assert result.status == "success", result.message
    assert [w.code for w in result.warnings] in (["VALUES_LOST"], ["VALUES_LOST_UNKNOWN"])
    found = spark.table(f"silver.{name}")
    assert found.columns[:2] == ["order_id", "amount"]
    assert found.columns[-2:] == ["ingestion_ts_utc", "__run_id"]
    assert [(r.order_id, str(r.amount)) for r in found.sort("order_id").collect()] == [(1, "2.50"), (2, "None")]
    again = ingest(source, name, layer="silver", transform=transform, select_columns=["order_id", "amount"], mode="overwrite", partition_by="order_id",
                   options={"overwriteSchema": True}, spark=spark)
    assert again.status == "success", again.message
    assert spark.table(f"silver.{name}").count() == 2
    for table in (f"silver.{name}", *([source] if kind == "table" else [])):
        spark.sql(f"DROP TABLE {table}")


@pytest.mark.parametrize("source", [None, 3, []])
def test_ingest_of_nothing_is_a_fault_with_a_place(source: Any) -> None:
    result = ingest(source, "orders", transform={"cast": {"a": "strng"}})
    assert {(p.code, p.at) for p in result.problems} == {("WRONG_TYPE", "/input"), ("TYPE_INVALID", "/transform/cast/a")}


def test_target_table_names_the_output() -> None:
    from sparquet_provider.core.lint import lint

    doc = {"input": {"format": "parquet", "path": "/in"}, "target_table": "orders", "catalog": "main", "layer": "silver", "mode": "merge", "merge_keys": ["id"]}
    parsed, problems = lint(doc)
    assert parsed is not None and not problems
    assert parsed.output is not None
    assert (parsed.name, parsed.output.path, parsed.output.mode, parsed.output.merge_keys) == ("main.silver.orders", "main.silver.orders", "merge", ("id",))
    parsed, _ = lint({**doc, "target_table": "a.b.c", "output": {"format": "iceberg", "partition_by": ["d"]}})
    assert parsed is not None and parsed.output is not None
    assert (parsed.output.format, parsed.output.path, parsed.output.mode, parsed.output.partition_by) == ("iceberg", "a.b.c", "merge", ("d",))
    _, problems = lint({**doc, "mode": "merg"})
    assert ("MODE_NOT_SUPPORTED", "/mode") in [(p.code, p.at) for p in problems]
    _, problems = lint({k: v for k, v in doc.items() if k != "merge_keys"})
    assert [(p.code, p.at) for p in problems] == [("MERGE_KEYS_MISSING", "/merge_keys")]


def test_a_run_that_stops_early_keeps_the_mark(spark: SparkSession) -> None:
    keys = {"watermark_columns": ["n"], "transformations": [{"type": "filter", "condition": "n > 100"}, {"type": "stop_if_empty"}]}
    result = run(spark, frame(spark, "n int", [[1], [7]]), keys, watermark={"n": 1})
    assert (result.status, result.watermark) == ("skipped", {"n": 1})
    assert [w.code for w in result.warnings] == ["WATERMARK_KEPT"]


def test_a_key_that_compares_without_case_keeps_the_key_of_its_row(spark: SparkSession) -> None:
    df = spark.sql("SELECT * FROM VALUES ('A' COLLATE UTF8_LCASE, 'first', 1), ('a' COLLATE UTF8_LCASE, 'second', 2) AS t(k, v, u)")
    run(spark, df, {"transform": {"deduplicate": {"keys": ["k"], "order_by": ["u"]}}})
    assert prepared({"transform": {}})[1] == [("a", "second", 2)]


@pytest.mark.parametrize("name", ["p.x", "q"])  # the first might be a path into the JSON, so all texts are cleaned
def test_no_text_is_written_that_is_not_utf8(spark: SparkSession, name: str) -> None:
    json_text = r'{"a": "<>(", "o": {"z": "<>"}, "m": {"k<>": "<>"}, "l": ["<>", "b"], "lone": "\ud800", "b": "/w==", "d": 1, "r": "x"}'
    raw = json_text.encode().replace(b"<>", b"\xff").hex()
    df = spark.sql(f"SELECT 7 AS id, CAST(unhex('{raw}') AS STRING) AS raw, CAST(unhex('ff') AS STRING) AS `{name}`, named_struct('t', CAST(unhex('ff') AS STRING)) AS s")
    schema = "STRUCT<a:STRING,o:STRING,m:MAP<STRING,STRING>,l:ARRAY<STRING>,lone:STRING,b:BINARY,d:STRING,r:STRING,x:STRING>"
    columns = {"p.a": {}, "p.o": {}, "p.m": {}, "p.lone": {}, "p.d": {"cast": "string"}, "p.b": {"cast": "string"}, name: {"alias": "p_x"}, "s.t": {}, "p.r": {"alias": "r"}, "tag": {}, "first": {}}
    arrays = [{"path": "p.l", "alias": "tag", "mode": "explode"}, {"path": "p.l", "alias": "first", "mode": "first"}]
    shape = {"parse_json": [{"column": "raw", "alias": "p", "schema": schema}], "arrays": arrays, "columns": columns}
    out = run(spark, df, {"transform": {"shape": shape, "derive": {"R": "CAST(unhex('ff') AS STRING)"}}}).output_df
    texts = [f.name for f in out.schema.fields if f.dataType.typeName() == "string" and f.name != "__run_id"]
    assert texts == ["p_a", "p_o", "p_lone", "p_d", "p_b", "p_x", "s_t", "R", "tag", "first"]
    found = out.selectExpr(*(f"hex(`{name}`)" for name in texts), "hex(map_values(p_m)[0])").collect()
    replaced = "EFBFBD"
    for row, tag in zip(found, (replaced, "62"), strict=True):
        assert list(row) == [replaced + "28", "7B227A223A22EFBFBD227D", "3F", "31", replaced, replaced, replaced, replaced, tag, replaced, replaced]


def test_a_name_that_flatten_frees_holds_no_json_any_more(spark: SparkSession) -> None:
    df = spark.sql("SELECT '{\"a\": 1}' AS raw, array(CAST(unhex('ff') AS STRING)) AS texts")
    shape = {
        "parse_json": [{"column": "raw", "alias": "p", "schema": "STRUCT<a:STRING>"}], "flatten": {"enabled": True},
        "arrays": [{"path": "texts", "alias": "p", "mode": "explode"}], "columns": {"p": {}, "p_a": {}},
    }
    out = run(spark, df, {"transform": {"shape": shape}}).output_df
    assert [tuple(r) for r in out.selectExpr("hex(p)", "p_a").collect()] == [("EFBFBD", "1")]


@pytest.mark.parametrize("expression", ["to_number(b, '999')", "parse_json(b)", "from_csv(b, 'a INT', map('mode', 'FAILFAST'))"])
def test_a_value_that_breaks_an_expression_is_the_datas_fault_and_not_shown(spark: SparkSession, expression: str, caplog: pytest.LogCaptureFixture) -> None:
    result = run(spark, frame(spark, "a int, b string", [[1, "SECRETVALUE"]]), {"transform": {"derive": {"z": expression}}})
    assert [p.code for p in result.problems] == ["VALUE_FAILED"] and result.reason == "data"
    assert "SECRETVALUE" not in json.dumps(result.to_dict()) + caplog.text


def test_a_text_that_is_too_long_for_its_column_is_not_shown(table_path: str, spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE delta.`{table_path}` (b VARCHAR(3)) USING delta")
    output = {"format": "delta", "path": table_path, "mode": "append", "transformations": [{"type": "select", "columns": ["b"]}]}
    result = Sparquet(spark).run_from_dict({**document(), "output": output}, input_df=frame(spark, "b string", [["SECRETVALUE"]]))
    assert [p.code for p in result.problems] == ["VALUE_FAILED"] and "SECRETVALUE" not in json.dumps(result.to_dict())


@pytest.fixture
def table_path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.mark.parametrize(
    ("proper", "odd"),
    [
        ("DATE'2026-01-02'", "date_add(DATE'9999-12-31', 1)"),
        ("TIMESTAMP'2026-01-02 03:04:05'", "make_timestamp(12026, 1, 1, 0, 0, 0)"),
        ("TIMESTAMP_NTZ'2026-01-02 03:04:05'", "make_timestamp_ntz(12026, 1, 1, 0, 0, 0)"),
        ("CAST(1.5 AS FLOAT)", "CAST('Infinity' AS FLOAT)"),
        ("'b'", "CAST(X'FF' AS STRING)"),
    ],
)
def test_values_that_no_mark_can_hold_are_read_once(spark: SparkSession, proper: str, odd: str) -> None:
    given = spark.sql(f"SELECT * FROM VALUES (1, {proper}), (2, {odd}) AS t(n, at)")
    keys = {"watermark_columns": ["at"], "transformations": [{"type": "select", "columns": ["n"]}]}  # Python cannot show the odd ones
    first = run(spark, given, keys)
    assert (first.status, first.rows_written, first.warnings) == ("success", 2, [])
    again = run(spark, given, keys, watermark=first.watermark)
    assert (again.status, again.rows_written, again.watermark) == ("success", 0, first.watermark)


def test_an_interval_beside_the_key_breaks_ties_by_its_text(spark: SparkSession) -> None:
    given = spark.sql("SELECT 1 AS k, make_interval(i) AS d, i AS n FROM VALUES (2), (1) AS t(i)")
    result = run(spark, given, {"transform": {"deduplicate": {"keys": ["k"], "order_by": ["k"]}, "cast": {"d": "string"}}})
    assert result.status == "success"
    result = run(spark, given, {"transform": {"deduplicate": {"keys": ["k"], "order_by": ["k"]}}, "transformations": [{"type": "select", "columns": ["n"]}]})
    assert [row[0] for row in written()[1]] == [1]


def test_a_fault_after_the_last_action_is_a_result_too(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise OverflowError("as if a value had no place in Python")

    monkeypatch.setattr("sparquet_provider.core.prepare.watermark._keep", broken)
    result = run(spark, frame(spark, "n int", [[1]]), {"watermark_columns": ["n"]})
    assert (result.status, result.watermark) == ("failed", {})
    assert "OverflowError" in result.message


@pytest.mark.parametrize(
    "differs",
    [
        "map('a', timestamp_micros(1000000 + id))", "map(CAST(CAST(id AS STRING) AS BINARY), 1)", "map('a', CAST(IF(id % 2 = 0, X'FF', X'FE') AS STRING))",
        "map(1, parse_json(CAST(id AS STRING)))", "map('a', IF(id % 2 = 0, NULL, 'null'))", "parse_json(CAST(id AS STRING))",
        "IF(id % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE", "array(IF(id % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE)",
    ],
)
def test_rows_that_differ_in_what_an_order_does_not_see_do_not_survive_by_chance(spark: SparkSession, differs: str) -> None:
    rows = spark.range(20).selectExpr("1 AS k", "1 AS o", f"{differs} AS m", "id AS z")
    found = set()
    for parts in (1, 2, 5):
        for ascending in (True, False):
            given = rows.repartition(parts, "z").sortWithinPartitions("z", ascending=ascending).drop("z")
            keys = {"transform": {"deduplicate": {"keys": ["k"], "order_by": ["o"]}}}
            shown = "hex(CAST(CAST(m AS STRING) AS BINARY))" + (", m['a'] IS NULL" if "NULL" in differs else "")
            steps = [{"type": "with_column", "name": "shown", "expression": f"concat({shown})"}, {"type": "select", "columns": ["shown"]}]
            run(spark, given, {**keys, "transformations": steps})
            found.add(str(written()[1][0][0]))
    assert len(found) == 1


BROKEN = "CAST(X'FF41' AS STRING)"


@pytest.mark.parametrize(
    ("made_of", "alias", "keys"),
    [
        (f"array({BROKEN}) AS `payload.events`", "payload", {"shape": {"arrays": [{"path": "payload.events", "mode": "explode", "alias": "t"}], "columns": {"t": {}}}}),
        (f"array({BROKEN}) AS x", "payload", {"shape": {"zip_arrays": [{"alias": "payload.xs", "columns": {"x": "l", "x ": "r"}}],
            "arrays": [{"path": "payload.xs", "mode": "explode", "alias": "e"}], "columns": {"e.l": {"alias": "t"}}}}),
        (f"{BROKEN} AS `a``b`", "a``b", {"shape": {"columns": {"a`b": {"alias": "t"}}}}),
    ],
)
def test_a_column_whose_name_looks_like_a_path_into_json_is_cleaned(spark: SparkSession, made_of: str, alias: str, keys: dict[str, Any]) -> None:
    given = spark.sql(f"SELECT '{{\"x\": \"1\"}}' AS raw, {made_of}, array('y') AS `x `")
    keys["shape"]["parse_json"] = [{"column": "raw", "alias": alias, "schema": "STRUCT<x:STRING>"}]
    result = run(spark, given, {**keys, "transformations": [{"type": "with_column", "name": "bytes", "expression": "hex(t)"}, {"type": "select", "columns": ["bytes"]}]})
    assert result.status == "success", result.message
    assert [row[0] for row in written()[1]] == ["EFBFBD41"]


def test_texts_of_a_given_length_are_cleaned_too(spark: SparkSession) -> None:
    setting = "spark.sql.preserveCharVarcharTypeInfo"
    with Engine(spark).setting(setting, "true"):
        steps = [{"type": "with_column", "name": "bytes", "expression": "hex(CAST(t AS STRING))"}, {"type": "select", "columns": ["bytes"]}]
        result = run(spark, spark.sql(f"SELECT {BROKEN} AS t"), {"transform": {"cast": {"t": "varchar(3)"}}, "transformations": steps})
    assert result.status == "success", result.message
    assert [row[0] for row in written()[1]] == ["EFBFBD41"]
