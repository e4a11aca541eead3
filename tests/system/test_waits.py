"""The sensor with the worker's slot and without it, on a real Airflow and a real Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import drivers

pytestmark = pytest.mark.slow


def test_a_sensor_waits_until_the_data_is_there(run_dag: Any) -> None:
    waited = run_dag("waits")
    assert waited.states == {"poke": "success", "deferred": "success"}
    for xcoms in waited.xcoms.values():
        assert (xcoms["return_value"]["rows_read"], xcoms["failed_rules"]) == (2, []), "the last check counts"
    assert waited.log.count("Not yet. ") == 2
    assert "Next check in 1 s; the triggerer waits." in waited.log
    assert drivers() == []
