"""One day's orders per run, safe to repeat: each run replaces its own day, so a backfill makes no duplicates.

```
airflow backfill create --dag-id daily_backfill --from-date 2026-01-01 --to-date 2026-01-07 --reprocess-behavior completed
```
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")

with DAG(
    "daily_backfill",
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["sparquet"],
    doc_md=__doc__,
):
    SparquetRunOperator(
        task_id="load_day",
        pipeline="pipelines/daily_orders.json",
        # A run that an asset or the API started may have no logical date, and then no `ds`.
        pipeline_params={"root": ROOT, "day": "{{ (dag_run.logical_date or dag_run.run_after) | ds }}"},
    )
