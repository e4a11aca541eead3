"""Only what is new: each run reads on where the one before stopped, and no table has to remember where that was.

The document's `watermark_columns` name the column; its greatest value comes back as the XCom `watermark`, which the next run of
this task reads. Clear a run's XCom to load everything again.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")

with DAG(
    "incremental_orders",
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["sparquet"],
    doc_md=__doc__,
):
    SparquetRunOperator(
        task_id="load",
        pipeline="pipelines/incremental_orders.yaml",
        pipeline_params={"root": ROOT},
        watermark="previous",
    )
