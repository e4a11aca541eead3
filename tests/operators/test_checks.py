"""What a check operator submits: the document that its arguments make."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.core.text import plain_tree
from sparquet_provider.operators import ColaCheckOperator

RULES = [{"type": "row_count", "min": 1}]
PIPELINE: dict[str, Any] = {
    "name": "orders", "spark": {"app_name": "Orders", "configs": {"spark.sql.catalog.lake": "x"}},
    "input": {"format": "csv", "path": "{src}", "options": {"sep": ";"}},
    "transformations": [{"type": "filter", "condition": "day = '{day}'"}],
    "validations": {
        "on_failure": "warn", "as_of": "2026-01-01T00:00:00Z", "report": {"format": "csv", "path": "/dq", "mode": "append"}, "annotate": "_broken",
        "outputs": {"invalid": {"format": "csv", "path": "/bad"}}, "quarantine": True,
        "rules": [{"type": "sql", "failed_rows": "SELECT * FROM _validation_df", "output": {"format": "csv", "path": "/f"}}, {"type": "volume_anomaly"}, {"type": "not_null", "columns": ["id"]}],
    },
    "outputs": [
        {"format": "delta", "path": "/out/{day}", "mode": "merge", "options": {"merge_keys": ["id"], "mergeSchema": True}},
        {"format": "csv", "path": "/csv", "options": {"sep": "|", "maxRecordsPerFile": 5}, "columns": ["id"]},
    ],
}


@pytest.fixture
def dag(tmp_path: Path) -> Any:
    """A DAG in whose folder the documents are."""
    return SimpleNamespace(fileloc=str(tmp_path / "dag.py"), relative_fileloc="dag.py")


@pytest.fixture
def submitted(answer: Any, ti: Any, dag: Any) -> Any:
    """The document that an operator with these arguments submits."""
    seen = answer()

    def submit(**arguments: Any) -> Any:
        ColaCheckOperator(task_id="gate", **arguments).execute({"ti": ti, "dag": dag})
        return plain_tree(seen[-1][0].tree)

    submit.seen = seen
    return submit


def refused(answer: Any, ti: Any, dag: Any, match: str, **arguments: Any) -> str:
    """The text with which such arguments are refused, before anything is submitted."""
    seen = answer()
    with pytest.raises(AirflowFailException, match=match) as caught:
        ColaCheckOperator(task_id="gate", **arguments).execute({"ti": ti, "dag": dag})
    assert seen == []
    return str(caught.value)


def write(tmp_path: Path, name: str, content: Any) -> str:
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return name


# --- what is checked -----------------------------------------------------------------------------------------------
def test_a_check_is_a_document_of_input_and_rules(submitted: Any) -> None:
    tree = submitted(source="{src}", format="csv", rules=RULES, on_failure="warn", report={"format": "csv", "path": "/dq"}, pipeline_params={"src": "/in"})
    assert submitted.seen[0][0].task == "check"
    assert tree == {
        "name": "gate", "spark": {"app_name": "gate"}, "input": {"format": "csv", "path": "/in"},
        "validations": {"on_failure": "warn", "rules": RULES, "report": {"format": "csv", "path": "/dq"}},
    }


@pytest.mark.parametrize(("arguments", "block"), [
    ({"source": "/in"}, {"format": "parquet", "path": "/in"}),
    ({"source": Path("/in"), "format": "csv"}, {"format": "csv", "path": "/in"}),
    ({"table": "sales.orders"}, {"format": "delta", "path": "sales.orders"}),
    ({"table": "lake.sales.orders", "format": "iceberg"}, {"format": "iceberg", "path": "lake.sales.orders"}),
    ({"input": {"format": "csv", "path": "/in", "options": {"sep": ";"}}}, {"format": "csv", "path": "/in", "options": {"sep": ";"}}),
])
def test_the_input(submitted: Any, arguments: dict[str, Any], block: dict[str, Any]) -> None:
    assert submitted(rules=RULES, **arguments)["input"] == block


@pytest.mark.parametrize(("arguments", "words"), [
    ({}, r"input .* source .* table .* pipeline .*; none is given"),
    ({"input": {"format": "csv", "path": "/x"}, "source": "/x"}, "found input and source"),
    ({"table": "t", "pipeline": "p.json"}, "found table and pipeline"),
    ({"input": {"format": "csv", "path": "/x"}, "format": "csv"}, "format goes with source or table"),
    ({"source": "/x", "pipeline_part": "input"}, "pipeline_part goes with pipeline"),
    ({"table": "orders", "format": "csv"}, "'csv' has files, not tables: use source"),
    ({"table": "/lake/orders"}, "which is a path: use source='/lake/orders' and format='delta'"),
])
def test_what_is_checked_is_said_once(answer: Any, ti: Any, dag: Any, arguments: dict[str, Any], words: str) -> None:
    refused(answer, ti, dag, words, rules=RULES, **arguments)


def test_rules_have_to_be_given(answer: Any, ti: Any, dag: Any, tmp_path: Path) -> None:
    refused(answer, ti, dag, "Give rules", source="/x")
    for nothing in ([], {"rules": []}, write(tmp_path, "r.json", "[]"), write(tmp_path, "r.yaml", "")):
        refused(answer, ti, dag, r"/validations/rules.*at least one rule", source="/x", rules=nothing)


# --- the pipeline --------------------------------------------------------------------------------------------------
def test_a_pipeline_as_a_whole_writes_nothing(submitted: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "p.json", PIPELINE)
    tree = submitted(pipeline=file, pipeline_params={"src": "/in", "day": "2026-01-02"})
    assert tree == {
        "name": "orders", "spark": {"app_name": "Orders"}, "input": {"format": "csv", "path": "/in", "options": {"sep": ";"}},
        "transformations": [{"type": "filter", "condition": "day = '2026-01-02'"}],
        "validations": {
            "on_failure": "warn", "as_of": "2026-01-01T00:00:00Z",
            "rules": [
                {"type": "sql", "failed_rows": "SELECT * FROM _validation_df"}, {"type": "volume_anomaly", "history": {"format": "csv", "path": "/dq"}},
                {"type": "not_null", "columns": ["id"]},
            ],
        },
    }
    assert submitted.seen[0][1].settings.conf["spark.sql.catalog.lake"] == "x"


def test_a_check_document_keeps_its_report_and_quarantine(submitted: Any) -> None:
    document = {k: v for k, v in PIPELINE.items() if k != "outputs"}
    validations = submitted(pipeline=document, pipeline_params={"src": "/in", "day": "d"})["validations"]
    assert validations == PIPELINE["validations"]


def test_the_input_of_a_pipeline(submitted: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "p.json", PIPELINE)
    tree = submitted(pipeline=file, pipeline_part="input", rules=RULES, pipeline_params={"src": "/in"})
    assert tree == {
        "name": "gate", "spark": {"app_name": "gate"}, "input": {"format": "csv", "path": "/in", "options": {"sep": ";"}}, "validations": {"rules": RULES},
    }, "a parameter of other parts needs no value"


@pytest.mark.parametrize(("part", "block"), [
    ("outputs/0", {"format": "delta", "path": "/out/d"}),
    ("/outputs/1", {"format": "csv", "path": "/csv", "options": {"sep": "|"}}),
])
def test_an_output_of_a_pipeline_is_read_back(submitted: Any, part: str, block: dict[str, Any]) -> None:
    assert submitted(pipeline=PIPELINE, pipeline_part=part, rules=RULES, pipeline_params={"day": "d"})["input"] == block


def test_the_output_of_a_pipeline_with_one(submitted: Any) -> None:
    document = {**PIPELINE, "output": PIPELINE["outputs"][1]}
    del document["outputs"]
    tree = submitted(pipeline=document, pipeline_part="output")
    assert tree["input"]["path"] == "/csv"
    assert [r["type"] for r in tree["validations"]["rules"]] == ["sql", "volume_anomaly", "not_null"], "without rules the pipeline's own count"


@pytest.mark.parametrize("part", ["output", "outputs/2", "transformations"])
def test_a_part_that_is_not_there_names_those_that_are(answer: Any, ti: Any, dag: Any, part: str) -> None:
    refused(answer, ti, dag, "has: input, outputs/0, outputs/1", pipeline=PIPELINE, pipeline_part=part, rules=RULES)


def test_an_output_that_cannot_be_read_is_named_with_its_place(answer: Any, ti: Any, dag: Any, tmp_path: Path) -> None:
    from sparquet_provider.core.extension import BaseWriter
    from sparquet_provider.core.registry import Registry, reset_shared

    Registry().register("writer", "sink", BaseWriter)
    try:
        file = write(tmp_path, "p.json", {**PIPELINE, "outputs": [{"format": "sink", "path": "/x"}]})
        refused(answer, ti, dag, r"FORMAT_NOT_READABLE\] /input/format \(in p.json, /outputs/0\)", pipeline=file, pipeline_part="outputs/0", rules=RULES)
    finally:
        reset_shared()


def test_defects_name_the_file_and_the_place_in_it(answer: Any, ti: Any, dag: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "p.json", {**PIPELINE, "transformations": [{"type": "filtr"}]})
    rules = write(tmp_path, "r.json", '[{"type": "row_cuont"}, {"type": "row_count", "min": {least}}]')
    text = refused(answer, ti, dag, "defects", pipeline=file, rules=rules)
    for part in (
        "/input/path (in p.json): the placeholder {src}", "/transformations/0/type (in p.json)", "/1/min (in r.json): the placeholder {least}",
        "/validations/rules/0/type (in r.json)",
    ):
        assert part in text
    assert "/outputs" not in text


def test_a_defect_of_an_argument_names_no_file(answer: Any, ti: Any, dag: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "p.json", PIPELINE)
    params = {"src": "/x", "day": "d"}
    for part in (None, "input"):
        refused(answer, ti, dag, r"/validations/rules/0/type: ", pipeline=file, pipeline_part=part, rules=[{"type": "row_cuont"}], pipeline_params=params)


def test_a_missing_pipeline_is_named(answer: Any, ti: Any, dag: Any) -> None:
    refused(answer, ti, dag, r"DOCUMENT_NOT_FOUND.*nowhere.json", pipeline="nowhere.json", rules=RULES)


# --- the rules -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("content", [
    '[{"type": "row_count", "min": {least}}]', '{"rules": [{"type": "row_count", "min": {least}}]}', '{"validations": {"rules": [{"type": "row_count", "min": {least}}]}}',
    '{"name": "x", "input": {"format": "csv", "path": "{other}"}, "validations": {"rules": [{"type": "row_count", "min": {least}}]}}',
])
def test_the_rules_of_a_file(answer: Any, ti: Any, dag: Any, tmp_path: Path, content: str) -> None:
    seen = answer()
    params = {"src": "/in", "least": 2, "odd": 1}
    operator = ColaCheckOperator(task_id="gate", input={"format": "csv", "path": "{src}"}, rules=write(tmp_path, "r.json", content), pipeline_params=params)
    value = operator.execute({"ti": ti, "dag": dag})
    assert seen[0][0].tree["validations"]["rules"] == [{"type": "row_count", "min": 2}]
    assert [w["code"] for w in value["warnings"]] == ["PARAMETER_NOT_USED"]
    assert "'odd'" in value["warnings"][0]["message"]


def test_a_validations_block_counts_as_a_whole_and_arguments_win(submitted: Any, tmp_path: Path) -> None:
    block = {**PIPELINE["validations"], "sample_rows": 5}
    del block["quarantine"]
    file = write(tmp_path, "r.json", block)
    assert submitted(source="/x", rules=file)["validations"] == block
    changed = submitted(
        source="/x", rules=file, on_failure="skip", as_of=dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc), sample_rows=0, reasons="_why", quarantine_rules=["not_null(id)"],
        quarantine={"invalid": {"format": "csv", "path": "/elsewhere"}},
    )["validations"]
    assert changed == {
        **block, "on_failure": "skip", "as_of": "2026-02-01T00:00:00+00:00", "sample_rows": 0, "reasons": "_why", "quarantine_rules": ["not_null(id)"],
        "outputs": {"invalid": {"format": "csv", "path": "/elsewhere"}},
    }


def test_the_rules_of_a_pipeline_come_without_its_destinations(submitted: Any, tmp_path: Path) -> None:
    validations = submitted(source="/x", rules=write(tmp_path, "p.json", PIPELINE))["validations"]
    assert set(validations) == {"on_failure", "as_of", "rules"}


def test_a_faulty_rule_is_named(answer: Any, ti: Any, dag: Any) -> None:
    refused(answer, ti, dag, "/validations/rules/0/type.*row_count", source="/x", rules=[{"type": "row_cuont"}])


def test_an_annotation_without_a_quarantine_is_refused(answer: Any, ti: Any, dag: Any) -> None:
    refused(answer, ti, dag, "/validations/annotate: annotate goes with outputs", source="/x", rules=RULES, annotate="_broken")


# --- the verdict ---------------------------------------------------------------------------------------------------
def test_each_broken_rule_is_a_line_in_the_log_and_a_name_in_xcom(answer: Any, ti: Any, capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        {"code": "C1", "check_name": "have a key", "severity": "fail", "message": "3 rows"}, {"code": "range(x)", "severity": "warn", "message": "1 row"},
        {"code": "row_count", "severity": "pass", "message": "fine"},
    ]
    answer(validation_results=results)
    value = ColaCheckOperator(task_id="gate", source="/x", rules=RULES, on_failure="warn").execute({"ti": ti})
    lines = [line for line in capsys.readouterr().out.splitlines() if "[warning" in line]
    assert [any(words in line for line in lines) for words in ("[FAIL] have a key: 3 rows", "[WARN] range(x): 1 row", "row_count")] == [True, True, False]
    assert ti.pushed == {"failed_rules": ["have a key"], "warned_rules": ["range(x)"]}
    assert value["validation_results"] == results
    answer(validation_results=results, status="failed", reason="quality", error="[QUALITY_FAILED] x")
    ti.pushed.clear()
    with pytest.raises(AirflowFailException, match="- have a key: 3 rows"):
        ColaCheckOperator(task_id="gate", source="/x", rules=RULES).execute({"ti": ti})
    assert ti.pushed["failed_rules"] == ["have a key"]
    assert ti.pushed["return_value"]["reason"] == "quality"
