"""Runs of the example DAGs: an Airflow on SQLite in a temporary folder, a local Spark, data made anew for each test."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import demo_data, run_dag

#: Seconds for all runs of one call; a machine that other work keeps busy needs minutes.
LIMIT = 600


class Airflow:
    """One Airflow process that runs DAGs on request; its start costs as much as two runs.

    It ends when its standard input ends, also when pytest is killed.
    """

    def __init__(self, home: Path, spark_conf: Path) -> None:
        self.log = home / "run.log"
        environment = run_dag.environment(home=home, data=home, spark_conf=spark_conf)
        with self.log.open("wb") as log:
            command = [sys.executable, str(run_dag.ROOT / "scripts" / "run_dag.py"), "--serve"]
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def run(self, data: Path, wanted: tuple[str, ...], outcome: Path) -> list[dict[str, Any]]:
        """Run ``dag_id[@date]`` one after the other on ``data``; returns how each ended."""
        assert self.process.stdin is not None
        begin = self.log.stat().st_size
        self.process.stdin.write(json.dumps({"data": str(data), "runs": wanted, "json": str(outcome)}).encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + LIMIT
        while not outcome.exists() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        text = self.log.read_bytes()[begin:].decode("utf-8", errors="replace")
        print(text[-8000:])  # pytest shows it when the test fails
        assert outcome.exists(), f"no outcome after {LIMIT} s, or Airflow ended ({self.process.poll()})"
        ended = json.loads(outcome.read_text(encoding="utf-8"))
        outcome.unlink()
        assert isinstance(ended, list), ended
        return ended

    def stop(self) -> None:
        """End the process, with everything it started (Airflow starts Spark, Spark starts Python)."""
        import psutil

        if self.process.poll() is None:
            for part in [*psutil.Process(self.process.pid).children(recursive=True), self.process]:
                with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                    part.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """The Airflow process of all runs, with a Spark configuration that has Delta."""
    from scripts.spark_conf import write

    home = tmp_path_factory.mktemp("airflow")
    started = Airflow(home, write(home / "spark", {"spark.sql.warehouse.dir": str(home / "warehouse")}))
    yield started
    started.stop()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data of the examples, new for each test."""
    demo_data.make(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def run_dags(airflow: Airflow, data: Path, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run ``dag_id[@date]`` one after the other on ``data``; returns how each ended."""
    return lambda *wanted: airflow.run(data, wanted, tmp_path / "outcome.json")
