"""What holds for every rule: one entry with targets is as many rules, and results hold no data unless asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparquet_provider.core.cola import Cola
from tests.core.steps.cases import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def test_results_hold_no_data_unless_asked(spark: SparkSession) -> None:
    secret = "s3cr3t"
    df = frame(spark, "id int, s string, t string", [[1, secret, secret], [1, secret, None], [2, None, secret]])
    rules = [
        {"type": "not_null", "column": "s"},
        {"type": "unique", "column": "s"},
        {"type": "range", "column": "s", "min": 0},
        {"type": "regex", "column": "t", "pattern": "^[0-9]+$"},
        {"type": "invalid_count", "column": "s", "valid_format": "integer", "must_be": "= 0"},
        {"type": "missing_count", "columns": ["s", "t"], "must_be": "= 0"},
        {"type": "accepted_values", "column": "s", "values": ["a"]},
        {"type": "column_comparison", "column": "s", "operator": "!=", "other": "t"},
        {"type": "column_comparison", "column": "s", "operator": "<", "other": "id"},
        {"type": "conditional_not_null", "column": "t", "when": "CAST(s AS INT) > 0"},
        {"type": "not_null", "column": "t", "filter": "CAST(s AS INT) > 0"},
        {"type": "row_count", "must_be": "> 0", "filter": "CAST(s AS DATE) > '2024-01-01'"},
        {"type": "sql", "query": "SELECT max(CAST(s AS INT)) > 0 FROM _validation_df"},
        {"type": "sql", "failed_rows": "SELECT * FROM _validation_df WHERE s = t"},
        {"type": "sum", "column": "s", "must_be": "> 0"},
        {"type": "distinct_count", "column": "s", "must_be": "> 5"},
    ]
    results = Cola().run(df, rules)
    shown = {r.code: text for r in results if secret in (text := f"{r} {r.to_dict()}")}
    assert shown == {}
    assert len(results) == len(rules)
    assert {r.severity for r in results} == {"fail"}
