"""The timer of the sensors."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import Any

import pytest

from sparquet_provider.triggers.wait import WaitTrigger


def event_of(trigger: WaitTrigger) -> Any:
    async def first() -> Any:
        async for event in trigger.run():
            return event.payload

    return asyncio.run(first())


@pytest.mark.parametrize(("seconds", "least"), [(0.4, 0.3), (-5, 0)])
def test_it_waits_for_the_moment_and_hands_back_what_it_remembers(seconds: float, least: float) -> None:
    until = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=seconds)
    begin = time.monotonic()
    assert event_of(WaitTrigger(until.isoformat(), {"pokes": 2})) == {"pokes": 2}
    assert least <= time.monotonic() - begin < least + 2


def test_it_survives_the_way_through_the_database() -> None:
    from airflow.sdk.module_loading import import_string
    from airflow.sdk.serde import deserialize, serialize

    trigger = WaitTrigger("2026-01-01T00:00:00+02:00", {"started": "2026-01-01T00:00:00+00:00", "pokes": 1})
    name, arguments = trigger.serialize()
    back = import_string(name)(**deserialize(serialize(arguments)))
    assert back.serialize() == trigger.serialize()
    assert event_of(back)["pokes"] == 1
