"""Real runs: Airflow's ``dag.test()`` with a real spark-submit on ``local[2]``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


@pytest.fixture(scope="package", autouse=True)
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An exchange folder of these tests alone, so that other runs on this machine don't count."""
    folder = tmp_path_factory.mktemp("tmp")
    before, tempfile.tempdir, os.environ["TMPDIR"] = tempfile.tempdir, str(folder), str(folder)
    yield folder
    tempfile.tempdir = before
    del os.environ["TMPDIR"]


def drivers() -> list[str]:
    """The drivers of these tests that run now."""
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or []
        if any(a.startswith(tempfile.gettempdir()) and a.endswith(".json") for a in arguments) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(f"{process.pid} {' '.join(arguments)[:120]}")
    return found


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders, and where the runs write."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "orders.csv").write_text("id,amount\n1,1.5\n2,2.5\n3,3.25\n")
    os.environ["SPARQUET_TEST_DATA"] = str(folder)
    return folder


@dataclass
class Outcome:
    """How a run ended: states, tries and XComs of every task, what the database shows of it, and the log."""

    states: dict[str, str]
    tries: dict[str, int]
    xcoms: dict[str, dict[str, Any]]
    stored: str
    log: str


@pytest.fixture(scope="session")
def run_dag(airflow_db: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """Run a DAG of ``tests/system/dags`` in a process of its own, with all that it logs."""
    folder = tmp_path_factory.mktemp("runs")
    environment = {**os.environ, "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags"), "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO", "PYTHONPATH": str(ROOT)}
    environment["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps({"type": "file", "log_file_path": str(data / "lineage.jsonl"), "append": True})

    def run(wanted: str) -> Outcome:
        outcome, log = folder / f"{wanted}.json", folder / f"{wanted}.log"
        with open(log, "w") as file:
            command = [sys.executable, str(ROOT / "scripts" / "run_dag.py"), "--json", str(outcome), wanted]
            subprocess.run(command, env=environment, stdout=file, stderr=file, check=True)
        (ended,) = json.loads(outcome.read_text())
        tasks = ended["tasks"]
        return Outcome(
            {n: t["state"] for n, t in tasks.items()}, {n: t["tries"] for n, t in tasks.items()}, {n: t["xcom"] for n, t in tasks.items()},
            outcome.read_text() + _rendered(ended["dag_id"], ended["run_id"]), log.read_text(),
        )

    return run


def _rendered(dag_id: str, run_id: str) -> str:
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.scalars(select(RenderedTaskInstanceFields).filter_by(dag_id=dag_id, run_id=run_id))
        text = json.dumps([fields.rendered_fields for fields in found])
    assert "pipeline_params" in text
    return text
