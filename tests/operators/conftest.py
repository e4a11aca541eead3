"""A stand-in for the task instance, and for the submission: what these tests say needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


class Ti(SimpleNamespace):
    """A task instance that keeps what is pushed."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**{"dag_id": "dag", "run_id": "manual__1", "task_id": "task", "map_index": -1, "try_number": 1, "pushed": {}, **changes})

    def xcom_push(self, key: str, value: Any) -> None:
        json.dumps(value, allow_nan=False)
        self.pushed[key] = value


@pytest.fixture
def ti() -> Ti:
    """A task instance."""
    return Ti()


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Say what the driver answers; the returned list gets the requests and the submissions."""
    from sparquet_provider.hooks.submission import Submission

    def define(**result: Any) -> list[Any]:
        seen: list[Any] = []

        def run(self: Submission, request: Any, try_number: int = 1) -> dict[str, Any]:
            seen.append((request, self, try_number))
            document = {"status": "success", "reason": "done", "pipeline_name": request.tree.get("name"), "params": request.params, "variables": {}, "warnings": []}
            return {**document, **result}

        monkeypatch.setattr(Submission, "run", run)
        return seen

    return define


@pytest.fixture
def stage_calls(tmp_path: Path) -> Path:
    """A spark-submit that only says that it was called."""
    binary = tmp_path / "submit"
    binary.write_text('#!/bin/sh\ntouch "$0.called"\n')
    binary.chmod(0o755)
    return binary


PIPELINE: dict[str, Any] = {
    "name": "orders", "input": {"format": "parquet", "path": "{src}"}, "output": {"format": "parquet", "path": "/out", "mode": "append"},
}


@pytest.fixture
def pipeline() -> dict[str, Any]:
    """A document with one parameter."""
    return json.loads(json.dumps(PIPELINE))
