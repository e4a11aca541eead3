"""Whole runs through the Python door: order, counts, the four ends, what is left behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import BaseCheck, BaseReader, BaseTransformation, BaseValidator, BaseWriter, CheckResult, Sparquet, ValidationResult


def document(folder: Path, **more: Any) -> dict[str, Any]:
    return {"name": "p", "input": {"format": "parquet", "path": str(folder / "in")}, "output": {"format": "parquet", "path": str(folder / "out")}, **more}


@pytest.fixture
def folder(spark, tmp_path: Path) -> Path:
    spark.sql("SELECT id, id % 3 AS k, IF(id % 10 = 0, NULL, concat('n', id)) AS name FROM range(0, 100, 1, 2)").write.parquet(str(tmp_path / "in"))
    return tmp_path


def rows(spark, path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in spark.read.parquet(str(path)).collect())


def test_counts_come_from_the_engine(spark, folder: Path, request: pytest.FixtureRequest) -> None:
    result = Sparquet(spark).run_from_dict(
        document(folder, transformations=[{"type": "filter", "condition": "k = 1"}, {"type": "drop", "columns": ["ingestion_ts"]}])
    )
    assert (result.status, result.rows_written, result.pipeline_name) == ("success", 33, "p")
    if request.config.getoption("--engine") == "classic":
        assert result.rows_read == 100
    else:
        assert result.rows_read is None and "rows_read" in result.unknown
    assert len(rows(spark, folder / "out")) == 33
    json.dumps(result.to_dict(), allow_nan=False)


def test_rows_read_is_unknown_where_a_sort_reads_twice(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, transformations=[{"type": "sort", "columns": ["name"]}]))
    assert (result.rows_read, result.rows_written) == (None, 100)
    assert result.unknown["rows_read"]


def test_two_columns_of_one_name_are_a_fault_that_names_both_origins(spark, folder: Path) -> None:
    join = {"type": "join", "with": {"format": "parquet", "path": str(folder / "in")}, "on": "l.id = r.id"}
    result = Sparquet(spark).run_from_dict(document(folder, transformations=[join]))
    assert (result.problems[0].code, result.problems[0].at) == ("COLUMN_AMBIGUOUS", "/output")
    assert re.search(r"l\.(\w+) from the frame before the join at /transformations/0, and r\.\1 from its second source", str(result.error))


def test_a_replaced_column_of_the_source_is_told_whatever_its_case(spark, folder: Path) -> None:
    spark.sql("SELECT 1 AS id, 'kept?' AS INGESTION_TS, 'mine' AS l").write.mode("overwrite").parquet(str(folder / "in"))
    result = Sparquet(spark).run_from_dict(document(folder), columns={"L": "run"})
    assert result.success
    assert [(w.code, w.facts["found"]) for w in result.warnings] == [("COLUMN_REPLACED", "INGESTION_TS"), ("COLUMN_REPLACED", "l")]


def test_names_of_the_run_are_no_names_of_the_source(spark, folder: Path) -> None:
    spark.sql("SELECT 1 AS id, 2 AS __sparquet_early0").write.mode("overwrite").parquet(str(folder / "in"))
    result = Sparquet(spark).run_from_dict(document(folder))
    assert [(p.code, p.at, p.facts["found"]) for p in result.problems] == [("RESERVED_COLUMN", "/input", "__sparquet_early0")]


@pytest.mark.parametrize("shape", [{}, {"arrays": [{"path": "items", "mode": "explode"}]}])
def test_a_cast_of_a_column_that_stands_twice_says_so(spark, folder: Path, shape: dict[str, Any]) -> None:
    df = spark.sql("SELECT '1' AS id, '2' AS ID, array('3') AS items")
    transform = {"shape": {**shape, "columns": {"id": {"cast": "INT", "alias": "a"}}}} if shape else {"cast": {"id": "INT"}}
    result = Sparquet(spark).run_from_dict(document(folder, transform=transform), input_df=df)
    assert [p.code for p in result.problems] == ["COLUMN_AMBIGUOUS"], result.message


def test_one_timestamp_for_the_whole_run_and_constant_columns(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder), columns={"source": "erp", "batch": 7})
    found = spark.read.parquet(str(folder / "out"))
    assert result.success and found.columns == ["id", "k", "name", "ingestion_ts", "source", "batch"]
    assert found.select("ingestion_ts", "source", "batch").distinct().count() == 1


def test_an_injected_frame_is_taken_as_it_is(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, input={"format": "delta", "path": "never.read"}), input_df=spark.range(5), input_view="mine")
    assert result.success and result.rows_written == 5 and spark.read.parquet(str(folder / "out")).columns == ["id"]
    assert spark.table("mine").count() == 5


def test_stop_if_empty_is_a_skip_and_writes_nothing(spark, folder: Path) -> None:
    steps = [
        {"type": "filter", "condition": "id > {limit}"},
        {"type": "stop_if_empty", "message": "nothing above {limit}"},
        {"type": "filter", "condition": "no_such_column = 1"},
    ]
    result = Sparquet(spark).run_from_dict(document(folder, transformations=steps), params={"limit": 1000})
    assert (result.skipped, result.success, result.rows_written, result.message, result.reason) == (True, True, 0, "nothing above 1000", "stop_if_empty")
    assert not (folder / "out").exists()


def test_a_stop_in_an_outputs_own_chain_keeps_what_was_written(spark, folder: Path) -> None:
    outputs = [
        {"format": "parquet", "path": str(folder / "a")},
        {"format": "parquet", "path": str(folder / "b"), "transformations": [{"type": "filter", "condition": "id < 0"}, {"type": "stop_if_empty"}]},
    ]
    validations = {"rules": [{"type": "row_count", "min": 1}], "report": {"format": "json", "path": str(folder / "report")}}
    raw = document(folder, outputs=outputs, validations=validations)
    del raw["output"]
    result = Sparquet(spark).run_from_dict(raw)
    assert (result.status, result.rows_written) == ("skipped", 100)
    assert [o.status for o in result.outputs] == ["written", "skipped"]
    assert len(rows(spark, folder / "a")) == 100 and spark.read.json(str(folder / "report")).count() == 1


def test_on_failure_fail_writes_no_output_but_the_report(spark, folder: Path) -> None:
    validations = {
        "report": {"format": "json", "path": str(folder / "report")},
        "rules": [
            {"type": "not_null", "columns": ["name"], "name": "names"},
            {"type": "row_count", "min": 1},
            {"type": "sql", "failed_rows": "SELECT id FROM _validation_df WHERE id > 97", "output": {"format": "parquet", "path": str(folder / "bad")}},
        ],
    }
    result = Sparquet(spark).run_from_dict(document(folder, validations=validations))
    assert (result.status, result.reason, result.rows_written) == ("failed", "quality", 0)
    assert "2 of 3 rules failed: names (10 rows with null in name)" in str(result.error)
    assert not (folder / "out").exists()
    assert rows(spark, folder / "bad") == [(98,), (99,)]
    report = {r["code"]: r for r in spark.read.json(str(folder / "report")).collect()}
    assert (report["not_null(name)"]["severity"], report["not_null(name)"]["failed_count"], report["row_count(1,)"]["passed"]) == ("fail", 10, True)
    assert [r.passed for r in result.validation_results] == [False, True, False]


@pytest.mark.parametrize(("mode", "warnings"), [("warn", ["RULE_FAILED"]), ("skip", [])])
def test_on_failure_warn_and_skip_write(spark, folder: Path, mode: str, warnings: list[str]) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, validations={"on_failure": mode, "rules": [{"type": "not_null", "columns": ["name"]}]}))
    assert (result.status, result.rows_written, [w.code for w in result.warnings]) == ("success", 100, warnings)
    assert result.validation_results[0].failed_count == 10 and result.score == 0.0


def test_rules_ride_on_the_first_write_of_a_reduced_frame(spark, folder: Path) -> None:
    steps = [{"type": "group_by", "by": ["k"], "agg": ["count(*) AS n"]}]
    rules = [{"type": "range", "column": "n", "max": 33}, {"type": "row_count", "min": 1}, {"type": "not_null", "columns": ["nope"]}]
    result = Sparquet(spark).run_from_dict(document(folder, transformations=steps, validations={"on_failure": "warn", "rules": rules}))
    assert [(r.severity, r.failed_count, r.metric_value, r.rows) for r in result.validation_results] == [
        ("fail", 1, 1, 3),
        ("pass", 0, 3, 3),
        ("fail", 0, None, 3),
    ]
    assert result.rows_written == 3 and rows(spark, folder / "out") == [(0, 34), (1, 33), (2, 33)]


def test_a_rule_whose_own_sql_is_wrong_has_an_error_and_the_others_are_measured(spark, folder: Path) -> None:
    steps = [{"type": "group_by", "by": ["k"], "agg": ["count(*) AS n"]}]
    rules = [{"type": "row_count", "min": 1, "filter": "nope = 1"}, {"type": "row_count", "min": 1}, {"type": "regex", "column": "k", "pattern": "("}]
    result = Sparquet(spark).run_from_dict(document(folder, transformations=steps, validations={"on_failure": "warn", "rules": rules}))
    assert [(r.severity, r.error and r.error["code"], r.metric_value) for r in result.validation_results][:2] == [("fail", "COLUMN_NOT_FOUND", None), ("pass", None, 3)]
    assert result.validation_results[2].error["code"] == "SQL_INVALID" and "Unclosed group" in result.validation_results[2].message
    assert result.rows_written == 3
    only = Sparquet(spark).run_from_dict(document(folder, transformations=steps, validations={"on_failure": "warn", "rules": rules[1:]}))
    assert [(r.severity, bool(r.error)) for r in only.validation_results] == [("pass", False), ("fail", True)]
    assert (only.rows_written, [o.status for o in only.outputs]) == (3, ["written"])


def test_rules_on_a_frame_that_the_optimizer_empties_are_still_measured(spark, folder: Path) -> None:
    steps = [{"type": "filter", "condition": "1 = 0"}, {"type": "group_by", "by": ["k"], "agg": ["count(*) AS n"]}]
    result = Sparquet(spark).run_from_dict(
        document(
            folder,
            transformations=steps,
            validations={"on_failure": "warn", "rules": [{"type": "row_count", "min": 1}, {"type": "not_null", "columns": ["n"]}]},
        )
    )
    assert [(r.severity, r.metric_value) for r in result.validation_results] == [("fail", 0), ("pass", 0)]


def test_the_second_output_fails_and_the_first_is_told(spark, folder: Path) -> None:
    raw = document(folder, outputs=[{"format": "parquet", "path": str(folder / "a")}, {"format": "parquet", "path": str(folder / "b"), "columns": ["no_such"]}])
    result = Sparquet(spark).run_from_dict(raw)
    assert (result.status, result.rows_written, [o.status for o in result.outputs]) == ("failed", 100, ["written", "failed"])
    assert (result.problems[0].code, result.problems[0].at) == ("COLUMN_NOT_FOUND", "/outputs/1")


@pytest.mark.parametrize(
    ("step", "code", "says"),
    [
        ({"type": "filter", "condition": "naem = 'x'"}, "COLUMN_NOT_FOUND", "nearest: 'name'"),
        ({"type": "filter", "condition": "id >"}, "SQL_INVALID", "Syntax error"),
        ({"type": "filter", "condition": "nofunction(id)"}, "SQL_INVALID", "nofunction"),
        ({"type": "sql", "query": "SELECT * FROM no_such_table"}, "SOURCE_NOT_FOUND", "no_such_table"),
    ],
)
def test_spark_faults_have_a_place(spark, folder: Path, step: dict[str, Any], code: str, says: str) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, transformations=[{"type": "distinct"}, step]))
    assert (result.status, result.problems[0].code) == ("failed", code)
    assert result.problems[0].at.startswith("/transformations/1")
    assert says.casefold() in str(result.error).casefold() and "Traceback" not in str(result.error)


@pytest.mark.parametrize("expression", [
    "1 / (id - id)", "CAST(concat('x', name) AS int)", "CAST(id + 2147483647 AS int)", "array(1)[id + 5]",
    "map_from_arrays(array(concat('x', name), concat('x', name)), array(1, 2))", "(SELECT n FROM VALUES (1), (2) AS t(n))",
])
def test_values_that_break_ansi_expressions_are_faults_of_the_data(spark, folder: Path, expression: str) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, transformations=[{"type": "with_column", "column": "x", "expression": expression}]))
    assert (result.status, result.reason, result.problems[0].code, result.problems[0].at) == ("failed", "data", "VALUE_FAILED", "/output")
    assert "xn" not in str(result.error), "a value of the data is in the message"
    assert not [p for p in (folder / "out").rglob("part-*") if "_temporary" not in p.parts]


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("{flag}", False),
        ("'{env}' = 'prod'", False),
        ("'{env}' = 'dev'", True),
        ("2026-01-01", True),
        ("select 1 = 2", True),
        ("unknown = 1", True),
        ("1 = 1", True),
        ("", False),
    ],
)
def test_skip_if_false(spark, folder: Path, condition: str, runs: bool) -> None:
    steps = [{"type": "filter", "condition": "id < 10", "skip_if_false": condition}]
    result = Sparquet(spark).run_from_dict(document(folder, transformations=steps), params={"flag": False, "env": "dev"})
    assert (result.rows_written, result.steps[0].skipped) == (10 if runs else 100, not runs)


def test_a_faulty_document_is_a_result_too(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict({"name": "x", "input": {"format": "parquett"}, "transformations": [{"type": "filtr"}]})
    assert (result.status, result.reason) == ("failed", "document")
    assert {p.code for p in result.problems} == {"UNKNOWN_TYPE", "MISSING_KEY"} or {p.code for p in result.problems} == {"UNKNOWN_TYPE"}
    missing = Sparquet(spark).run(folder / "none.json")
    assert missing.problems[0].code == "DOCUMENT_NOT_FOUND"


def test_warnings_reach_the_result(spark, folder: Path) -> None:
    raw = document(folder, transformations=[{"type": "filter", "condition": "id < 5 OR '{since}' = 'x'"}], owner="me")
    result = Sparquet(spark).run_from_dict(raw, params={"until": 1})
    assert sorted(w.code for w in result.warnings) == ["PARAMETER_NOT_USED", "PARAMETER_WITHOUT_VALUE", "UNKNOWN_KEY"]
    assert Sparquet(spark).run_from_dict(raw, strict=True).problems[0].code == "PARAMETER_WITHOUT_VALUE"


def test_secret_parameters_are_masked_in_the_result(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(
        document(folder, transformations=[{"type": "filter", "condition": "'{api_token}' <> '{day}'"}]), params={"api_token": "hunter2", "day": "2026-01-01"}
    )
    assert result.success and result.params == {"api_token": "***", "day": "2026-01-01"}
    assert "hunter2" not in json.dumps(result.to_dict())


def test_a_secret_parameter_is_in_no_message_of_a_failed_run(spark, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    step = {"type": "filter", "condition": "concat(name, '{api_token}')"}
    result = Sparquet(spark).run_from_dict(document(folder, transformations=[step]), params={"api_token": "hunter2-token"})
    assert (result.status, result.problems[0].at) == ("failed", "/transformations/0/condition")
    assert "***" in result.message, "Spark shows the expression, so there is something to hide"
    assert "hunter2-token" not in json.dumps(result.to_dict()) + caplog.text
    early = Sparquet(spark).run_from_dict({**document(folder), "output": {"format": "{api_token}", "path": "/x"}}, params={"api_token": "hunter2-token"})
    assert early.status == "failed" and "hunter2-token" not in json.dumps(early.to_dict())


def test_a_rule_that_cannot_run_fails_the_gate_and_nothing_is_written(spark, folder: Path) -> None:
    rules = [{"type": "not_null", "column": "no_such"}, {"type": "row_count", "min": 1}]
    result = Sparquet(spark).run_from_dict(document(folder, validations={"rules": rules}))
    assert (result.status, result.reason) == ("failed", "quality")
    assert [(r.severity, r.error["code"] if r.error else None) for r in result.validation_results] == [("fail", "COLUMN_NOT_FOUND"), ("pass", None)]
    assert not (folder / "out").exists()


def test_the_clock_of_a_block_is_that_of_its_freshness_rules(spark, folder: Path) -> None:
    steps = [{"type": "with_column", "column": "at", "expression": "TIMESTAMP '2026-01-31 05:00:00'"}]
    rules = [{"type": "freshness", "column": "at", "must_be": "< 2h"}]
    result = Sparquet(spark).run_from_dict(document(folder, transformations=steps, validations={"as_of": "2026-01-31T06:00:00Z", "rules": rules}))
    assert result.success, result.error
    assert result.validation_results[0].metric_value == 3600


# --- extension -----------------------------------------------------------------------------------------------------
class Shout(BaseTransformation):
    def apply(self, df):
        from pyspark.sql import functions as F

        assert self.spark is not None
        return df.withColumn("name", F.upper(F.col(self.config.params["column"])))


class NoBigIds(BaseValidator):
    def validate(self, df):
        failed = df.where(f"id > {self.rule.params['limit']}").count()
        return ValidationResult("no_big_ids", False, f"{failed} big ids", failed) if failed else ValidationResult("no_big_ids", True)


class NoBigIdsCheck(BaseCheck):
    def run(self, df):
        failed = df.where(f"id > {self.params['limit']}").count()
        return CheckResult("no_big", failed == 0, f"{failed} big ids", failed)


class Ticks(BaseReader):
    def read(self):
        return self.spark.range(int(self.config.options["n"])).selectExpr("id", f"'{self.config.path}' AS origin")


class Keep(BaseWriter):
    kept: list[Any] = []

    def write(self, df):
        Keep.kept.append((self.config.mode, self.config.path, df.count()))


def test_types_of_your_own(spark, folder: Path) -> None:
    sparquet = Sparquet(spark)
    sparquet.register_transformation("shout", Shout)
    sparquet.register_validator("no_big_ids", NoBigIds)
    sparquet.register_validator("No_Big", NoBigIdsCheck)
    sparquet.register_reader("ticks", Ticks)
    sparquet.register_writer("keep", Keep)
    result = sparquet.run_from_dict(
        {
            "name": "own",
            "input": {"format": "Ticks", "path": "here", "options": {"n": 20}},
            "transformations": [{"type": "shout", "column": "origin"}, {"type": "shout", "column": "no_such", "skip_if_false": ""}],
            "validations": {"on_failure": "warn", "rules": [{"type": "no_big_ids", "limit": 10}, {"type": "no_big", "limit": 100}, {"type": "no_big_ids"}]},
            "outputs": [{"format": "keep", "path": "there", "mode": "Append"}, {"format": "parquet", "path": str(folder / "out"), "columns": ["name"]}],
        }
    )
    assert result.success, result.error
    assert [(r.rule_type, r.severity, r.message, r.failed_count) for r in result.validation_results[:2]] == [
        ("no_big_ids", "fail", "9 big ids", 9),
        ("No_Big", "pass", "0 big ids", 0),
    ]
    assert result.validation_results[2].error["code"] == "EXTENSION_FAILED"
    assert Keep.kept == [("Append", "there", 20)] and set(rows(spark, folder / "out")) == {("HERE",)}
    able = sparquet.capabilities()
    assert (
        able["transformations"][-1] == "shout"
        and "ticks" in able["readers"]
        and "keep" in able["writers"]
        and able["validators"][-2:] == ["no_big_ids", "no_big"]
    )


def test_scopes_of_registries(spark) -> None:
    one, two = Sparquet(spark), Sparquet(spark)
    one.register_transformation("only_here", Shout)
    one.register_reader("everywhere", Ticks)
    assert "only_here" not in two.capabilities()["transformations"] and "everywhere" in two.capabilities()["readers"]


def test_replacing_a_built_in_warns_and_a_failing_extension_is_named(spark, folder: Path) -> None:
    class Broken(BaseTransformation):
        def apply(self, df):
            raise RuntimeError("no luck")

    sparquet = Sparquet(spark)
    sparquet.register_transformation("distinct", Broken)
    result = sparquet.run_from_dict(document(folder, transformations=[{"type": "distinct"}]))
    assert [w.code for w in result.warnings] == ["BUILT_IN_REPLACED"]
    assert (result.problems[0].code, result.problems[0].at, "no luck" in str(result.error)) == ("EXTENSION_FAILED", "/transformations/0", True)
