"""What happens when a task is ended or its worker dies, with a real Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from .conftest import HERE, drivers
from .test_ends import rows

pytestmark = pytest.mark.slow

WORKER = """
import json, sys
from types import SimpleNamespace
arguments, ti = json.loads(sys.argv[1])
from sparquet_provider.operators import SparquetRunOperator
SparquetRunOperator(task_id="task", **arguments).execute({"ti": SimpleNamespace(**ti, xcom_push=print)})
"""


def until(condition: Any, seconds: float = 180) -> None:
    from sparquet_provider.hooks.drivers import wait_until

    assert wait_until(condition, seconds, poll=0.2), "it did not come to that in time"


@pytest.fixture
def arguments(data: Path, tmp_path: Path) -> dict[str, Any]:
    """Appends three orders once ``go`` exists; ``here`` says that the driver waits."""
    return {
        "quick_start": True, "extensions": [str(HERE / "dags" / "helpers.py")],
        "pipeline": {
            "name": "worker", "input": {"format": "csv", "path": f"{data}/orders.csv", "options": {"header": True}},
            "transformations": [{"type": "wait", "here": f"{tmp_path}/here", "until": f"{tmp_path}/go"}],
            "output": {"format": "parquet", "path": f"{tmp_path}/out", "mode": "append"},
        },
    }


def task_instance(tmp_path: Path, try_number: int) -> dict[str, Any]:
    return {"dag_id": "dag", "run_id": str(tmp_path), "task_id": "task", "map_index": -1, "try_number": try_number}


def killed_worker(arguments: dict[str, Any], tmp_path: Path) -> None:
    """A worker that is killed while its driver waits."""
    command = [sys.executable, "-c", WORKER, json.dumps([arguments, task_instance(tmp_path, 1)])]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=HERE.parents[1], env={**os.environ, "PYTHONPATH": str(HERE.parents[1])})
    until((tmp_path / "here").exists)
    worker.kill()
    worker.wait()
    assert len(drivers()) == 2, "the JVM and the Python driver go on without their worker"


def execute(arguments: dict[str, Any], tmp_path: Path, try_number: int) -> dict[str, Any]:
    from sparquet_provider.operators import SparquetRunOperator

    ti = SimpleNamespace(**task_instance(tmp_path, try_number), xcom_push=lambda **_: None)
    result: dict[str, Any] = SparquetRunOperator(task_id="task", **arguments).execute({"ti": ti})
    return result


def test_the_run_of_a_dead_worker_is_found_and_nothing_is_appended_twice(arguments: dict[str, Any], tmp_path: Path) -> None:
    killed_worker(arguments, tmp_path)
    threading.Timer(5, (tmp_path / "go").write_text, [""]).start()
    result = execute(arguments, tmp_path, 2)
    assert (result["status"], result["rows_written"]) == ("success", 3)
    assert result["attempt"].split("-")[2] == "1", "the result of the first try"
    assert rows(tmp_path / "out") == 3
    assert drivers() == []


def test_the_run_of_a_dead_worker_is_ended_when_the_document_has_changed(arguments: dict[str, Any], tmp_path: Path) -> None:
    killed_worker(arguments, tmp_path)
    changed = json.loads(json.dumps(arguments))
    changed["pipeline"]["transformations"] = [{"type": "filter", "condition": "id > 1"}]
    result = execute(changed, tmp_path, 2)
    (tmp_path / "go").write_text("")  # too late for the first driver
    assert (result["rows_written"], result["attempt"].split("-")[2]) == (2, "2")
    assert drivers() == []
    assert rows(tmp_path / "out") == 2


def test_on_kill_ends_jvm_and_driver(arguments: dict[str, Any], tmp_path: Path) -> None:
    from sparquet_provider.operators import SparquetRunOperator

    operator = SparquetRunOperator(task_id="task", **arguments)
    ti = SimpleNamespace(**task_instance(tmp_path, 1), xcom_push=lambda **_: None)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            operator.execute({"ti": ti})
        except BaseException as error:  # noqa: BLE001
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until((tmp_path / "here").exists)
    begin = time.monotonic()
    operator.on_kill()
    assert drivers() == []
    assert time.monotonic() - begin < 20
    thread.join(30)
    assert isinstance(ended[0], AirflowException)
    assert "CANCELLED" in str(ended[0])
    assert not (tmp_path / "out").exists()


def test_sigterm_to_the_worker_leaves_no_driver(arguments: dict[str, Any], tmp_path: Path, airflow_db: Path) -> None:
    """Airflow's own handler is at work: the scheduler ends a task that somebody marked in the UI this way."""
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "terminated.py").write_text(
        "from airflow.sdk import DAG\nfrom sparquet_provider.operators import SparquetRunOperator\n"
        f"with DAG('terminated', schedule=None) as dag:\n    SparquetRunOperator(task_id='task', **{arguments!r})\n"
    )
    code = (
        "import sys\nfrom airflow.dag_processing.dagbag import BundleDagBag\n"
        f"BundleDagBag(dag_folder={str(dags)!r}, bundle_path={str(dags)!r}, bundle_name='dags-folder').dags['terminated'].test()"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "AIRFLOW__CORE__DAGS_FOLDER": str(dags)}
    with open(tmp_path / "log", "w") as log:
        worker = subprocess.Popen([sys.executable, "-c", code], stdout=log, stderr=log, env=environment)
        until((tmp_path / "here").exists)
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    assert drivers() == []
    assert "CANCELLED" in (tmp_path / "log").read_text()
    assert not (tmp_path / "out").exists()
