"""Valid and invalid rows of a pipeline: every row is on one side, whatever the plan of the write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import BaseCheck, CheckResult, Cola, Sparquet

RULES = [
    {"type": "not_null", "columns": ["name"], "code": "N1"},
    {"type": "range", "column": "amount", "min": 0, "max": 100, "error_message": "the amount is odd"},
    {"type": "unique", "columns": ["id"]},
    {"type": "invalid_percent", "column": "mail", "valid_format": "email", "must_be": "< 90%"},
    {"type": "row_count", "min": 1},
]
ROWS = """VALUES (1, 'a', 5.0D, 'x@example.com'), (1, 'b', 6.0D, 'y@example.com'), (2, null, double('NaN'), 'z@example.com'), (null, 'c', null, null),
    (4, 'd', 200.0D, 'nonsense'), (5, 'e', 7.0D, 'w@example.com') AS t(id, name, amount, mail)"""
BAD = {(1, "a"), (1, "b"), (2, None), (4, "d")}
GOOD = {(None, "c"), (5, "e")}


@pytest.fixture
def folder(spark, tmp_path: Path) -> Path:
    spark.sql(f"SELECT * FROM {ROWS}").write.parquet(str(tmp_path / "in"))
    return tmp_path


def document(folder: Path, **validations: Any) -> dict[str, Any]:
    sides = {"valid": {"format": "parquet", "path": str(folder / "valid")}, "invalid": {"format": "parquet", "path": str(folder / "invalid")}}
    return {
        "name": "q",
        "input": {"format": "parquet", "path": str(folder / "in")},
        "validations": {"on_failure": "warn", "rules": RULES, "outputs": sides, **validations},
        "output": {"format": "parquet", "path": str(folder / "out")},
    }


def ids(spark, path: Path) -> set[tuple[Any, Any]]:
    rows = spark.read.parquet(str(path)).select("id", "name").collect()
    assert len(set(rows)) == len(rows)
    return {tuple(r) for r in rows}


@pytest.mark.parametrize("more", [{}, {"annotate": "_broken", "reasons": "_why"}, {"annotate": "_broken", "reasons": "_why", "annotate_valid": True}])
def test_both_sides_have_every_row_once(spark, folder: Path, more: dict[str, Any], request: pytest.FixtureRequest) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, **more))
    assert (result.status, result.rows_written) == ("success", 6)
    assert (ids(spark, folder / "valid"), ids(spark, folder / "invalid"), len(ids(spark, folder / "out"))) == (GOOD, BAD, 6)
    written = {o.at: o.rows_written for o in result.quarantine}
    assert written == {"/validations/outputs/valid": 2, "/validations/outputs/invalid": 4}
    assert sorted(p.name for p in folder.iterdir()) == ["in", "invalid", "out", "valid"]
    valid = spark.read.parquet(str(folder / "valid"))
    assert ("_broken" in valid.columns) is more.get("annotate_valid", False)
    if more:
        why = {(r["id"], r["name"]): (r["_broken"], r["_why"]) for r in spark.read.parquet(str(folder / "invalid")).collect()}
        assert why[(2, None)] == (["N1", "range(amount,0,100)"], ["with null in name", "the amount is odd"])
        assert why[(4, "d")] == (["range(amount,0,100)", "invalid_percent(mail)"], ["the amount is odd", "with an invalid mail"])
        assert why[(1, "a")] == (["unique(id)"], ["with a repeated id"])
    # What the report counts for a rule is what the quarantine holds for it.
    counts = {r.code: r.failed_count for r in result.validation_results if r.rule_type != "row_count"}
    if more:
        held = [code for codes, _ in why.values() for code in codes]
        assert counts == {code: held.count(code) for code in counts}


@pytest.mark.classic_only(reason="on Connect every side is a write of its own")
@pytest.mark.parametrize("kind", ["parquet", "json", "csv", "orc"])
def test_one_job_writes_both_sides_of_a_file_format(spark, folder: Path, kind: str) -> None:
    raw = document(folder)
    for side in raw["validations"]["outputs"].values():
        side["format"] = kind
    from sparquet_provider.core.engine import Engine

    engine = Engine(spark)
    before = engine.last_execution()
    result = Sparquet(spark).run_from_dict(raw)
    writes = [e for e in engine.executions_after(before) if any("number of written files" in n.metrics for n in e.nodes)]
    assert result.success and len(writes) == 2  # the sides, the output
    assert {o.at.rpartition("/")[2]: o.rows_written for o in result.quarantine} == {"valid": 2, "invalid": 4}
    found = spark.read.format(kind).option("header", True).option("inferSchema", True).load(str(folder / "invalid"))
    assert {(r["id"], r["name"]) for r in found.collect()} == BAD


def test_a_side_without_rows_can_be_read_back(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, rules=[{"type": "not_null", "columns": ["mail"], "filter": "id = 1"}]))
    assert result.success and ids(spark, folder / "valid") == GOOD | BAD
    assert spark.read.parquet(str(folder / "invalid")).schema == spark.read.parquet(str(folder / "valid")).schema
    assert ids(spark, folder / "invalid") == set()


def test_a_failed_gate_still_writes_the_quarantine(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, on_failure="fail"))
    assert (result.status, result.reason) == ("failed", "quality")
    assert ids(spark, folder / "invalid") == BAD and not (folder / "out").exists()


def test_only_valid_rows_go_on_when_asked(spark, folder: Path) -> None:
    raw = document(folder, quarantine=True)
    del raw["validations"]["outputs"]["valid"]
    result = Sparquet(spark).run_from_dict(raw)
    assert (result.success, result.rows_written, ids(spark, folder / "out"), ids(spark, folder / "invalid")) == (True, 2, GOOD, BAD)


def test_the_codes_narrow_the_rules(spark, folder: Path) -> None:
    assert Sparquet(spark).run_from_dict(document(folder, quarantine_rules=["N1"])).success
    assert ids(spark, folder / "invalid") == {(2, None)}
    wrong = Sparquet(spark).run_from_dict(document(folder, quarantine_rules=["N2"]))
    assert [(p.code, p.at) for p in wrong.problems] == [("WRONG_CHOICE", "/validations/quarantine_rules/0")]


def test_a_side_has_columns_and_steps_of_its_own(spark, folder: Path) -> None:
    raw = document(folder)
    raw["validations"]["outputs"]["invalid"] |= {"columns": ["id"], "transformations": [{"type": "filter", "condition": "id > 1"}]}
    result = Sparquet(spark).run_from_dict(raw)
    found = spark.read.parquet(str(folder / "invalid"))
    assert result.success and found.columns == ["id"] and sorted(r["id"] for r in found.collect()) == [2, 4]


def test_overwriting_the_source_by_a_side_is_refused(spark, folder: Path) -> None:
    raw = document(folder)
    raw["validations"]["outputs"]["invalid"]["path"] = raw["input"]["path"]
    result = Sparquet(spark).run_from_dict(raw)
    assert [p.code for p in result.problems] == ["SOURCE_OVERWRITTEN"] and spark.read.parquet(str(folder / "in")).count() == 6


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "regex", "column": "name", "pattern": "(["},
        {"type": "not_null", "column": "name", "filter": "CAST(mail AS INT) > 0"},
        {"type": "not_null", "column": "name", "filter": "nope > 0"},
        {"type": "conditional_not_null", "column": "name", "when": "sum(id) > 0"},
        {"type": "foreign_key", "column": "name", "source": {"format": "parquet", "path": "/nowhere"}},
        {"type": "sql", "failed_rows": "SELECT nope FROM _validation_df", "output": {"format": "parquet", "path": "/tmp/never"}},
    ],
)
def test_a_rule_that_fails_while_running_takes_no_part(spark, folder: Path, rule: dict[str, Any]) -> None:
    report = {"format": "json", "path": str(folder / "report")}
    result = Sparquet(spark).run_from_dict(document(folder, rules=[*RULES, rule], report=report))
    assert result.success and ids(spark, folder / "invalid") == BAD and spark.read.json(str(folder / "report")).count() == 6
    last = result.validation_results[-1]
    assert (last.severity, last.error["at"].startswith("/validations/rules/5")) == ("fail", True)


def test_columns_of_the_split_replace_none(spark, folder: Path) -> None:
    result = Sparquet(spark).run_from_dict(document(folder, annotate="NAME", reasons="mail"))
    assert [(p.code, p.at) for p in result.problems] == [("COLUMN_COLLISION", "/validations/annotate"), ("COLUMN_COLLISION", "/validations/reasons")]
    assert not (folder / "invalid").exists()


def test_a_rule_that_cannot_run_takes_no_part_and_the_suite_is_not_green(spark, folder: Path) -> None:
    raw = document(folder, rules=[*RULES, {"type": "not_null", "columns": ["nmae"]}])
    result = Sparquet(spark).run_from_dict(raw)
    assert ids(spark, folder / "invalid") == BAD
    last = result.validation_results[-1]
    assert (last.severity, last.error["code"], result.score) == ("fail", "COLUMN_NOT_FOUND", 0.3333)
    assert any(w.code == "RULE_FAILED" for w in result.warnings)


class NoShouting(BaseCheck):
    """Names must not be in capitals: ten lines."""

    def run(self, df: Any) -> CheckResult:
        failed = df.where(self.violation(df)).count()
        return CheckResult("no_shouting", not failed, f"{failed} names in capitals", failed)

    def violation(self, df: Any) -> Any:
        from pyspark.sql import functions as F

        return F.col(self.params["column"]).rlike("^[A-Z]+$")


def test_custom_checks_and_foreign_keys_take_part(spark, tmp_path: Path) -> None:
    frame = spark.sql("SELECT * FROM VALUES ('BR', 1), ('br', 2), (null, 3), ('xx', 4) AS t(name, k)")
    spark.sql("SELECT * FROM VALUES ('br', 1), ('BR', 9), ('BR', 8), (null, 3) AS t(code, other)").write.parquet(str(tmp_path / "ref"))
    cola = Cola()
    cola.register("no_shouting", NoShouting)
    rules = [
        {"type": "no_shouting", "column": "name", "code": "S"},
        {"type": "foreign_key", "columns": "name", "source_columns": "code", "source": {"format": "parquet", "path": str(tmp_path / "ref")}, "code": "F"},
    ]
    results = cola.run(frame, rules)
    assert [(r.code, r.failed_count) for r in results] == [("S", 1), ("F", 1)]
    split = cola.split(frame, rules, annotate="codes")
    assert {tuple(r) for r in split.valid.collect()} == {("br", 2), (None, 3)}
    assert {(r["k"], tuple(r["codes"])) for r in split.invalid.collect()} == {(1, ("S",)), (4, ("F",))}
    assert split.valid.columns == ["name", "k"]


def test_volume_is_compared_with_earlier_reports(spark, tmp_path: Path) -> None:
    report = {"format": "parquet", "path": str(tmp_path / "report"), "mode": "append"}
    rules = [{"type": "volume_anomaly", "min_history": 2, "max_deviation": "20%", "name": "volume"}, {"type": "row_count", "min": 0}]
    raw = {"name": "v", "input": {"format": "view", "path": "x"}, "validations": {"on_failure": "warn", "rules": rules, "report": report}, "output": {"format": "view", "path": "out_v"}}

    def run(rows: int, run_id: str, name: str = "v") -> CheckResult:
        result = Sparquet(spark).run_from_dict({**raw, "name": name}, input_df=spark.range(rows), run_id=run_id)
        assert result.success, result.error
        return result.validation_results[0]

    assert [run(100, "a").message, run(110, "b").passed] == ["100 rows; 0 earlier runs, 2 are needed for a judgement", True]
    assert run(1000, "b").message.startswith("1000 rows; 1 earlier runs")  # the same run again does not look at itself
    assert run(105, "c").message == "105 rows; the mean of 2 earlier runs is 550, 110 more or less are allowed"
    assert not run(105, "d").passed
    assert run(105, "e", name="another").message.startswith("105 rows; 0 earlier runs")


def test_volume_is_compared_with_earlier_results_of_the_library(spark, tmp_path: Path) -> None:
    place, cola = str(tmp_path / "results"), Cola()
    rules = [{"type": "volume_anomaly", "min_history": 2, "max_deviation": "20%", "history": {"format": "parquet", "path": place}}]
    found = []
    for rows in (100, 110, 105, 500):
        results = cola.run(spark.range(rows), rules)
        found.append((results[0].passed, results[0].message))
        cola.to_spark(spark, results).write.mode("append").parquet(place)
    assert found[:2] == [(True, "100 rows; 0 earlier runs, 2 are needed for a judgement"), (True, "110 rows; 1 earlier runs, 2 are needed for a judgement")]
    assert found[2:] == [(True, "105 rows; the mean of 2 earlier runs is 105, 21 more or less are allowed"), (False, "500 rows; the mean of 3 earlier runs is 105, 21 more or less are allowed")]


def test_five_hundred_rules_split_as_one(spark) -> None:
    frame = spark.range(10)
    split = Cola().split(frame, [{"type": "accepted_values", "column": "id", "values": [i for i in range(10) if i != n % 3]} for n in range(500)])
    assert (split.valid.count(), sorted(r["id"] for r in split.invalid.collect())) == (7, [0, 1, 2])


def test_keys_of_values_that_do_not_compare_are_refused(spark) -> None:
    frame = spark.sql("SELECT make_interval(0, 1) AS k, map('a', 1) AS m, 'x' AS t")
    rules = [{"type": "unique", "columns": ["k"]}, {"type": "distinct_count", "columns": ["t", "m"], "must_be": "> 0"}, {"type": "unique", "columns": ["t"]}]
    assert [r.error and (r.error["code"], r.error["at"]) for r in Cola().run(frame, rules)] == [("WRONG_TYPE", "/0/columns"), ("WRONG_TYPE", "/1/columns"), None]


def test_what_a_query_raises_stays_out_of_the_result(spark) -> None:
    frame = spark.sql("SELECT 'secret' AS t")
    results = Cola().run(frame, [{"type": "sql", "query": "SELECT raise_error(t) FROM _validation_df"}, {"type": "regex", "column": "t", "pattern": "s"}])
    assert results[0].error["code"] == "VALUE_FAILED" and "secret" not in str(results[0].to_dict()) and results[1].passed
