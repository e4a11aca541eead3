"""Daily revenue per customer: load, curate with checks, then go one way or the other by the checks' verdict.

The checks only warn: the tables are written in any case, and the branch decides whether a person should look.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")


@task.branch
def choose(result: dict[str, Any]) -> str:
    """Follow the verdict of the checks."""
    return "announce" if all(check["passed"] for check in result["validation_results"]) else "review_quality"


@task
def announce(result: dict[str, Any]) -> str:
    """Say what was published."""
    return f"{result['pipeline_name']}: {result['rows_written']} rows written"


@task
def review_quality(result: dict[str, Any]) -> list[str]:
    """List the rules that a person should look at."""
    return [f"{check['code']}: {check['message']}" for check in result["validation_results"] if not check["passed"]]


with DAG(
    "customer_revenue",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    catchup=False,
    params={"since": Param("2026-01-01", type="string", format="date")},
    tags=["sparquet"],
    doc_md=__doc__,
):
    load = SparquetRunOperator(task_id="load_orders", pipeline="pipelines/load_orders.json", pipeline_params={"root": ROOT})
    revenue = SparquetRunOperator(
        task_id="customer_revenue",
        pipeline="pipelines/customer_revenue.json",
        pipeline_params={"root": ROOT, "since": "{{ params.since }}"},
    )
    load >> revenue
    choose(revenue.output) >> [announce(revenue.output), review_quality(revenue.output)]
