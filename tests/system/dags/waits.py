"""Sensors whose data arrives after their first check."""

from __future__ import annotations

import os
from datetime import datetime

from airflow.sdk import DAG

from sparquet_provider.sensors import ColaCheckSensor

DATA = os.environ["SPARQUET_TEST_DATA"]


class ArrivesLater(ColaCheckSensor):
    """The data comes when the first check is over."""

    def poke(self, context):
        done = super().poke(context)
        folder = f"{DATA}/late/{self.task_id}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/orders.csv", "w") as file:
            file.write("id\n1\n2\n")
        return done


DEFAULTS = {"retries": 0, "quick_start": True, "missing_source_ok": True, "format": "csv", "poke_interval": 1, "timeout": 600}

with DAG("waits", schedule=None, start_date=datetime(2026, 1, 1), default_args=DEFAULTS):
    rules = [{"type": "row_count", "min": 2, "code": "two"}]
    for name, more in {"poke": {}, "deferred": {"deferrable": True}}.items():
        ArrivesLater(task_id=name, source=f"{DATA}/late/{name}", rules=rules, **more)
