"""Runs of the example DAGs: an Airflow on SQLite in a temporary folder, a local Spark, data made anew for each test."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import demo_data, run_dag

#: Seconds for all runs of one call; a machine that other work keeps busy needs minutes.
LIMIT = 600


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process that is still running, with everything it started (Airflow starts Spark, Spark starts Python)."""
    if process.poll() is not None:
        return
    import psutil

    tree = [*psutil.Process(process.pid).children(recursive=True), process]
    for part in tree:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            part.kill()
    process.wait()


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One Airflow for all runs; the first run makes its database."""
    return tmp_path_factory.mktemp("airflow")


@pytest.fixture(scope="session")
def spark_conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Spark's configuration folder with Delta."""
    from scripts.spark_conf import write

    return write(tmp_path_factory.mktemp("spark"), {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data of the examples, new for each test."""
    demo_data.make(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def run_dags(airflow_home: Path, spark_conf: Path, data: Path, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run ``dag_id[@date]`` one after the other; returns how each ended."""

    def run(*wanted: str) -> list[dict[str, Any]]:
        outcome, log = tmp_path / "outcome.json", tmp_path / "run.log"
        command = [sys.executable, str(run_dag.ROOT / "scripts" / "run_dag.py"), "--json", str(outcome), *wanted]
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=run_dag.environment(home=airflow_home, data=data, spark_conf=spark_conf), stdout=file, stderr=file)
            try:
                process.wait(LIMIT)
            finally:
                end_tree(process)
        text = log.read_text(encoding="utf-8", errors="replace")
        assert outcome.exists(), text[-6000:]
        ended: list[dict[str, Any]] = json.loads(outcome.read_text(encoding="utf-8"))
        outcome.unlink()
        print(text[-8000:])  # pytest shows it when the test fails
        return ended

    return run
