"""What happens when there is nothing to do: the run skips itself and its children, and a summary is still readable."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")


@task
def send_to_finance(result: dict[str, Any]) -> int:
    """Skipped together with the run: there is nothing to send."""
    return int(result["rows_written"])


@task(trigger_rule="all_done")
def log_outcome(result: dict[str, Any]) -> str:
    """Runs in any case, since a skipped run has pushed its summary before."""
    return f"{result['status']} ({result['reason']}): {result['message']}"


with DAG(
    "nothing_to_do",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    catchup=False,
    params={"limit": Param(1_000_000, type="integer", minimum=0)},
    tags=["sparquet"],
    doc_md=__doc__,
):
    refunds = SparquetRunOperator(
        task_id="large_refunds",
        pipeline="pipelines/large_refunds.json",
        pipeline_params={"root": ROOT, "limit": "{{ params.limit }}"},
    )
    send_to_finance(refunds.output)
    log_outcome(refunds.output)
