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
    check = rendered(ColaCheckOperator(task_id="t", input={"format": "view", "path": "{{v}}"}, rules=rules, report={"format": "csv", "path": "{{p}}"}))
    assert (check.rules, check.input, check.report) == (rules, {"format": "view", "path": "{{v}}"}, {"format": "csv", "path": "{{p}}"})


def test_paths_and_parameters_are_rendered() -> None:
    run = rendered(SparquetRunOperator(
        task_id="t", pipeline=Path("p/{{ run_id }}.json"), pipeline_params={"r": "{{ run_id }}", "n": [1, "{{ run_id }}"]}, columns={"c": "{{ run_id }}"},
        conf={"spark.x": "{{ run_id }}"}, result_dir="/r/{{ run_id }}", env_vars={"E": "{{ run_id }}"},
    ))
    assert run.pipeline == "p/manual__1.json"
    assert run.pipeline_params == {"r": "manual__1", "n": [1, "manual__1"]}
    assert (run.columns, run.conf, run.result_dir, run.env_vars) == ({"c": "manual__1"}, {"spark.x": "manual__1"}, "/r/manual__1", {"E": "manual__1"})
    check = rendered(ColaCheckOperator(task_id="t", source="s.{{ run_id }}", rules="r/{{ run_id }}.json"))
    assert (check.source, check.rules) == ("s.manual__1", "r/manual__1.json")


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
    with DAG("d", default_args={"conn_id": "my_spark", "strict": False, "executor_memory": "2g"}):
        run = SparquetRunOperator(task_id="t", pipeline="p.json")
    assert (run.conn_id, run.strict, run.executor_memory) == ("my_spark", False, "2g")


def test_an_argument_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="pipelin"):
        SparquetRunOperator(task_id="t", pipelin="p.json")


def test_no_argument_has_a_name_of_airflows() -> None:
    import inspect

    for cls in (SparquetRunOperator, ColaCheckOperator):
        names = {n for c in cls.__mro__[:2] for n in inspect.signature(c.__init__).parameters}
        assert not names & {"params", "doc"}


def test_every_submit_option_of_airflows_operator_is_there() -> None:
    import inspect

    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    theirs = set(inspect.signature(SparkSubmitOperator.__init__).parameters)
    # Not for Python documents; OpenLineage and durable runs have ways of their own.
    theirs -= {"self", "kwargs", "application", "application_args", "java_class", "reconnect_on_retry", "durable"}
    theirs -= {"openlineage_inject_parent_job_info", "openlineage_inject_transport_info"}
    assert theirs <= set(inspect.signature(SparquetRunOperator.__mro__[1].__init__).parameters)
    own = {"pipeline_params", "exchange_path", "exchange_uri", "result_dir"}
    assert set(SparkSubmitOperator.template_fields) - {"application", "application_args"} <= set(SparquetRunOperator.template_fields) - own


def test_dags_with_the_operators_serialize() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    with DAG("d") as dag:
        run = SparquetRunOperator(task_id="run", pipeline=DOCUMENT, pipeline_params={"a": 1})
        gate = ColaCheckOperator(task_id="gate", source="/s", rules=[{"type": "row_count", "min": 1}])
        many = SparquetRunOperator.partial(task_id="many", pipeline="p.json").expand(pipeline_params=[{"a": 1}, {"a": 2}])
        gate >> run >> many
    data = DagSerialization.serialize_dag(dag)
    back = DagSerialization.deserialize_dag(data)
    assert set(back.task_dict) == {"run", "gate", "many"}
    assert [link.name for link in back.task_dict["run"].operator_extra_links] == ["Sparquet report"]
    assert isinstance(run.pipeline, LiteralValue)


def test_importing_the_operators_is_cheap_and_brings_no_spark() -> None:
    code = (
        "import sys, time, airflow.sdk; from airflow.sdk import BaseOperator, BaseOperatorLink, literal; t = time.perf_counter()\n"
        "import sparquet_provider.operators; s = time.perf_counter() - t\n"
        "print(s, [m for m in sys.modules if m.startswith(('pyspark', 'py4j', 'airflow.providers.apache.spark.hooks', 'airflow.providers.apache.spark.operators'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    seconds, modules = done.stdout.splitlines()[-1].split(" ", 1)
    assert float(seconds) < 0.3
    assert modules == "[]"


def test_the_provider_describes_itself() -> None:
    from importlib import import_module

    from airflow.providers_manager import _create_provider_info_schema_validator

    from sparquet_provider.get_provider_info import get_provider_info

    info = get_provider_info()
    _create_provider_info_schema_validator().validate(info)
    for kind in ("hooks", "operators"):
        for module in info[kind][0]["python-modules"]:
            import_module(module)
    for name in info["extra-links"]:
        module, _, cls = name.rpartition(".")
        assert getattr(import_module(module), cls)
