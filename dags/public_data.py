"""Four kinds of semi-structured data, each made flat by a document without code: events as JSON in a column, weather as parallel
arrays, earthquakes as nested features, sales as files that came twice. The data are small and synthetic.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from sparquet_provider.operators import SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")

with DAG("public_data", schedule=None, start_date=datetime(2026, 1, 1), catchup=False, max_active_tasks=1, tags=["sparquet"], doc_md=__doc__):
    for name in ("events", "weather", "earthquakes", "store_files"):
        SparquetRunOperator(task_id=name, pipeline=f"pipelines/public_data/{name}.yaml", pipeline_params={"root": ROOT})
