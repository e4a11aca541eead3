"""The Spark connection is checked before anything is submitted; every error names field and remedy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.hooks import connection
from sparquet_provider.hooks.connection import Target, environment, target


@pytest.fixture
def conn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Define the connection ``c``."""
    def define(**fields: Any) -> str:
        monkeypatch.setenv("AIRFLOW_CONN_C", json.dumps(fields))
        return "c"

    return define


@pytest.mark.parametrize(("fields", "master", "mode"), [
    ({"conn_type": "spark", "host": "local[2]"}, "local[2]", "client"),
    ({"conn_type": "spark", "host": "yarn"}, "yarn", "client"),
    ({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}, "yarn", "cluster"),
    ({"conn_type": "spark", "host": "spark://m", "port": 7077}, "spark://m:7077", "client"),
    ({"conn_type": "spark", "host": "m", "port": 7077}, "spark://m:7077", "client"),
    ({"conn_type": "spark", "host": "spark://m:7077,n:7077"}, "spark://m:7077,n:7077", "client"),
    ({"conn_type": "spark", "host": "k8s://https://k", "port": 443}, "k8s://https://k:443", "client"),
])
def test_the_master_is_the_hooks(conn: Any, fields: dict[str, Any], master: str, mode: str) -> None:
    found = target(conn(**fields))
    assert (found.master, found.deploy_mode) == (master, mode)


@pytest.mark.parametrize("fields", [
    {"conn_type": "spark", "host": "local[2]"}, {"conn_type": "spark", "host": "m", "port": 7077}, {"conn_type": "spark", "host": "spark://m:7077"},
])
def test_the_hook_sees_the_same_master(conn: Any, fields: dict[str, Any], capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    binary = tmp_path / "show"
    binary.write_text('#!/bin/sh\necho "$@" > "$0.out"\n')
    binary.chmod(0o755)
    SparkSubmitHook(conn_id=conn(**fields), spark_binary=str(binary)).submit("app.py")
    assert f"--master {target('c').master} " in (tmp_path / "show.out").read_text()


def test_a_missing_connection_does_not_become_yarn() -> None:
    with pytest.raises(AirflowFailException, match=r"no connection 'nowhere'.*airflow connections add nowhere --conn-type spark"):
        target("nowhere")


@pytest.mark.parametrize(("fields", "text"), [
    ({"conn_type": "spark_connect", "host": "h"}, "'spark_connect'.*Create a connection of type 'spark'"),
    ({"conn_type": "http", "host": "h"}, "type 'http', expected 'spark'"),
    ({"conn_type": "spark", "host": "myhost:7077"}, "'myhost:7077'.*field Host: spark://myhost:7077"),
    ({"conn_type": "spark", "host": "myhost"}, "'myhost'.*field Host"),
    ({"conn_type": "spark"}, "master ''.*field Host"),
    ({"conn_type": "spark", "port": 7077}, "field Host"),
    ({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "remote"}}, "'remote', expected client or cluster"),
    ({"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "cluster"}}, "no deploy mode cluster"),
    ({"conn_type": "spark", "host": "spark://m:7077", "extra": {"deploy-mode": "cluster"}}, "cannot run Python drivers in deploy mode cluster"),
])
def test_a_connection_that_cannot_work(conn: Any, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(AirflowFailException, match=text):
        target(conn(**fields))


def test_kubernetes_needs_its_provider(conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise connection.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(connection.metadata, "version", version)
    with pytest.raises(AirflowFailException, match="pip install apache-airflow-providers-cncf-kubernetes"):
        target(conn(conn_type="spark", host="k8s://https://k:443", extra={"deploy-mode": "cluster"}))


def test_two_versions_of_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.check_pyspark()  # what is installed here fits
    monkeypatch.setattr(connection.metadata, "version", {"pyspark": "4.1.1", "pyspark-client": "4.2.0"}.__getitem__)
    with pytest.raises(AirflowFailException, match=r"\[PYSPARK_MISMATCH\].*4\.1\.1.*4\.2\.0.*pip install"):
        connection.check_pyspark()


def test_the_environment_of_a_local_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    local = environment(Target("c", "local[2]", "client"), "spark-submit", {"A": 1, "B": None})
    assert local == {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "A": "1"}
    assert environment(Target("c", "local", "client"), "spark-submit", {"PYSPARK_PYTHON": "/my/python"})["PYSPARK_PYTHON"] == "/my/python"
    assert environment(Target("c", "spark://m:1", "client"), "spark-submit") == {"PYSPARK_DRIVER_PYTHON": sys.executable}
    assert environment(Target("c", "yarn", "cluster"), "spark-submit") == {}


def test_a_binary_beside_this_python_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    found = environment(Target("c", "local", "client"), "spark-submit")
    assert found["PATH"] == f"{Path(sys.executable).parent}{os.pathsep}/usr/bin"


def test_an_absent_binary_is_named_with_the_remedy() -> None:
    with pytest.raises(AirflowFailException, match="no 'spark9-submit' on the PATH.*pip install"):
        environment(Target("c", "local", "client"), "spark9-submit")
