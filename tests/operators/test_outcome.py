"""How a result becomes XComs and the task's state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from sparquet_provider.operators.outcome import compact, error_of, failed_rules, push

RULES = [
    {"code": "C1", "check_name": "have a key", "severity": "fail", "passed": False, "message": "3 rows", "samples": [{"a": "x" * 50}], "rule_params": {"p": 1}},
    {"code": "row_count", "check_name": None, "severity": "pass", "passed": True, "message": "", "samples": None, "rule_params": {}},
    {"code": "range(x)", "check_name": None, "severity": "warn", "passed": False, "message": "1 row", "samples": None, "rule_params": {}},
]


def result(**changes: Any) -> dict[str, Any]:
    return {"pipeline_name": "orders", "status": "success", "reason": "done", "message": "", "error": None, "outputs": [], "variables": {}, "warnings": [], **changes}


@pytest.mark.parametrize(("changes", "kind", "text"), [
    ({"status": "skipped", "reason": "stop_if_empty", "message": "nothing since Monday"}, AirflowSkipException, "nothing since Monday"),
    ({"status": "failed", "reason": "quality", "error": "[QUALITY_FAILED] …", "validation_results": RULES}, AirflowFailException, "- have a key: 3 rows"),
    ({"status": "failed", "reason": "document", "error": "[UNKNOWN_KEY] /x"}, AirflowFailException, r"orders: \[UNKNOWN_KEY\] /x"),
    ({"status": "failed", "reason": "data", "error": "[COLUMN_NOT_FOUND] /x"}, AirflowFailException, "COLUMN_NOT_FOUND"),
    ({"status": "failed", "reason": "internal", "error": "[INTERNAL] x"}, AirflowFailException, "INTERNAL"),
    ({"status": "failed", "reason": "infrastructure", "error": "[ENGINE_FAILED] x"}, AirflowException, "ENGINE_FAILED"),
])
def test_every_end_has_its_exception(changes: dict[str, Any], kind: type[Exception], text: str) -> None:
    error = error_of(result(**changes))
    assert type(error) is kind
    with pytest.raises(kind, match=text):
        raise error


def test_success_has_none() -> None:
    assert error_of(result()) is None


def test_only_failed_rules_are_named() -> None:
    assert failed_rules({"validation_results": RULES}) == ["have a key: 3 rows"]
    text = str(error_of(result(status="failed", reason="quality", validation_results=RULES)))
    assert "range(x)" not in text


def test_quality_may_be_tried_again() -> None:
    assert type(error_of(result(status="failed", reason="quality"), retry_on_quality_failure=True)) is AirflowException
    assert type(error_of(result(status="failed", reason="data"), retry_on_quality_failure=True)) is AirflowFailException


def test_rules_that_the_infrastructure_broke_are_tried_again_and_others_are_not() -> None:
    lost = {"code": "a", "severity": "fail", "message": "could not run", "error": {"code": "ENGINE_FAILED", "category": "infrastructure"}}
    faulty = {**lost, "error": {"code": "COLUMN_NOT_FOUND", "category": "data"}}
    for rules, kind in (([lost], AirflowException), ([lost, RULES[0]], AirflowFailException), ([faulty], AirflowFailException)):
        assert type(error_of(result(status="failed", reason="quality", validation_results=[RULES[1], *rules]))) is kind


def test_names_of_broken_rules_are_xcoms_of_their_own(ti: Any) -> None:
    push(ti, result(validation_results=RULES), 10_000, None)
    assert ti.pushed == {"failed_rules": ["have a key"], "warned_rules": ["range(x)"]}
    ti.pushed.clear()
    push(ti, result(validation_results=RULES[1:2]), 10_000, None)
    assert ti.pushed == {"failed_rules": [], "warned_rules": []}
    ti.pushed.clear()
    push(ti, result(), 10_000, None)
    assert ti.pushed == {}, "a run without rules has no such lists"


def test_what_was_written_before_a_failure_is_said() -> None:
    outputs = [{"status": "written", "format": "delta", "path": "/a", "rows_written": 3}, {"status": "failed", "format": "csv", "path": "/b"}]
    assert "Written before: delta /a (3 rows)" in str(error_of(result(status="failed", reason="infrastructure", outputs=outputs)))


def test_a_small_result_is_pushed_whole_with_every_variable(ti: Any) -> None:
    variables = {"ids": [1, 2], "day": "2026-01-01", "nothing": None}
    small, warnings = push(ti, result(variables=variables), 1000, None)
    assert ti.pushed == variables
    assert small == result(variables=variables)
    assert warnings == []


def test_large_parts_are_left_out_with_the_place_of_the_full_result(ti: Any) -> None:
    large = result(variables={"big": ["x" * 100] * 100, "small": 1}, validation_results=RULES, steps=[{"at": f"/transformations/{i}"} for i in range(20)])
    small, warnings = push(ti, large, 2000, "/results/r.json")
    assert ti.pushed == {"small": 1, "failed_rules": ["have a key"], "warned_rules": ["range(x)"]}
    assert len(json.dumps(small)) < 2000 + 500, "the warning itself comes on top"
    assert small["validation_results"][0]["code"] == "C1"
    assert "variables" not in small
    (warning,) = warnings
    assert small["warnings"] == [warning.to_dict()]
    assert "the variable big, samples of rules, variables" in str(warning)
    assert "/results/r.json" in str(warning)


def test_without_a_place_the_warning_names_the_option(ti: Any) -> None:
    assert "set result_dir to keep it" in str(push(ti, result(variables={"big": "x" * 5000}), 1000, None)[1][0])


@pytest.mark.parametrize("limit", [3000, 1500, 800, 300])
def test_the_verdict_stays_whatever_the_limit(limit: int) -> None:
    large = result(
        validation_results=RULES * 20, message="m" * 3000, error="e" * 3000, params={"p": "x" * 300}, warnings=[{"code": "W"}] * 30,
        outputs=[{"status": "written", "details": {"x": "y" * 400}}] * 3, quarantine=[{"status": "written", "details": {"x": "y" * 400}}], steps=[{}] * 100, engine={},
    )
    small, dropped = compact(large, limit)
    assert (small["pipeline_name"], small["status"], small["reason"]) == ("orders", "success", "done")
    assert len(json.dumps(small)) < max(limit, 2600)
    assert dropped
    assert len(json.dumps(large)) > 15_000, "the full result is untouched"


def test_a_variable_cannot_take_the_place_of_the_result(ti: Any) -> None:
    _, warnings = push(ti, result(variables={"return_value": 1, "sparquet_report_url": "x", "failed_rules": 1}), 1000, None)
    assert ti.pushed == {}
    assert "the variable return_value, the variable sparquet_report_url, the variable failed_rules" in str(warnings[0])
