"""Odd frames, odd rules and code that breaks: each rule keeps its own trouble, and no row and no secret goes astray."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import BaseCheck, CheckResult, Cola, Sparquet
from sparquet_provider.core.errors import SparquetError
from sparquet_provider.core.load import load
from sparquet_provider.core.run import Options


@pytest.fixture
def frame(spark) -> Any:
    return spark.sql("SELECT * FROM VALUES (1, 'a'), (2, 'b'), (3, 'secret') AS t(id, t)")


def errors(results: list[CheckResult]) -> list[Any]:
    return [r.error and (r.error["code"], r.error["at"]) for r in results]


def document(spark, folder: Path, **more: Any) -> dict[str, Any]:
    spark.range(3).write.mode("overwrite").parquet(str(folder / "in"))
    spark.read.parquet(str(folder / "in")).createOrReplaceTempView("robust")
    return {
        "name": "r", "input": {"format": "view", "path": "robust"}, "output": {"format": "parquet", "path": str(folder / "out")},
        "validations": {"on_failure": "warn", "rules": [{"type": "row_count", "min": 1}], **more},
    }  # fmt: skip


@pytest.mark.parametrize("key", ["report", "output"])
def test_what_quality_writes_never_replaces_the_source(spark, tmp_path: Path, key: str) -> None:
    place = {"format": "parquet", "path": str(tmp_path / "in"), "mode": "overwrite"}
    more: dict[str, Any] = {"report": place} if key == "report" else {"rules": [{"type": "sql", "failed_rows": "SELECT 1 AS x", "output": place}]}
    result = Sparquet(spark).run_from_dict(document(spark, tmp_path, **more))
    assert [p.code for p in result.problems] == ["SOURCE_OVERWRITTEN"] and spark.read.parquet(str(tmp_path / "in")).count() == 3


@pytest.mark.parametrize(("minimum", "counts"), [(9, {"valid": 0, "invalid": 3}), (0, {"valid": 3, "invalid": 0})])
def test_a_side_without_rows_counts_none(spark, tmp_path: Path, minimum: int, counts: dict[str, int]) -> None:
    sides = {side: {"format": "parquet", "path": str(tmp_path / side)} for side in counts}
    result = Sparquet(spark).run_from_dict(document(spark, tmp_path, rules=[{"type": "range", "column": "id", "min": minimum}], outputs=sides))
    assert {o.at.rpartition("/")[2]: o.rows_written for o in result.quarantine} == counts
    assert {side: spark.read.parquet(str(tmp_path / side)).count() for side in sides} == counts


def test_names_of_helpers_are_refused(spark, tmp_path: Path) -> None:
    raw = document(spark, tmp_path, rules=[{"type": "unique", "column": "id"}], outputs={"valid": {"format": "parquet", "path": str(tmp_path / "v")}})
    result = Sparquet(spark).run_from_dict({**raw, "transformations": [{"type": "with_column", "column": "__sparquet_0", "expression": "1"}]})
    assert [p.code for p in result.problems] == ["RESERVED_NAME"]


def test_keys_of_two_kinds_are_not_compared(spark) -> None:
    spark.sql("SELECT * FROM VALUES ('1'), ('01'), (' 1 '), ('2') AS t(id)").createOrReplaceTempView("texts")
    rules = [{"type": "foreign_key", "columns": ["id"], "source": {"format": "view", "path": "texts"}}]
    assert errors(Cola().run(spark.range(3), rules)) == [("WRONG_TYPE", "/0/source_columns")]
    with pytest.raises(SparquetError, match="WRONG_TYPE"):
        Cola().split(spark.range(3), rules)


def test_secrets_of_a_source_stay_out_and_do_not_change_the_rule(spark, frame: Any) -> None:
    def rule(password: str) -> dict[str, Any]:
        return {"type": "foreign_key", "columns": ["id"], "source": {"format": "parquet", "path": "/nowhere", "options": {"password": password}}}

    one, two = Cola().run(frame, [rule("hunter2"), rule("hunter3")])
    assert "hunter" not in json.dumps(one.to_dict()) and one.rule_uid == two.rule_uid


def test_texts_that_a_collation_makes_equal_are_one_key(spark) -> None:
    frame = spark.sql("SELECT * FROM VALUES ('a'), ('A'), ('b') AS t(k)").selectExpr("collate(k, 'UTF8_LCASE') AS k")
    rules = [{"type": "unique", "columns": ["k"]}, {"type": "distinct_count", "columns": ["k"], "must_be": "= 2"}]
    assert [r.failed_count for r in Cola().run(frame, rules)] == [2, 0]
    assert Cola().split(frame, rules).invalid.count() == 2


class Breaks(BaseCheck):
    """Does what ``how`` says."""

    def __init__(self, params: dict[str, Any], spark: Any = None) -> None:
        super().__init__(params, spark)
        if params["how"] == "constructor":
            raise KeyError("gone")

    def run(self, df: Any) -> Any:
        how = self.params["how"]
        if how == "cast":
            df.selectExpr("CAST(t AS INT)").collect()
        return {"none": None, "dict": {"passed": True}, "count": CheckResult("x", False, "no", "abc")}.get(how)  # type: ignore[arg-type]

    def violation(self, df: Any) -> Any:
        return {"text": "id > 1", "column": df["id"]}.get(self.params["how"])


def test_code_that_breaks_has_an_error_of_its_own(frame: Any) -> None:
    cola = Cola()
    cola.register("breaks", Breaks)
    rules: list[dict[str, Any]] = [{"type": "breaks", "how": how} for how in ("constructor", "none", "dict", "count", "cast")]
    results = cola.run(frame, [*rules, {"type": "breaks", "how": "none", "filter": "id >"}, {"type": "row_count", "min": 3}])
    assert [e and e[0] for e in errors(results)] == ["EXTENSION_FAILED"] * 5 + ["SQL_INVALID", None]
    assert "secret" not in json.dumps([r.to_dict() for r in results]) and "CAST_INVALID_INPUT" in results[4].message


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "breaks", "how": "text"},
        {"type": "breaks", "how": "column"},
        {"type": "not_null", "column": "id", "filter": "id >"},
        {"type": "not_null", "column": "id", "filter": "sum(id) > 1"},
    ],
)
def test_a_split_raises_errors_of_ours(frame: Any, rule: dict[str, Any]) -> None:
    cola = Cola()
    cola.register("breaks", Breaks)
    with pytest.raises(SparquetError) as caught:
        cola.split(frame, [rule])
    assert caught.value.problems[0].at.startswith("/0")


def test_rules_that_do_not_fit_their_values_do_not_stop_the_others(spark, frame: Any) -> None:
    frame = frame.selectExpr("*", "TIMESTAMP'+12000-01-01 00:00:00' AS far")
    frame.createOrReplaceTempView("same")
    source = {"format": "view", "path": "same"}
    rules = [
        {"type": "reconciliation", "expression": "max(t)", "source": source},
        {"type": "reconciliation", "expression": "collect_list(id)", "source": source},
        {"type": "max", "column": "far", "must_be": "> 2020-01-01"},
        {"type": "accepted_values", "column": "far", "values": ["20260131"]},
        {"type": "not_null", "column": "id", "filter": "id > 1 -- the rest"},
        {"type": "conditional_not_null", "column": "id", "when": "id > 1 -- the rest"},
        {"type": "reconciliation", "expression": "sum(id)", "source": source},
    ]
    found = [e and e[0] for e in errors(Cola().run(frame, rules))]
    assert found == ["WRONG_TYPE", "WRONG_TYPE", "EXPRESSION_FAILED", "WRONG_TYPE", None, None, None]


def test_a_check_judges_the_time_that_the_source_has(spark, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS id, TIMESTAMP'2020-01-01 00:00:00' AS ingestion_ts").write.parquet(str(tmp_path / "old"))
    rules = [{"type": "freshness", "column": "ingestion_ts", "must_be": "< 1d"}]
    raw = {"name": "c", "input": {"format": "parquet", "path": str(tmp_path / "old")}, "validations": {"on_failure": "warn", "rules": rules}}
    result = Sparquet(spark).run_loaded(load(raw), Options(), check=True)
    assert [r.passed for r in result.validation_results] == [False] and [w.code for w in result.warnings] == ["RULE_FAILED"]


def test_samples_show_columns_with_odd_names(spark) -> None:
    frame = spark.sql("SELECT NULL AS `a,b`, 1 AS id")
    assert Cola().run(frame, [{"type": "not_null", "column": "a,b"}], sample_rows=1)[0].samples == [{"a,b": None}]


def test_columns_that_differ_in_case_only(spark) -> None:
    frame = spark.sql("SELECT 1 AS a, NULL AS b").toDF("ID", "id")
    rules = [{"type": "not_null", "column": "ID"}, {"type": "not_null", "column": "id"}, {"type": "not_null", "column": "Id"}]
    results = Cola().run(frame, rules)
    assert [r.failed_count for r in results[:2]] == [0, 1] and errors(results)[2] == ("COLUMN_AMBIGUOUS", "/2")
    assert Cola().split(frame, rules[:2]).invalid.columns == ["ID", "id"]


@pytest.mark.classic_only(reason="a setting of the session decides how names are read")
def test_filters_where_case_counts(spark) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.sql("SELECT 1 AS a, NULL AS b").toDF("ID", "id")
        assert [r.failed_count for r in Cola().run(frame, [{"type": "not_null", "column": "id", "filter": "ID > 0"}])] == [1]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_report_with_options_is_read_back_with_them(spark, tmp_path: Path) -> None:
    report = {"format": "csv", "path": str(tmp_path / "report"), "mode": "append", "options": {"sep": ";"}}
    raw = document(spark, tmp_path, rules=[{"type": "volume_anomaly", "min_history": 1}], report=report)
    messages = [Sparquet(spark).run_from_dict(raw, run_id=run).validation_results[0].message for run in ("a", "b")]
    assert [m.split(";")[0] for m in messages] == ["3 rows", "3 rows"] and "the mean of 1 earlier runs is 3" in messages[1]


def test_a_condition_takes_a_runtime_variable(spark, tmp_path: Path) -> None:
    steps = [{"type": "collect", "column": "id", "as": "n"}, {"type": "filter", "condition": "id IN ({{n}})"}]
    one = {"type": "filter", "condition": "id = 2"}
    rules = [{"type": "max", "column": "id", "must_be": "= {{n}}"}, {"type": "min", "column": "id", "must_be": "= {{n}} apples"}]
    result = Sparquet(spark).run_from_dict({**document(spark, tmp_path, rules=rules), "transformations": [one, *steps]})
    assert errors(result.validation_results) == [None, ("THRESHOLD_INVALID", "/validations/rules/1/must_be")] and result.validation_results[0].passed


def test_suggestions_hold_for_the_frame_that_they_come_from(spark) -> None:
    frame = spark.sql(
        "SELECT id, id % 3 AS k, IF(id = 5, NULL, concat('n', id % 2)) AS name, IF(id = 7, double('NaN'), id * 1.5D) AS nan, id / 0.5D AS d, "
        "DATE'2026-01-01' + CAST(id AS INT) AS day, IF(id = 1, double('infinity'), 1D) AS inf, map('a', 1) AS m FROM range(100)"
    )
    rules = Cola().suggest(frame)
    json.dumps(rules, allow_nan=False)
    kinds = {(r["type"], r.get("column") or r.get("columns", [""])[0]) for r in rules}
    assert {("unique", "id"), ("accepted_values", "name"), ("missing_percent", "name"), ("range", "day"), ("not_null", "k")} <= kinds
    assert ("range", "nan") not in kinds and ("range", "inf") not in kinds
    failed = [str(r) for r in Cola().run(frame, rules) if not r.passed]
    assert failed == []
    assert Cola().suggest(spark.range(0).select()) == [{"type": "row_count", "min": 0}] and Cola().suggest(spark.sql("SELECT 1 AS a, 2 AS b").toDF("ID", "id"))


def test_a_source_of_an_unknown_format_is_a_defect_of_the_rules(frame: Any) -> None:
    with pytest.raises(SparquetError, match="UNKNOWN_TYPE.*/0/source/format"):
        Cola().run(frame, [{"type": "foreign_key", "column": "id", "source": {"format": "nope", "path": "x"}}])
    with pytest.raises(SparquetError, match="WRONG_CHOICE.*/codes"):
        Cola().split(frame, [{"type": "not_null", "column": "id"}], codes=["typo"])
