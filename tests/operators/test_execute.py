"""From ``execute`` to XComs and state, with a stand-in for the submission."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from sparquet_provider.operators import SparquetRunOperator


def execute(operator: Any, ti: Any) -> Any:
    return operator.execute({"ti": ti})


# --- the request ---------------------------------------------------------------------------------------------------
def test_the_request_has_bound_parameters_and_no_spark_settings(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    seen = answer()
    pipeline["spark"] = {"app_name": "App", "master": "local[7]", "configs": {"spark.x": "doc", "spark.y": "doc"}}
    operator = SparquetRunOperator(
        task_id="t", pipeline=pipeline, pipeline_params={"src": "/data/in"}, columns={"tenant": "acme"}, input_view="raw", conf={"spark.x": "own"},
    )
    value = execute(operator, ti)
    (request, submission, try_number), = seen
    from sparquet_provider.core.text import plain_tree

    assert plain_tree(request.tree)["input"]["path"] == "/data/in"
    assert request.tree["spark"] == {"app_name": "App"}, "settings applied again in the driver would win over the operator's"
    assert (request.task, request.params, request.literals, request.input_view) == ("run", {"src": "/data/in"}, {"tenant": "acme"}, {"name": "raw"})
    assert (request.run_id, try_number) == ("manual__1", 1)
    assert (submission.settings.name, submission.settings.conf["spark.x"], submission.settings.conf["spark.y"]) == ("App", "own", "doc")
    assert value["params"] == {"src": "/data/in"}


def test_a_pipeline_from_a_file_beside_the_dag(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path) -> None:
    seen = answer()
    (tmp_path / "p.yaml").write_text("name: orders\ninput: {format: parquet, path: '{src}'}\noutput: {format: parquet, path: /out}\n")
    dag = SimpleNamespace(fileloc=str(tmp_path / "dag.py"), relative_fileloc="dag.py")
    SparquetRunOperator(task_id="t", pipeline="p.yaml", pipeline_params={"src": "/x"}).execute({"ti": ti, "dag": dag})
    assert seen[0][0].tree["name"] == "orders"


def test_extensions_travel(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path) -> None:
    seen = answer()
    (tmp_path / "mine.py").write_text("")
    pipeline["transformations"] = [{"type": "normalize_text", "column": "email"}]
    dag = SimpleNamespace(fileloc=str(tmp_path / "dag.py"), relative_fileloc="dag.py")
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, extensions=["mine.py", "pkg.types"], py_files="a.zip")
    operator.execute({"ti": ti, "dag": dag})
    request, submission, _ = seen[0]
    assert request.extensions == ["mine", "pkg.types"]
    assert submission.options["py_files"] == f"{tmp_path}/mine.py,a.zip"


def test_a_faulty_document_fails_before_anything_is_submitted(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    seen = answer()
    pipeline["transformations"] = [{"type": "filtr"}]
    with pytest.raises(AirflowFailException, match="2 defects"):
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline), ti)
    assert seen == []


def test_cluster_mode_without_an_exchange_path_names_the_argument(answer: Any, ti: Any, pipeline: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_Y", json.dumps({"conn_type": "spark", "host": "yarn"}))
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, conn_id="y", deploy_mode="cluster")
    with pytest.raises(AirflowFailException, match="needs exchange_path"):
        execute(operator, ti)


def test_settings_of_a_properties_file_are_not_overridden_by_defaults(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path) -> None:
    seen = answer()
    (tmp_path / "p.conf").write_text("spark.sql.shuffle.partitions 50\n")
    execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, properties_file=str(tmp_path / "p.conf")), ti)
    assert "spark.sql.shuffle.partitions" not in seen[0][1].settings.conf
    assert seen[0][1].settings.conf["spark.ui.enabled"] == "false"


def test_a_setting_without_text_form(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    answer()
    with pytest.raises(AirflowFailException, match="spark.v has the value"):
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, conf={"spark.v": {}}), ti)


def test_an_error_of_the_document_shows_no_secret(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    answer()
    pipeline["input"]["path"] = 7
    pipeline["output"]["mode"] = "{db_password}"
    with pytest.raises(AirflowFailException, match="defects") as caught:
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"db_password": "hunter22"}), ti)
    assert "/output/mode" in str(caught.value)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("name", ["pipeline_params", "columns", "conf", "env_vars"])
def test_a_template_that_gave_no_mapping_is_named(answer: Any, ti: Any, pipeline: dict[str, Any], name: str) -> None:
    with pytest.raises(AirflowFailException, match=f"{name} is a str, expected a mapping"):
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, **{name: "{'a': 1}"}), ti)


def test_a_missing_properties_file_is_named(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    with pytest.raises(AirflowFailException, match="/no/such/file.*Correct properties_file"):
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, properties_file="/no/such/file"), ti)


def test_a_task_that_was_ended_before_it_submitted_does_not_submit(stage_calls: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, spark_binary=str(stage_calls))
    operator.on_kill()
    with pytest.raises(AirflowException, match="CANCELLED"):
        execute(operator, ti)
    assert not stage_calls.with_suffix(".called").exists()


def test_options_that_the_hook_refuses_fail_at_once(ti: Any, pipeline: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_OLD", json.dumps({"conn_type": "spark", "host": "local", "extra": {"spark-home": "/opt/spark"}}))
    with pytest.raises(AirflowFailException, match="spark-home"):
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, conn_id="old"), ti)


# --- ends ----------------------------------------------------------------------------------------------------------
def test_success_pushes_variables_and_returns_the_document(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    answer(variables={"ids": [1, 2]}, rows_written=5)
    value = execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x", "extra": 1}), ti)
    assert ti.pushed == {"ids": [1, 2]}
    assert (value["rows_written"], value["variables"]) == (5, {"ids": [1, 2]})
    assert [w["code"] for w in value["warnings"]] == ["PARAMETER_NOT_USED"], "found before the submission, and in the result"


@pytest.mark.parametrize(("result", "kind"), [
    ({"status": "skipped", "reason": "stop_if_empty", "message": "none"}, AirflowSkipException),
    ({"status": "failed", "reason": "quality", "error": "x"}, AirflowFailException),
    ({"status": "failed", "reason": "data", "error": "x"}, AirflowFailException),
    ({"status": "failed", "reason": "infrastructure", "error": "x"}, AirflowException),
])
def test_the_result_is_pushed_before_the_task_ends(answer: Any, ti: Any, pipeline: dict[str, Any], result: dict[str, Any], kind: type[Exception]) -> None:
    answer(**result, variables={"n": 1})
    with pytest.raises(kind) as caught:
        execute(SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}), ti)
    assert type(caught.value) is kind
    assert (ti.pushed["n"], ti.pushed["return_value"]["status"]) == (1, result["status"])


def test_the_full_result_is_kept_and_linked(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(variables={"big": ["x" * 100] * 100})
    monkeypatch.setenv("AIRFLOW__SPARQUET__RESULT_BASE_URL", "https://reports")
    ti.map_index = 3
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, result_dir=str(tmp_path), xcom_limit=2000)
    value = execute(operator, ti)
    place = tmp_path / "dag" / "manual__1" / "task.3" / "1" / "result.json"
    assert json.loads(place.read_text())["variables"] == {"big": ["x" * 100] * 100}
    assert operator.report_url == "https://reports/dag/manual__1/task.3/1/report.html"
    assert str(place) in value["warnings"][0]["remedy"]
    assert operator.operator_extra_links[0].get_link(operator, ti_key=None) == operator.report_url


def test_a_result_that_cannot_be_kept_fails_nothing(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path) -> None:
    answer()
    (tmp_path / "file").write_text("")
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/x"}, result_dir=str(tmp_path / "file"))
    assert execute(operator, ti)["status"] == "success"
    assert operator.report_url is None


def test_no_secret_in_result_error_or_report(answer: Any, ti: Any, pipeline: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    answer(status="failed", reason="data", error="could not log in with hunter22", message='{"q": "swordfish\\"1"}', variables={"v": "hunter22!"})
    pipeline["input"]["options"] = {"dbpassword": 'swordfish"1'}
    params = {"src": "/x", "password": "hunter22", "unused": {}}
    params.pop("unused")
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params=params, result_dir=str(tmp_path))
    with pytest.raises(AirflowFailException) as caught:
        execute(operator, ti)
    kept = next(tmp_path.rglob("result.json")).read_text() + next(tmp_path.rglob("report.html")).read_text()
    for text in (str(caught.value), json.dumps(ti.pushed), kept, caplog.text):
        assert "hunter22" not in text
        assert "swordfish" not in text
    assert ti.pushed["return_value"]["params"] == {"src": "/x", "password": "***"}
