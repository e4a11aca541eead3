"""A quality gate in front of a pipeline: wait for the customers, set bad rows aside, publish only when there is none.

The sensor waits in the triggerer until there is a file with rows. The gate then checks every rule in one pass: when one is
broken the run stops before anything is published, the rows to blame lie in the quarantine with the rules that they break,
and a last task reads the names of the broken rules.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, task

from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator
from sparquet_provider.sensors import ColaCheckSensor

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")
CUSTOMERS = {
    "format": "csv",
    "path": "{root}/landing/customers",
    "schema": "id BIGINT, name STRING, email STRING, country STRING, signed_up DATE",
}


@task(trigger_rule="one_failed")
def name_broken_rules(failed: list[str]) -> str:
    """Runs only when the gate stays closed; a message to people could go from here."""
    return ", ".join(failed)


with DAG(
    "quality_gate",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    catchup=False,
    default_args={"pipeline_params": {"root": ROOT}},
    tags=["sparquet"],
    doc_md=__doc__,
):
    wait = ColaCheckSensor(
        task_id="wait_for_customers",
        input=CUSTOMERS,
        rules=[{"type": "row_count", "must_be": "> 0"}],
        missing_source_ok=True,
        deferrable=True,
        poke_interval=600,
        timeout=6 * 3600,
    )
    gate = ColaCheckOperator(
        task_id="check_customers",
        input=CUSTOMERS,
        rules=[
            {"type": "not_null", "targets": ["id", "email"]},
            {"type": "unique", "columns": ["id"], "name": "one row per customer"},
            {"type": "accepted_values", "column": "country", "values": ["BR", "PT", "DE", "US"]},
            {"type": "invalid_percent", "column": "email", "valid_format": "email", "must_be": "< 1%", "warn": "= 0"},
        ],
        quarantine={"invalid": {"format": "delta", "path": "{root}/quarantine/customers"}},
        annotate="broken_rules",
        reasons="reasons",
    )
    publish = SparquetRunOperator(task_id="publish_customers", pipeline="pipelines/publish_customers.json")
    wait >> gate >> publish
    name_broken_rules(gate.output["failed_rules"])
