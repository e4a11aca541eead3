"""One pipeline, many tenants: the run is mapped over a list of parameters that another task makes."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")


@task
def list_tenants(params: dict[str, Any]) -> list[dict[str, str]]:
    """One set of pipeline parameters for each tenant."""
    return [{"root": ROOT, "tenant": tenant} for tenant in params["tenants"]]


@task
def total(results: Any) -> int:
    """The rows of all tenants together; mapped output is lazy, so it is listed first."""
    return sum(result["rows_written"] for result in list(results))


with DAG(
    "tenants",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    catchup=False,
    params={"tenants": Param(["acme", "globex"], type="array")},
    tags=["sparquet"],
    doc_md=__doc__,
):
    runs = SparquetRunOperator.partial(
        task_id="tenant_orders",
        pipeline="pipelines/tenant_orders.json",
        max_active_tis_per_dag=1,
    ).expand(pipeline_params=list_tenants())
    total(runs.output)
