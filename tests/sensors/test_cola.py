"""What the sensor makes of each answer, in every mode."""

from __future__ import annotations

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from sparquet_provider.sensors import ColaCheckSensor

RULES = [{"type": "row_count", "min": 1}]
HOLDS: dict[str, Any] = {"validation_results": [{"code": "row_count", "severity": "pass", "message": "3 rows"}]}
NOT_YET = {
    "status": "failed", "reason": "quality", "error": "[QUALITY_FAILED] x", "problems": [{"code": "QUALITY_FAILED"}],
    "validation_results": [{"code": "row_count", "severity": "fail", "message": "0 rows"}],
}
MISSING = {"status": "failed", "reason": "data", "error": "[SOURCE_NOT_FOUND] /input/path", "problems": [{"code": "SOURCE_NOT_FOUND"}]}
FAULTY = {"status": "failed", "reason": "data", "error": "[COLUMN_NOT_FOUND] /x", "problems": [{"code": "COLUMN_NOT_FOUND"}]}
LOST = {"status": "failed", "reason": "infrastructure", "error": "[ENGINE_FAILED] x", "problems": [{"code": "ENGINE_FAILED"}]}


def sensor(**arguments: Any) -> ColaCheckSensor:
    return ColaCheckSensor(**{"task_id": "wait", "source": "/x", "rules": RULES, "poke_interval": 0, **arguments})


def poke(ti: Any, **arguments: Any) -> Any:
    return sensor(**arguments).poke({"ti": ti})


# --- one poke ------------------------------------------------------------------------------------------------------
def test_rules_that_hold_end_the_wait_with_the_result(answers: Any, ti: Any) -> None:
    seen = answers(HOLDS)
    done = poke(ti)
    assert (done.is_done, done.xcom_value["status"]) == (True, "success")
    assert ti.pushed == {"failed_rules": [], "warned_rules": []}
    assert seen[0].task == "check"


def test_rules_that_only_warn_hold(answers: Any, ti: Any) -> None:
    answers({"validation_results": [{"code": "c", "severity": "warn", "message": "m"}]})
    assert poke(ti)
    assert ti.pushed["warned_rules"] == ["c"]


def test_a_file_of_rules_that_only_warns_does_not_let_everything_pass(answers: Any, ti: Any, tmp_path: Path) -> None:
    seen = answers(HOLDS)
    (tmp_path / "r.json").write_text('{"on_failure": "warn", "rules": [{"type": "row_count", "min": 1}]}')
    poke(ti, rules=str(tmp_path / "r.json"))
    assert seen[0].tree["validations"]["on_failure"] == "fail"


def test_broken_rules_mean_not_yet_and_can_be_read(answers: Any, ti: Any) -> None:
    answers(NOT_YET)
    assert not poke(ti)
    assert ti.pushed["failed_rules"] == ["row_count"]
    assert ti.pushed["return_value"]["reason"] == "quality"


def test_nothing_to_do_means_not_yet(answers: Any, ti: Any) -> None:
    answers({"status": "skipped", "reason": "stop_if_empty", "message": "no orders"})
    assert not poke(ti)


@pytest.mark.parametrize("code", ["SOURCE_NOT_FOUND", "SOURCE_EMPTY"])
def test_a_missing_source_means_not_yet_where_that_is_said(answers: Any, ti: Any, code: str) -> None:
    answers({**MISSING, "problems": [{"code": code}]})
    assert not poke(ti, missing_source_ok=True)
    with pytest.raises(AirflowFailException, match="SOURCE_NOT_FOUND"):
        poke(ti)
    assert ti.pushed["return_value"]["reason"] == "data"


def test_a_rule_that_cannot_run_ends_the_wait(answers: Any, ti: Any) -> None:
    broken = {"code": "a", "severity": "fail", "message": "could not run", "error": {"code": "COLUMN_NOT_FOUND", "category": "data"}}
    missing = {**broken, "error": {"code": "SOURCE_NOT_FOUND", "category": "data"}}
    lost = {**broken, "error": {"code": "ENGINE_FAILED", "category": "infrastructure"}}
    answers({**NOT_YET, "validation_results": [broken]})
    with pytest.raises(AirflowFailException, match="a: could not run"):
        poke(ti, missing_source_ok=True)
    answers({**NOT_YET, "validation_results": [missing]})
    assert not poke(ti, missing_source_ok=True)
    with pytest.raises(AirflowFailException):
        poke(ti)
    answers({**NOT_YET, "validation_results": [lost]})
    with pytest.raises(AirflowException) as caught:
        poke(ti)
    assert type(caught.value) is AirflowException, "the infrastructure is tried again"


def test_faults_end_the_wait_and_the_infrastructure_is_tried_again(answers: Any, ti: Any) -> None:
    for given, kind in ((FAULTY, AirflowFailException), (LOST, AirflowException)):
        answers(given)
        with pytest.raises(kind) as caught:
            poke(ti, missing_source_ok=True)
        assert type(caught.value) is kind


def test_a_faulty_document_is_not_submitted(answers: Any, ti: Any) -> None:
    seen = answers(HOLDS)
    with pytest.raises(AirflowFailException, match="row_cuont"):
        poke(ti, rules=[{"type": "row_cuont"}])
    assert seen == []


def test_a_sensor_that_was_ended_does_not_submit(stage_calls: Any, ti: Any) -> None:
    waiting = sensor(spark_binary=str(stage_calls))
    waiting.on_kill()
    with pytest.raises(AirflowException, match="CANCELLED"):
        waiting.poke({"ti": ti})
    assert not stage_calls.with_suffix(".called").exists()


# --- modes of Airflow ----------------------------------------------------------------------------------------------
def test_mode_poke_goes_on_until_the_rules_hold(answers: Any, ti: Any) -> None:
    seen = answers(NOT_YET, MISSING, HOLDS)
    value = sensor(missing_source_ok=True).execute({"ti": ti})
    assert (value["status"], len(seen)) == ("success", 3)
    assert ti.pushed["failed_rules"] == []


def test_a_timeout_names_the_rules(answers: Any, ti: Any) -> None:
    answers(NOT_YET)
    for more in ({}, {"deferrable": True}):
        with pytest.raises(AirflowSensorTimeout, match="row_count: 0 rows"):
            sensor(timeout=0, **more).execute({"ti": ti})
        with pytest.raises(AirflowSkipException):
            sensor(timeout=0, soft_fail=True, **more).execute({"ti": ti})


def test_mode_reschedule_frees_the_slot(answers: Any, ti: Any) -> None:
    answers(NOT_YET)
    ti.get_first_reschedule_date = lambda context: None
    with pytest.raises(AirflowRescheduleException):
        sensor(mode="reschedule", poke_interval=60, timeout=600).execute({"ti": ti})


@pytest.mark.parametrize("deferrable", [False, True])
@pytest.mark.parametrize(("option", "given", "kind"), [
    ("soft_fail", FAULTY, AirflowSkipException), ("soft_fail", LOST, AirflowException), ("never_fail", FAULTY, AirflowSkipException),
    ("never_fail", LOST, AirflowSkipException), ("silent_fail", FAULTY, AirflowFailException),
])
def test_airflows_options_mean_the_same_in_every_mode(answers: Any, ti: Any, deferrable: bool, option: str, given: Any, kind: type[Exception]) -> None:
    answers(given)
    with pytest.raises(kind) as caught:
        sensor(deferrable=deferrable, **{option: True}).execute({"ti": ti})
    assert type(caught.value) is kind


def test_silent_fail_goes_on_after_a_fault_of_the_infrastructure(answers: Any, ti: Any) -> None:
    answers(LOST, HOLDS)
    assert sensor(silent_fail=True).execute({"ti": ti})["status"] == "success"
    answers(LOST)
    with pytest.raises(TaskDeferred):
        sensor(silent_fail=True, deferrable=True).execute({"ti": ti})


# --- deferrable ----------------------------------------------------------------------------------------------------
def deferred(waiting: ColaCheckSensor, ti: Any, event: Any = None) -> tuple[TaskDeferred, float, dict[str, Any]]:
    """How a poke defers: the exception, the seconds until the next one, what the trigger remembers."""
    with pytest.raises(TaskDeferred) as caught:
        if event is None:
            waiting.execute({"ti": ti})
        else:
            waiting.resume_execution("check_again", {"event": event}, {"ti": ti})
    _, arguments = caught.value.trigger.serialize()
    left = dt.datetime.fromisoformat(arguments["until"]) - dt.datetime.now(dt.timezone.utc)
    return caught.value, left.total_seconds(), arguments["memory"]


def test_a_deferrable_sensor_waits_in_the_triggerer_and_checks_in_the_worker(answers: Any, ti: Any) -> None:
    seen = answers(NOT_YET, NOT_YET, HOLDS)
    waiting = sensor(deferrable=True, poke_interval=60)
    first, seconds, memory = deferred(waiting, ti)
    assert (first.method_name, memory["pokes"]) == ("check_again", 1)
    assert 55 < seconds <= 60
    _, _, again = deferred(sensor(deferrable=True, poke_interval=60), ti, memory)
    assert again == {"started": memory["started"], "pokes": 2}, "the timeout counts from the first poke"
    value = sensor(deferrable=True).resume_execution("check_again", {"event": again}, {"ti": ti})
    assert (value["status"], len(seen)) == ("success", 3)


def test_the_last_wait_ends_with_the_timeout(answers: Any, ti: Any) -> None:
    answers(NOT_YET)
    started = (dt.datetime.now(dt.timezone.utc) - dt.timedelta(seconds=80)).isoformat()
    _, seconds, _ = deferred(sensor(deferrable=True, poke_interval=60, timeout=100), ti, {"started": started, "pokes": 2})
    assert 15 < seconds <= 20
    with pytest.raises(AirflowSensorTimeout, match="after 70 s. Last check: row_count: 0 rows"):
        sensor(deferrable=True, timeout=70).resume_execution("check_again", {"event": {"started": started, "pokes": 2}}, {"ti": ti})


@pytest.mark.parametrize(("pokes", "max_wait", "expected"), [(0, None, 10), (1, None, 20), (4, None, 160), (4, 30, 30), (10**6, None, 1000)])
def test_waits_double(answers: Any, ti: Any, pokes: int, max_wait: int | None, expected: int) -> None:
    answers(NOT_YET)
    waiting = sensor(deferrable=True, poke_interval=10, exponential_backoff=True, max_wait=max_wait, timeout=1000)
    now = dt.datetime.now(dt.timezone.utc).isoformat()
    _, seconds, _ = deferred(waiting, ti, {"started": now, "pokes": pokes})
    assert expected - 5 < seconds <= expected


def test_a_lost_trigger_is_a_fault_of_the_infrastructure(ti: Any) -> None:
    from airflow.sdk.exceptions import TaskDeferralError

    for option in ({}, {"soft_fail": True}):
        with pytest.raises(TaskDeferralError):
            sensor(deferrable=True, **option).resume_execution("__fail__", {"error": "Trigger failure"}, {"ti": ti})


def test_the_default_is_airflows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sensor().deferrable is False
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    assert sensor().deferrable is True
    assert sensor(deferrable=False).deferrable is False


def test_an_event_comes_back_as_it_was_remembered(answers: Any, ti: Any) -> None:
    answers(NOT_YET)
    stopped, _, memory = deferred(sensor(deferrable=True, poke_interval=0.1), ti)

    async def first() -> Any:
        async for event in stopped.trigger.run():
            return event.payload

    assert asyncio.run(first()) == memory
