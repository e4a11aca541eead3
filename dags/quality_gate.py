"""A quality gate in front of a pipeline: bad customers stop the run before anything is written."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator

ROOT = os.environ.get("SPARQUET_DEMO_DATA") or str(Path(__file__).resolve().parents[1] / "demo" / "data")

with DAG("quality_gate", schedule=None, start_date=datetime(2026, 1, 1), catchup=False, tags=["sparquet"], doc_md=__doc__):
    gate = ColaCheckOperator(
        task_id="check_customers",
        input={
            "format": "csv",
            "path": "{root}/landing/customers",
            "schema": "id BIGINT, name STRING, email STRING, country STRING, signed_up DATE",
        },
        rules=[
            {"type": "row_count", "min": 1},
            {"type": "not_null", "columns": ["id", "email"]},
            {"type": "unique", "columns": ["id"]},
            {"type": "regex", "column": "country", "pattern": "^[A-Z]{2}$"},
            {"type": "regex", "column": "email", "pattern": "^[^@ ]+@[^@ ]+$", "error_message": "not an e-mail address"},
        ],
        on_failure="fail",
        pipeline_params={"root": ROOT},
    )
    publish = SparquetRunOperator(task_id="publish_customers", pipeline="pipelines/publish_customers.json", pipeline_params={"root": ROOT})
    gate >> publish
