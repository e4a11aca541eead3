"""What Jinja renders and what it leaves alone; importing and serializing operators."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, literal
from airflow.sdk.definitions._internal.templater import LiteralValue

from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator
from sparquet_provider.operators.arguments import SubmitArguments
from sparquet_provider.operators.checks import CheckArguments
from sparquet_provider.sensors import ColaCheckSensor

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = {
    "name": "orders", "input": {"format": "view", "path": "v"}, "output": {"format": "parquet", "path": "/o"},
    "transformations": [{"type": "filter", "condition": "id IN ({{ids}}) AND note != '{# no comment #}' AND x = '{% raw %}'"}],
}


def rendered(operator: Any, **context: Any) -> Any:
    operator.render_template_fields({"run_id": "manual__1", **context})
    return operator


def test_a_document_in_the_dag_file_is_never_rendered() -> None:
    for document in (DOCUMENT, literal(DOCUMENT)):
        assert rendered(SparquetRunOperator(task_id="t", pipeline=document)).pipeline == DOCUMENT
    rules = [{"type": "sql", "condition": "x IN ({{ids}})"}]
    block, split = {"format": "view", "path": "{{v}}"}, {"invalid": {"format": "csv", "path": "{{q}}"}}
    check = rendered(ColaCheckOperator(task_id="t", input=block, rules=tuple(rules), report={"format": "csv", "path": "{{p}}"}, quarantine=split))
    assert (list(check.rules), check.input, check.report, check.quarantine) == (rules, block, {"format": "csv", "path": "{{p}}"}, split)
    assert rendered(ColaCheckOperator(task_id="t", pipeline=DOCUMENT)).pipeline == DOCUMENT


def test_paths_and_parameters_are_rendered() -> None:
    run = rendered(SparquetRunOperator(
        task_id="t", pipeline=Path("p/{{ run_id }}.json"), pipeline_params={"r": "{{ run_id }}", "n": [1, "{{ run_id }}"]}, columns={"c": "{{ run_id }}"},
        conf={"spark.x": "{{ run_id }}"}, result_dir="/r/{{ run_id }}", env_vars={"E": "{{ run_id }}"},
    ))
    assert run.pipeline == "p/manual__1.json"
    assert run.pipeline_params == {"r": "manual__1", "n": [1, "manual__1"]}
    assert (run.columns, run.conf, run.result_dir, run.env_vars) == ({"c": "manual__1"}, {"spark.x": "manual__1"}, "/r/manual__1", {"E": "manual__1"})
    check = rendered(ColaCheckOperator(
        task_id="t", source=Path("s/{{ run_id }}"), rules=Path("r/{{ run_id }}.json"), as_of="{{ run_id }}", on_failure="{{ run_id }}", format="{{ run_id }}",
    ))
    assert (check.source, check.rules) == ("s/manual__1", "r/manual__1.json")
    assert check.as_of == check.on_failure == check.format == "manual__1"
    other = rendered(ColaCheckSensor(task_id="t", table="t.{{ run_id }}", pipeline="p/{{ run_id }}.json", pipeline_part="outputs/{{ run_id }}"))
    assert (other.table, other.pipeline, other.pipeline_part) == ("t.manual__1", "p/manual__1.json", "outputs/manual__1")


def test_without_a_logical_date_ds_fails_clearly_and_run_id_works() -> None:
    with DAG("d"):
        unsafe = SparquetRunOperator(task_id="unsafe", pipeline="p.json", pipeline_params={"day": "{{ ds }}"})
        day = "{{ (dag_run.logical_date or dag_run.run_after) | ds }}"
        safe = SparquetRunOperator(task_id="safe", pipeline="p.json", pipeline_params={"day": day, "run": "{{ run_id }}"})
    with pytest.raises(Exception, match="'ds' is undefined"):
        rendered(unsafe)
    run = {"logical_date": None, "run_after": dt.datetime(2026, 1, 5)}
    assert rendered(safe, dag_run=run).pipeline_params == {"day": "2026-01-05", "run": "manual__1"}


def test_secrets_of_parameters_are_masked_where_airflow_stores_rendered_fields() -> None:
    from airflow.sdk.execution_time.task_runner import _serialize_rendered_fields

    operator = SparquetRunOperator(
        task_id="t", pipeline="p.json", pipeline_params={"db": {"fs.s3a.access.key": "hunter-{{ run_id }}"}, "shown": "plain"},
        conf={"spark.x.account.key": "swordfish-1", "spark.driver.extraJavaOptions": "-Dpassword=swordfish-2"}, env_vars={"SAS_TOKEN": "swordfish-3"},
    )
    text = repr(_serialize_rendered_fields(rendered(operator)))
    assert "hunter" not in text
    assert "swordfish" not in text
    assert "plain" in text


def test_default_args_reach_the_shared_arguments() -> None:
    with DAG("d", default_args={"conn_id": "my_spark", "strict": False, "executor_memory": "2g", "poke_interval": 7, "sample_rows": 3}):
        run = SparquetRunOperator(task_id="t", pipeline="p.json")
        wait = ColaCheckSensor(task_id="wait", table="t", rules="r.json")
    for task in (run, wait):
        assert (task.conn_id, task.strict, task.executor_memory) == ("my_spark", False, "2g")
    assert (wait.poke_interval, wait.sample_rows) == (7, 3)


def test_an_argument_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="pipelin"):
        SparquetRunOperator(task_id="t", pipelin="p.json")


def test_no_argument_has_a_name_of_airflows() -> None:
    import inspect

    for cls in (SubmitArguments, CheckArguments, SparquetRunOperator, ColaCheckOperator, ColaCheckSensor):
        assert not set(inspect.signature(cls.__init__).parameters) & {"params", "doc"}


def test_every_submit_option_of_airflows_operator_is_there() -> None:
    import inspect

    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    theirs = set(inspect.signature(SparkSubmitOperator.__init__).parameters)
    # Not for Python documents; OpenLineage and durable runs have ways of their own.
    theirs -= {"self", "kwargs", "application", "application_args", "java_class", "reconnect_on_retry", "durable"}
    theirs -= {"openlineage_inject_parent_job_info", "openlineage_inject_transport_info"}
    assert theirs <= set(inspect.signature(SubmitArguments.__init__).parameters)
    own = {"pipeline_params", "exchange_path", "exchange_uri", "result_dir"}
    assert set(SparkSubmitOperator.template_fields) - {"application", "application_args"} <= set(SparquetRunOperator.template_fields) - own


def test_dags_with_the_operators_serialize() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    with DAG("d") as dag:
        run = SparquetRunOperator(task_id="run", pipeline=DOCUMENT, pipeline_params={"a": 1})
        gate = ColaCheckOperator(task_id="gate", source="/s", rules=[{"type": "row_count", "min": 1}])
        wait = ColaCheckSensor(task_id="wait", table="t", rules=[{"type": "row_count", "min": 1}], mode="reschedule")
        many = SparquetRunOperator.partial(task_id="many", pipeline="p.json").expand(pipeline_params=[{"a": 1}, {"a": 2}])
        tables = ColaCheckOperator.partial(task_id="tables", rules="r.json").expand(table=["a", "b"])
        wait >> gate >> run >> many >> tables
    data = DagSerialization.serialize_dag(dag)
    back = DagSerialization.deserialize_dag(data)
    assert set(back.task_dict) == {"run", "gate", "many", "wait", "tables"}
    assert back.task_dict["wait"].reschedule is True
    assert [link.name for link in back.task_dict["run"].operator_extra_links] == ["Sparquet report"]
    assert isinstance(run.pipeline, LiteralValue)


def test_importing_the_operators_is_cheap_and_brings_no_spark() -> None:
    code = (
        "import sys, time, airflow.sdk; from airflow.sdk import BaseOperator, BaseOperatorLink, BaseSensorOperator, literal; t = time.perf_counter()\n"
        "import sparquet_provider.operators, sparquet_provider.sensors; s = time.perf_counter() - t\n"
        "print(s, [m for m in sys.modules if m.startswith(('pyspark', 'py4j', 'airflow.providers.apache.spark.hooks', 'airflow.providers.apache.spark.operators'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    seconds, modules = done.stdout.splitlines()[-1].split(" ", 1)
    assert float(seconds) < 0.3
    assert modules == "[]"
