"""A real standalone cluster of one master and one worker: client mode works, cluster mode is refused as Spark itself refuses it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.operators import SparquetRunOperator

from .conftest import drivers
from .test_ends import rows
from .test_workers import until

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master's URL."""
    folder = tmp_path_factory.mktemp("standalone")
    port = free_port()
    url, started = f"spark://127.0.0.1:{port}", []
    environment = {**os.environ, "SPARK_LOG_DIR": str(folder), "SPARK_WORKER_DIR": str(folder), "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}
    for name, arguments in (
        ("master", ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]),
        ("worker", ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "2", "--memory", "1g", url]),
    ):
        with open(folder / f"{name}.log", "w") as log:
            started.append(subprocess.Popen(["spark-class", *arguments], stdout=log, stderr=log, env=environment))
    try:
        until(lambda: re.search("Successfully registered with master", (folder / "worker.log").read_text()))
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(20)


@pytest.fixture
def operator(cluster: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make an operator that submits to the cluster."""
    monkeypatch.setenv("AIRFLOW_CONN_STANDALONE", json.dumps({"conn_type": "spark", "host": cluster}))

    def make(**changes: Any) -> SparquetRunOperator:
        document = {
            "name": "standalone", "input": {"format": "csv", "path": f"{data}/orders.csv", "options": {"header": True}},
            "output": {"format": "parquet", "path": f"{tmp_path}/out"},
        }
        return SparquetRunOperator(task_id="task", pipeline=document, conn_id="standalone", executor_memory="512m", quick_start=True, **changes)

    return make


def ti() -> Any:
    return SimpleNamespace(dag_id="dag", run_id="standalone", task_id="task", map_index=-1, try_number=1, xcom_push=lambda **_: None)


def test_client_mode(operator: Any, tmp_path: Path) -> None:
    result = operator(num_executors=1, total_executor_cores=1).execute({"ti": ti()})
    assert (result["status"], result["rows_written"]) == ("success", 3)
    assert rows(tmp_path / "out") == 3
    assert drivers() == []


def test_cluster_mode_is_refused_since_spark_cannot_do_it(operator: Any, cluster: str, tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match="cannot run Python drivers in deploy mode cluster.*Use deploy mode client"):
        operator(deploy_mode="cluster").execute({"ti": ti()})
    (tmp_path / "app.py").write_text("")
    done = subprocess.run(["spark-submit", "--master", cluster, "--deploy-mode", "cluster", str(tmp_path / "app.py")], capture_output=True, text=True)
    assert done.returncode != 0
    assert "not supported for python applications on standalone clusters" in done.stdout + done.stderr
