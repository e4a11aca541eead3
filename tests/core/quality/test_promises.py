"""What holds for every rule: one entry with targets is as many rules, and results hold no data unless asked."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.cola import Cola
from sparquet_provider.core.faults import quiet_spark_errors
from tests.core.steps.cases import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_one_entry_with_targets_is_as_many_rules(spark: SparkSession) -> None:
    df = frame(spark, "a int, b int, c string", [[1, None, "x"], [1, 2, None], [None, 2, "y"]])
    entry = {"type": "missing_percent", "must_be": "< 40%", "filter": "a IS NOT NULL"}
    once = Cola().run(df, [{**entry, "targets": ["b", ["a", "c"], "nope", "a"]}])
    spelt = Cola().run(df, [{**entry, "columns": columns} for columns in (["b"], ["a", "c"], ["nope"], ["a"])])

    def told(results: list[Any]) -> list[tuple[Any, ...]]:
        return [(r.rule_type, r.code, r.severity, r.failed_count, r.metric_value, r.error and r.error["code"]) for r in results]

    assert told(once) == told(spelt)
    assert [r.severity for r in once] == ["fail", "fail", "fail", "pass"]
    assert [r.failed_count for r in once if r.error is None] == [1, 1, 0]


SECRET = "s3cr3t"
RULES = [
    {"type": "not_null", "column": "s"},
    {"type": "unique", "column": "s"},
    {"type": "range", "column": "s", "min": 0},
    {"type": "regex", "column": "t", "pattern": "^[0-9]+$"},
    {"type": "invalid_count", "column": "s", "valid_format": "integer", "must_be": "= 0"},
    {"type": "invalid_percent", "column": "s", "valid_format": "integer", "must_be": "= 0"},
    {"type": "missing_count", "columns": ["s", "t"], "must_be": "= 0"},
    {"type": "missing_percent", "columns": ["s", "t"], "must_be": "= 0"},
    {"type": "accepted_values", "column": "s", "values": ["a"]},
    {"type": "column_comparison", "column": "s", "operator": "!=", "other": "t"},
    {"type": "column_comparison", "column": "s", "operator": "<", "other": "id"},
    {"type": "conditional_not_null", "column": "t", "when": "CAST(s AS INT) > 0"},
    {"type": "not_null", "column": "t", "filter": "CAST(s AS INT) > 0"},
    {"type": "row_count", "must_be": "> 0", "filter": "CAST(s AS DATE) > '2024-01-01'"},
    {"type": "sql", "query": "SELECT max(CAST(s AS INT)) > 0 FROM _validation_df"},
    {"type": "sql", "failed_rows": "SELECT * FROM _validation_df WHERE s = t"},
    {"type": "sum", "column": "s", "must_be": "> 0"},
    {"type": "freshness", "column": "s", "must_be": "< 1d"},
    {"type": "quantile", "column": "s", "quantile": 0.5, "must_be": "> 0"},
    {"type": "distinct_count", "column": "s", "must_be": "> 5"},
    {"type": "duplicate_count", "column": "s", "must_be": "= 0"},
    {"type": "mutually_exclusive", "columns": ["s", "t"]},
    {"type": "completeness", "column": "t", "by": ["s"], "must_be": "> 90%"},
    {"type": "foreign_key", "column": "s", "source": {"format": "view", "path": "promises_other"}},
    {"type": "reconciliation", "expression": "count(DISTINCT s)", "source": {"format": "view", "path": "promises_other"}},
    {"type": "schema", "required_columns": ["nope"]},
]


@pytest.fixture
def secrets(spark: SparkSession) -> DataFrame:
    frame(spark, "s string", [["a"], ["b"], ["c"]]).createOrReplaceTempView("promises_other")
    return frame(spark, "id int, s string, t string", [[1, SECRET, SECRET], [1, SECRET, None], [2, None, SECRET]])


def test_results_hold_no_data_unless_asked(secrets: DataFrame) -> None:
    results = Cola().run(secrets, RULES)
    shown = {r.code: text for r in results if SECRET in (text := f"{r} {r.to_dict()}")}
    assert shown == {}
    assert len(results) == len(RULES)
    assert {r.severity for r in results} == {"fail"}


@pytest.mark.parametrize("on_failure", ["fail", "warn"])
def test_neither_does_the_log_nor_the_report_of_a_run(
    spark: SparkSession, secrets: DataFrame, on_failure: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    report = str(tmp_path / "report")
    validations = {"rules": RULES, "on_failure": on_failure, "report": {"format": "json", "path": report}}
    document = {"name": "p", "input": {"format": "view", "path": "x"}, "validations": validations, "output": {"format": "view", "path": "promises_out"}}
    with caplog.at_level(logging.DEBUG, "sparquet"):
        result = Sparquet(spark).run_from_dict(document, input_df=secrets)
    assert len(result.validation_results) == spark.read.json(report).count() == len(RULES)
    assert "rules measured: 26" in caplog.text
    places = {"log": caplog.text, "result": json.dumps(result.to_dict()), "report": str(spark.read.json(report).collect())}
    assert [name for name, text in places.items() if SECRET in text] == []


def test_pyspark_still_logs_what_is_not_ours(spark: SparkSession, secrets: DataFrame) -> None:
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    Cola().run(secrets, RULES[:1])
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler := logging.StreamHandler(logged := io.StringIO()))
    try:
        with pytest.raises(PySparkException):  # its own way of logging takes more than a plain logger would
            secrets.selectExpr("CAST(s AS INT)").collect()
    finally:
        logger.removeHandler(handler)
    assert "CAST_INVALID_INPUT" in logged.getvalue()


def test_runs_in_threads_leave_pysparks_log_as_it_was() -> None:
    """The run that began first ends first."""
    logger = logging.getLogger("SQLQueryContextLogger")
    record = logger.makeRecord(logger.name, logging.ERROR, "", 0, "", (), None)
    first, second = quiet_spark_errors(), quiet_spark_errors()
    passed = [bool(logger.filter(record))]
    for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None), lambda: second.__exit__(None, None, None)):
        step()
        passed.append(bool(logger.filter(record)))
    assert passed == [True, False, False, False, True]
