"""Every way in which a task can end."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, task

from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator

DATA = os.environ["SPARQUET_TEST_DATA"]
PARAMETERS = {
    "quote": "O'Brien", "path": "C:\\new\\t", "double": 'a"b', "lines": "one\ntwo", "emoji": "\N{GRINNING FACE}", "empty": "", "none": None, "yes": True,
    "big": 10**20, "decimal": 0.1, "seven": "007",
}


def source(condition: str = "true", **more):
    return {
        "name": "ends",
        "input": {"format": "csv", "path": f"{DATA}/orders.csv", "options": {"header": True, "inferSchema": True}},
        "transformations": [{"type": "filter", "condition": condition}],
        **more,
    }


def output(name: str, **more):
    return {"format": "parquet", "path": f"{DATA}/out/{name}", "mode": "append", **more}


@task(trigger_rule="all_done")
def read(result):
    return f"{result['status']} {result['reason']} {result['message']}"


@task(trigger_rule="all_done")
def verdict(result, failed, warned):
    return [result["reason"], failed, warned]


def remember(context):
    with open(f"{DATA}/callback_{context['ti'].task_id}", "w") as file:
        file.write(str(context["exception"]))


DEFAULTS = {"retries": 2, "retry_delay": timedelta(seconds=0), "quick_start": True}

with DAG("ends", schedule=None, start_date=datetime(2026, 1, 1), default_args=DEFAULTS):
    columns = {name: "{" + name + "}" for name in PARAMETERS}
    steps = [
        {"type": "with_column", "column": "quoted", "expression": "concat('{quote}|{path}|{double}|{lines}|{emoji}|{empty}|{none}|{yes}|{big}|{decimal}|{seven}')"},
        {"type": "collect", "column": "quoted", "as": "quoted"},
        {"type": "with_column", "column": "day", "expression": "date '2026-01-02'"},
        {"type": "with_column", "column": "amount", "expression": "cast(amount as decimal(30,4))"},
        {"type": "with_column", "column": "huge", "expression": "9223372036854775807"},
        {"type": "collect", "column": "day", "as": "day"},
        {"type": "collect", "column": "amount", "as": "amounts"},
        {"type": "collect", "column": "huge", "as": "huge"},
        {"type": "look_around", "file": f"{DATA}/processes"},
    ]
    document = source("id > 1", output=output("success"))
    document["transformations"] += steps
    document["input"]["options"]["x.password"] = "{password}"
    success = SparquetRunOperator(
        task_id="success", pipeline=document, pipeline_params={**PARAMETERS, "password": "hunter22 {{ run_id }}"}, columns={"run": "{{ run_id }}"},
        conf={"spark.hadoop.fs.s3a.access.key": "swordfish-1", "spark.driver.extraJavaOptions": "-Dmy.password=swordfish-2"},
        env_vars={"MY_TOKEN": "swordfish-3"}, extensions=["helpers.py"], result_dir=f"{DATA}/results",
    )
    read.override(task_id="read_success")(success.output)

    nothing = source("id > 1000", output=output("skipped"))
    nothing["transformations"].append({"type": "stop_if_empty", "message": "no order above 1000"})
    skipped = SparquetRunOperator(task_id="skipped", pipeline=nothing)
    read.override(task_id="read_skipped")(skipped.output)
    read.override(task_id="not_reached", trigger_rule="all_success")(skipped.output)

    rules = {"rules": [{"type": "row_count", "min": 100, "code": "C042"}, {"type": "not_null", "columns": ["id"]}]}
    quality = SparquetRunOperator(task_id="quality", pipeline=source(validations=rules, output=output("quality")), on_failure_callback=remember)
    read.override(task_id="read_quality")(quality.output)

    data = SparquetRunOperator(task_id="data", pipeline=source("no_such_column > 1", output=output("data")))

    lint = SparquetRunOperator(task_id="lint", pipeline=source(outputt=output("lint")))

    dying = source(output=output("dying"))
    dying["transformations"].append({"type": "die_once", "marker": f"{DATA}/died"})
    SparquetRunOperator(task_id="infrastructure", pipeline=dying, extensions=["helpers.py"])

    mapped = source("id > {least}", output=output("mapped"))
    mapped["transformations"] += [{"type": "stop_if_empty"}, {"type": "filter", "condition": "{column} is not null"}]
    several = SparquetRunOperator.partial(task_id="mapped", pipeline=mapped).expand(
        pipeline_params=[{"least": 1, "column": "id"}, {"least": 1000, "column": "id"}, {"least": 1, "column": "nowhere"}],
    )

    @task(trigger_rule="all_done")
    def collect(results):
        return [r["reason"] for r in results]

    collect(several.output)
    SparquetRunOperator.partial(task_id="empty", pipeline=mapped).expand(pipeline_params=[])

    waiting = source(output=output("timeout"))
    waiting["transformations"].append({"type": "wait", "here": f"{DATA}/waiting", "until": f"{DATA}/never"})
    SparquetRunOperator(
        task_id="timeout", pipeline=waiting, extensions=["helpers.py"], retries=0,
        execution_timeout=timedelta(seconds=int(os.environ.get("SPARQUET_TEST_TIMEOUT", "100"))),
    )

    where = {"format": "csv", "path": f"{DATA}/orders.csv", "options": {"header": True}}

    @task.cola_check(input=where)
    def gate(least):
        return {
            "rules": [{"type": "not_null", "columns": ["id"]}, {"type": "row_count", "must_be": ">= {least}", "warn": ">= 100", "name": "many orders"}],
            "pipeline_params": {"least": least},
        }

    gate(2)
    closed = ColaCheckOperator(
        task_id="closed_gate", input=where, rules="rules.json", pipeline_params={"least": 50}, on_failure_callback=remember, annotate="_broken",
        quarantine={"invalid": output("closed_gate"), "valid": {"format": "csv", "path": f"{DATA}/out/closed_gate_valid"}},
    )
    verdict(closed.output, closed.output["failed_rules"], closed.output["warned_rules"])

    SparquetRunOperator(task_id="delta", pipeline=source(output={"format": "delta", "path": f"{DATA}/out/delta", "mode": "overwrite"}))

with DAG("undated", schedule=None, start_date=datetime(2026, 1, 1), default_args={**DEFAULTS, "retries": 0}):
    SparquetRunOperator(task_id="ds", pipeline=source("day = '{day}'", output=output("undated")), pipeline_params={"day": "{{ ds }}"})
    SparquetRunOperator(
        task_id="safe", pipeline=source("'{day}' > '{run}'", output=output("undated")),
        pipeline_params={"day": "{{ (dag_run.logical_date or dag_run.run_after) | ds }}", "run": "{{ run_id }}"},
    )
