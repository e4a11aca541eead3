"""docker-compose.yaml is valid, and its services work together: the slow test starts each of them as a process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers import free_port, initdb

ROOT = Path(__file__).resolve().parents[1]
#: Seconds for one wait. Each ends as soon as what it waits for is there; a machine that other work keeps busy is slow.
LIMIT = 300
AIRFLOW_SERVICES = ("api-server", "scheduler", "dag-processor", "triggerer")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file as docker-compose itself understands it."""
    program = shutil.which("docker-compose")
    assert program, "docker-compose is missing; install it with: apt-get install docker-compose"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW_", "POSTGRES_", "COMPOSE_", "DOCKER_"))}
    done = subprocess.run([program, "-f", str(ROOT / "docker-compose.yaml"), "config"], capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    parsed: dict[str, Any] = yaml.safe_load(done.stdout)
    return parsed


def test_every_part_of_airflow_and_spark_is_there(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"postgres", "init", "spark-master", "spark-worker", *AIRFLOW_SERVICES}


def test_ports_are_published_on_the_loopback_address_only(compose: dict[str, Any]) -> None:
    published = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(str(port).startswith("127.0.0.1:") for port in published)


def test_secrets_come_from_the_environment() -> None:
    text = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
    for name in ("POSTGRES_PASSWORD", "AIRFLOW_ADMIN_PASSWORD", "AIRFLOW_SECRET_KEY", "AIRFLOW_JWT_SECRET", "AIRFLOW_FERNET_KEY"):
        assert f"${{{name}:-" in text


def test_mounted_volumes_are_owned_by_the_user_of_the_image(compose: dict[str, Any]) -> None:
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    mounted = {str(v).split(":")[1] for name, s in compose["services"].items() if name != "postgres" for v in s.get("volumes", [])}
    owned = next(line for line in dockerfile.splitlines() if "install --directory --owner=airflow" in line).split()
    assert mounted <= set(owned)


def test_what_the_image_copies_is_not_ignored() -> None:
    copied = [line.split()[1:-1] for line in (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8").splitlines() if line.startswith("COPY ")]
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    names = {name for names in copied for name in names}
    assert names == let_in
    assert all((ROOT / name).exists() for name in names)


# --- the same services, as processes ----------------------------------------------------------------------------------
def wait_for(what: str, ready: Callable[[], Any], alive: Callable[[], None]) -> Any:
    """The first true value of ``ready``; an AssertionError that names ``what`` when time is over."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        alive()
        with contextlib.suppress(OSError, urllib.error.URLError, KeyError):
            if found := ready():
                return found
        time.sleep(0.5)
    raise AssertionError(f"waited {LIMIT} s for {what}")


def listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        return True


class Services:
    """Services of the compose file as processes on the loopback address, in a folder of their own."""

    def __init__(self, compose: dict[str, Any], folder: Path) -> None:
        from scripts.spark_conf import write

        self.services, self.folder = compose["services"], folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.api, self.database, self.master = free_port(), free_port(), free_port()
        spark = write(folder / "spark", {"spark.executor.memory": "512m", "spark.driver.memory": "512m"})
        self.places = {
            "postgres:5432": f"127.0.0.1:{self.database}",
            "http://api-server:8080": f"http://127.0.0.1:{self.api}",
            "spark://spark-master:7077": f"spark://127.0.0.1:{self.master}",
            '"spark://spark-master", "port": 7077': f'"spark://127.0.0.1", "port": {self.master}',
            "/opt/sparquet/data": str(folder / "data"),
            "/opt/sparquet/": f"{ROOT}/",
            "/opt/airflow": str(folder / "airflow"),
        }
        self.own = {
            "spark-master": "127.0.0.1", "0.0.0.0": "127.0.0.1", "8080": str(self.api), "7077": str(self.master), "8081": "0", "8082": "0", "2g": "1g",
        }
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "SPARK", "PYTEST", "POSTGRES"))}
        self.base = keep | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SPARK_CONF_DIR": str(spark), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder / "work"),
            "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
            # Four processes beside Spark on a small machine: no more of each than needed.
            "AIRFLOW__SCHEDULER__PARSING_PROCESSES": "1",
        }

    def here(self, text: str) -> str:
        """The same text, with the containers' names and folders replaced by those of this machine."""
        for there, own in self.places.items():
            text = text.replace(there, own)
        return text

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start the service with the command and the environment that the compose file gives it."""
        service = self.services[name]
        command = [self.own.get(word) or self.here(word) for word in service["command"]]
        return self.launch(name, command, {k: self.here(str(v)) for k, v in service.get("environment", {}).items()})

    def launch(self, name: str, command: list[str], environment: dict[str, str], **options: Any) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.base | environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
        self.running[name] = process
        return process

    def start_postgres(self, folder: Path) -> None:
        """PostgreSQL of this machine with the user, password and database of the compose file; never as root."""
        wanted = self.services["postgres"]["environment"]
        command, account = initdb(folder, wanted["POSTGRES_USER"], wanted["POSTGRES_PASSWORD"])
        self.launch("postgres", [*command, "-p", str(self.database)], {}, cwd=folder, **account)
        wait_for("PostgreSQL", lambda: listens(self.database), self.all_alive)
        import psycopg2

        login = {"user": wanted["POSTGRES_USER"], "password": wanted["POSTGRES_PASSWORD"]}
        connection = psycopg2.connect(host="127.0.0.1", port=self.database, dbname="postgres", **login)
        connection.autocommit = True
        connection.cursor().execute(f'CREATE DATABASE "{wanted["POSTGRES_DB"]}"')
        connection.close()

    def all_alive(self) -> None:
        """Fail with the log's end when a service has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
                raise AssertionError(f"{name} ended with {process.returncode}:\n{log[-3000:]}")

    def logs(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"--- {log.name}\n{log.read_text(encoding='utf-8', errors='replace')[-1500:]}" for log in sorted(self.folder.glob("*.log")))

    def stop(self) -> None:
        """End every process with all that it started; the database last."""
        import psutil

        order = sorted(self.running, key=lambda name: name == "postgres")
        for names in (order[:-1], order[-1:]):
            trees: list[psutil.Process] = []
            for name in names:
                with contextlib.suppress(psutil.NoSuchProcess):
                    parent = psutil.Process(self.running[name].pid)
                    trees += [*parent.children(recursive=True), parent]
            for process in trees:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.terminate()
            _, left = psutil.wait_procs(trees, timeout=15)
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=5)
            for name in names:
                self.running[name].wait(timeout=5)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, token: str | None = None) -> Any:
        """One request to the API."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}{path}", data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())


@pytest.fixture
def services(compose: dict[str, Any], tmp_path: Path) -> Iterator[Services]:
    """The services, not yet started; everything that a test starts is ended."""
    made = Services(compose, tmp_path)
    # Neither in tmp_path nor where other tests set TMPDIR to: the parents there are closed to the database's user.
    database = Path(tempfile.mkdtemp(prefix="sparquet-postgres-", dir="/tmp"))
    try:
        made.start_postgres(database)
        yield made
    finally:
        made.stop()
        shutil.rmtree(database, ignore_errors=True)


@pytest.mark.slow
def test_the_services_together_run_an_example_dag(services: Services, tmp_path: Path) -> None:
    # The order of depends_on.
    init = services.start("init")
    assert init.wait(timeout=LIMIT) == 0, services.logs()
    del services.running["init"]
    services.start("spark-master")
    wait_for("the Spark master", lambda: listens(services.master), services.all_alive)
    services.start("spark-worker")
    services.start("api-server")
    wait_for("the API server", lambda: services.call("GET", "/api/v2/version"), services.all_alive)
    for name in AIRFLOW_SERVICES[1:]:
        services.start(name)

    token = services.call("POST", "/auth/token", {"username": "admin", "password": "airflow"})["access_token"]
    dag = "/api/v2/dags/nothing_to_do"
    wait_for("the DAG", lambda: services.call("GET", dag, token=token)["dag_id"], services.all_alive)
    services.call("PATCH", dag, {"is_paused": False}, token)
    run = services.call("POST", f"{dag}/dagRuns", {"logical_date": None, "conf": {"limit": 100}}, token)["dag_run_id"]

    def ended() -> str | None:
        state = services.call("GET", f"{dag}/dagRuns/{run}", token=token)["state"]
        return state if state in ("success", "failed") else None

    try:
        state = wait_for("the DAG run", ended, services.all_alive)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{services.logs()}") from None
    tasks = services.call("GET", f"{dag}/dagRuns/{run}/taskInstances", token=token)["task_instances"]
    assert state == "success", services.logs()
    assert {task["task_id"]: task["state"] for task in tasks} == {"large_refunds": "success", "send_to_finance": "success", "log_outcome": "success"}

    health = services.call("GET", "/api/v2/monitor/health")
    assert {part: health[part]["status"] for part in ("metadatabase", "scheduler", "dag_processor", "triggerer")} == dict.fromkeys(
        ("metadatabase", "scheduler", "dag_processor", "triggerer"), "healthy"
    )
    written = list((tmp_path / "data" / "exports" / "large_refunds").glob("*.csv"))
    result = services.call("GET", f"{dag}/dagRuns/{run}/taskInstances/large_refunds/xcomEntries/return_value", token=token)["value"]
    assert written
    assert result["rows_written"] == sum(len(file.read_text(encoding="utf-8").splitlines()) - 1 for file in written) > 0
    assert list((tmp_path / "work").glob("app-*")), "the worker ran no executor"
