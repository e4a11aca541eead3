"""Real runs: Airflow's ``dag.test()`` with a real spark-submit on ``local[2]``."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def drivers() -> list[str]:
    """What runs with the driver script on this machine."""
    import psutil

    from sparquet_provider.core.bundle import DRIVER

    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if str(DRIVER) in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(f"{process.pid} {' '.join(process.info['cmdline'])[:120]}")
    return found


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders, and where the runs write."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "orders.csv").write_text("id,amount\n1,1.5\n2,2.5\n3,3.25\n")
    os.environ["SPARQUET_TEST_DATA"] = str(folder)
    return folder


class Outcome:
    """How a run ended: states, tries, XComs and rendered fields of every task."""

    def __init__(self, run: Any, log: str) -> None:
        from airflow.models.renderedtifields import RenderedTaskInstanceFields
        from airflow.models.taskinstance import TaskInstance
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        self.log, self.state = log, str(run.state)
        self.states: dict[str, str] = {}
        self.tries: dict[str, int] = {}
        self.xcoms: dict[str, dict[str, Any]] = {}
        self.stored = ""
        where = {"dag_id": run.dag_id, "run_id": run.run_id}
        with create_session() as session:
            for ti in session.scalars(select(TaskInstance).filter_by(**where)):
                self.states[self._name(ti)], self.tries[self._name(ti)] = str(ti.state), ti.try_number
            for row in session.scalars(select(XComModel).filter_by(**where)):
                self.xcoms.setdefault(self._name(row), {})[row.key] = XComModel.deserialize_value(row)
                self.stored += json.dumps(row.value)
            for fields in session.scalars(select(RenderedTaskInstanceFields).filter_by(**where)):
                self.stored += json.dumps(fields.rendered_fields)

    @staticmethod
    def _name(row: Any) -> str:
        return f"{row.task_id}[{row.map_index}]" if row.map_index >= 0 else str(row.task_id)


@pytest.fixture(scope="session")
def run_dag(airflow_db: Path, data: Path) -> Callable[..., Any]:
    """Run a DAG of ``tests/system/dags``; returns the run."""
    shutil.copytree(HERE / "dags", airflow_db / "dags", dirs_exist_ok=True)
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "INFO"

    def run(dag_id: str, **arguments: Any) -> Any:
        from airflow.dag_processing.dagbag import BundleDagBag

        bag = BundleDagBag(dag_folder=airflow_db / "dags", bundle_path=airflow_db / "dags", bundle_name="dags-folder")
        assert bag.import_errors == {}
        return bag.dags[dag_id].test(**arguments)

    return run
