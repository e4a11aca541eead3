"""The driver's ends: one result, whole or not at all, whatever happened. Real submissions are under ``tests/system``."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import __main__ as driver
from sparquet_provider.core.result import PipelineResult, RunRequest

TREE = {"name": "orders", "input": {"format": "jdbc", "path": "t", "options": {"password": "{password}"}}}


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    log = logging.getLogger("sparquet")
    before = (log.handlers[:], log.level, log.propagate)
    yield
    log.handlers[:], log.level, log.propagate = before


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, **more: Any) -> dict[str, Any]:
    """The result document of a driver whose run is a stand-in."""
    request, out = folder / "request.json", folder / "deep" / "result.json"
    RunRequest("run", TREE, str(out), attempt="try-2", params={"password": "hunter22"}, **more).write(request)
    monkeypatch.setattr(driver, "answer", answer)
    with pytest.raises(SystemExit) as ended:
        driver.main([str(request)])
    assert ended.value.code == 0, "a failed run is told by the document alone"
    assert [p.name for p in out.parent.iterdir()] == ["result.json"], "nothing half-written stays"
    found: dict[str, Any] = json.loads(out.read_text(), parse_constant=lambda name: pytest.fail(name))
    return found


def test_the_result_carries_its_attempt_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: RunRequest) -> PipelineResult:
        return PipelineResult("orders", message=f"logged in with {request.params['password']}", variables={"nan": float("nan"), "big": 2**63})

    found = run(tmp_path, monkeypatch, answer)
    assert (found["attempt"], found["message"], found["variables"]) == ("try-2", "logged in with ***", {"nan": None, "big": str(2**63)})


@pytest.mark.parametrize("error", [RuntimeError("the password hunter22 was refused"), KeyboardInterrupt("hunter22"), SystemExit(3), MemoryError()])
def test_whatever_ends_the_run_stands_in_the_result(error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(_: RunRequest) -> PipelineResult:
        raise error

    found = run(tmp_path, monkeypatch, answer)
    assert (found["status"], found["problems"][0]["code"], found["pipeline_name"]) == ("failed", "INTERNAL", "orders")
    assert type(error).__name__ in found["error"]
    shown = capsys.readouterr().out
    assert "Traceback" in shown and "hunter22" not in shown + json.dumps(found)


def test_a_login_of_a_connection_is_hidden_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: RunRequest) -> PipelineResult:
        raise RuntimeError("swordfish-9 is wrong")

    found = run(tmp_path, monkeypatch, answer, connections={"pg": {"conn_type": "postgres", "password": "swordfish-9"}})
    assert "swordfish" not in json.dumps(found) and "*** is wrong" in found["error"]


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_any_other_call_says_how(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="usage: sparquet_driver.py REQUEST"):
        driver.main(arguments)


def test_a_reader_never_sees_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    target = tmp_path / "result.json"
    target.write_text('{"attempt": "before"}')
    monkeypatch.setattr(driver.os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        driver.write_once({"attempt": "after"}, f"file://{target}")
    assert json.loads(target.read_text()) == {"attempt": "before"}
