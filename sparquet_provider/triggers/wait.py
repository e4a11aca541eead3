"""A wait until a moment, with something to remember."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent


class WaitTrigger(BaseTrigger):
    """Wait until a moment and hand back what was to be remembered.

    The moment is one of the clock on the wall: a triggerer that starts anew does not wait anew.

    Args:
        until: ISO text with a zone.
        memory: JSON that the event carries.
    """

    def __init__(self, until: str, memory: Mapping[str, Any]) -> None:
        super().__init__()
        self.until = until
        self.memory = dict(memory)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "sparquet_provider.triggers.wait.WaitTrigger", {"until": self.until, "memory": self.memory}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        moment = dt.datetime.fromisoformat(self.until)
        # In steps: the clock may be set meanwhile.
        while (left := (moment - dt.datetime.now(dt.timezone.utc)).total_seconds()) > 0:
            await asyncio.sleep(min(left, 60))
        yield TriggerEvent(self.memory)
