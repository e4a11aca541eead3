"""A database by an Airflow connection, in every block that can name one."""

from __future__ import annotations

import os
from datetime import datetime

from airflow.sdk import DAG

from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator

DATA = os.environ["SPARQUET_TEST_DATA"]
ORDERS = {"format": "csv", "path": f"{DATA}/orders.csv"}
DROP = {"type": "drop", "columns": ["ingestion_ts"]}


def table(name: str, **more):
    return {"format": "jdbc", "path": name, "connection": "shop", **more}


with DAG("databases", schedule=None, start_date=datetime(2026, 1, 1), default_args={"retries": 0, "quick_start": True}):
    load = SparquetRunOperator(
        task_id="load",
        pipeline={
            "name": "load", "input": ORDERS, "transformations": [DROP, {"type": "look_around", "file": f"{DATA}/processes_jdbc"}],
            "output": table("orders", mode="overwrite"),
        },
        pipeline_params={}, extensions=["helpers.py"], result_dir=f"{DATA}/results_jdbc",
    )
    check = ColaCheckOperator(
        task_id="check", input=table("orders"), rules=[{"type": "row_count", "must_be": "= 3"}], report=table("quality", mode="append"),
    )
    merge = SparquetRunOperator(
        task_id="merge",
        pipeline={
            "name": "merge", "input": table("orders"), "transformations": [DROP, {"type": "with_column", "column": "amount", "expression": "amount * 2"}],
            "output": table("orders", mode="merge", options={"merge_keys": ["id"]}),
        },
    )
    load >> check >> merge
    SparquetRunOperator(task_id="refused", pipeline={"name": "refused", "input": ORDERS, "output": table("strict", mode="append")})
    SparquetRunOperator(task_id="wrong_login", pipeline={"name": "login", "input": {**table("orders"), "connection": "wrong_shop"}, "output": table("x")})
    SparquetRunOperator(task_id="no_connection", pipeline={"name": "none", "input": {**table("orders"), "connection": "shopp"}, "output": table("x")})
