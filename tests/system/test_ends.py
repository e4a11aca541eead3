"""Every end of a task, on a real Airflow and a real Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Outcome, drivers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ended(run_dag: Any) -> Outcome:
    """One run of the DAG ``ends`` for all tests of this module."""
    outcome: Outcome = run_dag("ends")
    return outcome


def rows(folder: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.ParquetFile(file).metadata.num_rows for file in folder.rglob("*.parquet"))


def test_states_and_tries(ended: Outcome) -> None:
    assert ended.states == {
        "success": "success", "read_success": "success", "skipped": "skipped", "read_skipped": "success", "not_reached": "skipped",
        "quality": "failed", "read_quality": "success", "data": "failed", "lint": "failed", "infrastructure": "success",
        "mapped[0]": "success", "mapped[1]": "skipped", "mapped[2]": "failed", "collect": "success", "empty": "skipped",
        "timeout": "failed", "gate": "success", "closed_gate": "failed", "verdict": "success", "delta": "success",
    }
    assert {name: n for name, n in ended.tries.items() if n > 1} == {"infrastructure": 2}, "only faults of the infrastructure are tried again"


def test_the_result(ended: Outcome, data: Path) -> None:
    result = ended.xcoms["success"]["return_value"]
    assert (result["status"], result["rows_read"], result["rows_written"]) == ("success", 3, 2)
    assert result["params"]["quote"] == "O'Brien"
    assert result["params"]["password"] == "***"
    assert result["params"]["big"] == str(10**20)
    assert rows(data / "out" / "success") == 2
    (kept,) = (data / "results").rglob("result.json")
    full = json.loads(kept.read_text(), parse_constant=lambda name: pytest.fail(f"no strict JSON: {name}"))
    assert full["attempt"].startswith("sparquet-")


def test_collected_variables_are_xcoms_of_their_own(ended: Outcome) -> None:
    xcoms = ended.xcoms["success"]
    shown = "O'Brien|C:\\new\\t|a\"b|one\ntwo|\N{GRINNING FACE}|||true|100000000000000000000|0.1|007"
    assert xcoms["quoted"] in ([shown], shown)
    assert xcoms["day"] in (["2026-01-02"], "2026-01-02")
    assert sorted(xcoms["amounts"]) == ["2.5000", "3.2500"]
    assert xcoms["huge"] in (["9223372036854775807"], "9223372036854775807")


def test_a_child_reads_the_summary_of_a_skipped_and_of_a_failed_run(ended: Outcome) -> None:
    assert ended.xcoms["read_success"]["return_value"] == "success done "
    assert ended.xcoms["read_skipped"]["return_value"] == "skipped stop_if_empty no order above 1000"
    assert ended.xcoms["read_quality"]["return_value"].startswith("failed quality")


def test_a_failed_gate_names_its_rules_and_writes_nothing(ended: Outcome, data: Path) -> None:
    text = (data / "callback_quality").read_text()
    assert "C042" in text
    assert "not_null" not in text
    assert not (data / "out" / "quality").exists()
    assert [c["passed"] for c in ended.xcoms["quality"]["return_value"]["validation_results"]] == [False, True]


def test_mapped_tasks(ended: Outcome, data: Path) -> None:
    assert sorted(ended.xcoms["collect"]["return_value"]) == ["data", "done", "stop_if_empty"]
    assert rows(data / "out" / "mapped") == 2


def test_a_killed_driver_is_tried_again_and_writes_once(ended: Outcome, data: Path) -> None:
    assert "RESULT_MISSING" in ended.log
    assert rows(data / "out" / "dying") == 3


def test_a_timeout_leaves_no_driver(ended: Outcome, data: Path) -> None:
    assert (data / "waiting").exists(), "the driver was there"
    assert drivers() == []
    assert not (data / "out" / "timeout").exists()


def test_a_faulty_document_is_reported_whole_and_not_submitted(ended: Outcome) -> None:
    assert "MISSPELT_KEY" in ended.log or "UNKNOWN_KEY" in ended.log
    assert "[MISSING_KEY]" in ended.log
    assert "return_value" not in ended.xcoms.get("lint", {})


def test_a_gate_of_a_function_passes_with_a_warning(ended: Outcome) -> None:
    xcoms = ended.xcoms["gate"]
    assert [(r["rule_type"], r["severity"]) for r in xcoms["return_value"]["validation_results"]] == [("not_null", "pass"), ("row_count", "warn")]
    assert (xcoms["failed_rules"], xcoms["warned_rules"]) == ([], ["many orders"])
    assert "[WARN] many orders: " in ended.log


def test_a_closed_gate_has_one_try_and_names_its_rules(ended: Outcome, data: Path) -> None:
    xcoms = ended.xcoms["closed_gate"]
    assert (xcoms["return_value"]["status"], xcoms["return_value"]["reason"]) == ("failed", "quality")
    assert ended.tries["closed_gate"] == 1
    text = (data / "callback_closed_gate").read_text()
    assert "- enough orders: " in text
    assert "- C7: " in text
    assert ended.xcoms["verdict"]["return_value"] == ["quality", ["enough orders", "C7"], ["missing_count(id)"]]


def test_a_closed_gate_has_split_the_rows(ended: Outcome, data: Path) -> None:
    import pyarrow.parquet as pq

    (bad,) = (data / "out" / "closed_gate").glob("*.parquet")
    assert [(row["amount"], row["_broken"]) for row in pq.read_table(bad).to_pylist()] == [(1.5, ["C7"])]
    good = "".join(file.read_text() for file in (data / "out" / "closed_gate_valid").glob("*.csv"))
    assert [line.split(",")[0] for line in good.splitlines()] == ["id", "2", "3"]


def test_delta_needs_no_configuration(ended: Outcome, data: Path) -> None:
    (written,) = ended.xcoms["delta"]["return_value"]["outputs"]
    assert (written["rows_written"], written["version"]) == (3, 0)
    assert (data / "out" / "delta" / "_delta_log").is_dir()


def test_no_secret_anywhere(ended: Outcome, data: Path) -> None:
    kept = "".join(f.read_text() for f in (data / "results").rglob("*.*") if f.is_file())
    processes = (data / "processes").read_text()
    assert "sparquet_driver.py" in processes
    for secret in ("hunter22", "swordfish"):
        for name, text in {"log": ended.log, "processes": processes, "database": ended.stored, "kept result": kept}.items():
            assert secret not in text, f"{secret} in {name}: …{text[max(0, text.find(secret) - 200): text.find(secret) + 50]}"


def test_the_effective_parameters_are_logged(ended: Outcome) -> None:
    assert "Parameters: {'quote': \"O'Brien\"" in ended.log


def test_nothing_is_left_in_the_exchange(ended: Outcome) -> None:
    from sparquet_provider.hooks.exchange import private_base

    assert list(private_base().rglob("*")) == []


def test_a_run_without_logical_date(run_dag: Any, data: Path) -> None:
    outcome = run_dag("undated@none")
    assert outcome.states == {"ds": "failed", "safe": "success"}
    assert "'ds' is undefined" in outcome.log
    params = outcome.xcoms["safe"]["return_value"]["params"]
    assert len(params["day"]) == 10
    assert params["run"].startswith("manual__")


def test_lineage_events(ended: Outcome, data: Path) -> None:
    text = (data / "lineage.jsonl").read_text()
    assert "swordfish" not in text and "hunter22" not in text
    last = {(e["job"]["name"], e["eventType"]): e for e in map(json.loads, text.splitlines())}
    told = last["ends.success", "COMPLETE"]
    assert [(d["namespace"], d["name"]) for d in told["inputs"]] == [("file", f"{data}/orders.csv")]
    (output,) = told["outputs"]
    assert (output["namespace"], output["name"]) == ("file", f"{data}/out/success")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert {"name": "amount", "type": "decimal(30,4)"}.items() <= output["facets"]["schema"]["fields"][1].items()
    gate = last["ends.closed_gate", "FAIL"]
    outcomes = {a["name"]: (a["assertion"], a["success"]) for a in gate["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]}
    tests = {t["name"]: (t["status"], t["severity"]) for t in gate["run"]["facets"]["test"]["tests"]}
    failed = ended.xcoms["closed_gate"]["failed_rules"]
    assert failed and all(tests[name] == ("fail", "error") and not outcomes[name][1] for name in failed)
    assert {d["name"] for d in gate["outputs"]} == {f"{data}/out/closed_gate", f"{data}/out/closed_gate_valid"}
