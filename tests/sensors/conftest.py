"""The stand-ins of the operators' tests, and a driver that answers each poke in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.operators.conftest import Ti, answer, stage_calls, ti

__all__ = ["Ti", "answer", "answers", "stage_calls", "ti"]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Say what the driver answers poke after poke (the last answer is given again); an exception is raised."""
    from sparquet_provider.hooks.submission import Submission

    def define(*results: Any) -> list[Any]:
        seen: list[Any] = []

        def run(self: Submission, request: Any, try_number: int = 1) -> dict[str, Any]:
            seen.append(request)
            given = results[min(len(seen), len(results)) - 1]
            if isinstance(given, BaseException):
                raise given
            return {"status": "success", "reason": "done", "pipeline_name": request.tree["name"], "variables": {}, "warnings": [], **given}

        monkeypatch.setattr(Submission, "run", run)
        return seen

    return define
