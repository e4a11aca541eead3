"""Drivers on clusters. No cluster is at hand: a small HTTP server stands for YARN's ResourceManager, a module for the Kubernetes client."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from airflow.sdk.exceptions import AirflowException

from sparquet_provider.hooks import submission
from sparquet_provider.hooks.cluster import LABEL, KubernetesDrivers, YarnDrivers
from sparquet_provider.hooks.connection import Target
from sparquet_provider.hooks.drivers import wait_for_end
from sparquet_provider.hooks.exchange import Exchange
from sparquet_provider.hooks.settings import Settings


class ResourceManager:
    """Applications by tag; each look takes one off ``looks`` until the application has finished."""

    def __init__(self) -> None:
        self.applications: dict[str, dict[str, Any]] = {}
        self.failures = 0
        self.killed: list[str] = []
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def answer(self, status: int, body: Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def do_GET(self) -> None:
                if manager.failures:
                    manager.failures -= 1
                    self.answer(500, {})
                    return
                query = parse_qs(urlparse(self.path).query)
                active = []
                for tag, application in manager.applications.items():
                    if tag == query["applicationTags"][0] and application["state"] in query["states"][0].split(","):
                        active.append(dict(application))
                        application["looks"] -= 1
                        if not application["looks"]:
                            application["state"] = "FINISHED"
                self.answer(200, {"apps": {"app": active} if active else None})

            def do_PUT(self) -> None:
                number = self.path.split("/")[-2]
                manager.killed.append(number)
                for application in manager.applications.values():
                    if application["id"] == number:
                        application["state"] = "KILLED"
                self.answer(202, {})

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def run(self, tag: str, looks: int = -1) -> None:
        """An application that runs for that many looks (for ever when negative)."""
        self.applications[tag] = {"id": f"application_1_{len(self.applications):04}", "state": "RUNNING", "looks": looks}


@pytest.fixture
def yarn() -> Iterator[ResourceManager]:
    manager = ResourceManager()
    yield manager
    manager.server.shutdown()
    manager.server.server_close()


# --- YARN ----------------------------------------------------------------------------------------------------------
def test_an_application_is_found_by_its_tag_and_ended(yarn: ResourceManager) -> None:
    yarn.run("one")
    yarn.run("two")
    found = YarnDrivers(yarn.address)
    assert found.alive("one") == ["application_1_0000 (RUNNING)"]
    found.end("one")
    assert yarn.killed == ["application_1_0000"]
    assert found.alive("one") == []
    assert found.alive("two") != []


def test_waiting_bears_some_failed_looks_and_ends_with_the_application(yarn: ResourceManager) -> None:
    yarn.run("one", looks=2)
    yarn.failures = 2
    wait_for_end(YarnDrivers(yarn.address), "one", poll=0.01, errors=3)
    assert yarn.applications["one"]["state"] == "FINISHED"


def test_waiting_for_a_manager_that_never_answers_ends(yarn: ResourceManager) -> None:
    yarn.failures = 100
    with pytest.raises(ConnectionError, match="could not be asked 3 times in a row"):
        wait_for_end(YarnDrivers(yarn.address), "one", poll=0.01, errors=3)


def test_waiting_for_what_never_ends_is_given_up(yarn: ResourceManager) -> None:
    yarn.run("one")
    with pytest.raises(TimeoutError, match=r"one still runs after 0 s: application_1_0000"):
        wait_for_end(YarnDrivers(yarn.address), "one", poll=0.01, limit=0.05)


@pytest.fixture
def on_yarn(stage: Any, yarn: ResourceManager, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """Submissions to a stand-in for spark-submit and the ResourceManager."""
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": yarn.address}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_YARN", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra}))
    # spark-submit names the application in its output; the hook reads it there.
    stage.binary.write_text(stage.binary.read_text().replace("code = child.wait()", 'print("Submitted application_1_0000", flush=True)\ncode = child.wait()'))

    def make(mode: str = "ok", **options: Any) -> Any:
        exchange = Exchange(stage.key, str(tmp_path / "shared"), base=stage.base)
        return stage.submission(mode, where=Target("spark_yarn", "yarn", "cluster", extra), exchange=exchange, settings=Settings("app"), options=options)

    return make


def test_a_tracked_application_is_waited_for(yarn: ResourceManager, on_yarn: Any, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(submission, "wait_for_end", lambda drivers, attempt, poll: looks.append(f"{type(drivers).__name__} {poll:.0f}"))
    with on_yarn(yarn_track_via_rm_api=True) as run:
        assert run.run(request_for())["status"] == "success"
    assert looks == ["YarnDrivers 10", "LocalDrivers 1"], "the ResourceManager is asked at most every 10 s"


def test_an_application_of_a_dead_worker_is_ended_when_it_was_asked_something_else(yarn: ResourceManager, on_yarn: Any, request_for: Any) -> None:
    run = on_yarn()
    earlier = run.exchange.open(1, "other fingerprint")
    yarn.run(earlier.name)
    with run:
        assert run.run(request_for(), try_number=2)["attempt"] == run.attempt.name
    assert yarn.killed == ["application_1_0000"]


def test_the_application_of_a_dead_worker_is_waited_for_and_its_result_counts(stage: Any, yarn: ResourceManager, on_yarn: Any, request_for: Any) -> None:
    run = on_yarn()
    earlier = run.exchange.open(1, submission._fingerprint(request_for(), run.settings))
    yarn.run(earlier.name, looks=1)
    (earlier.shared / "result.json").write_text(json.dumps({"format_version": 1, "attempt": earlier.name, "status": "success"}))
    with run:
        assert run.run(request_for(), try_number=2)["attempt"] == earlier.name
    assert (stage.calls, yarn.killed) == ([], [])


def test_while_the_manager_is_silent_nothing_is_submitted_twice(stage: Any, yarn: ResourceManager, on_yarn: Any, request_for: Any) -> None:
    run = on_yarn()
    run.exchange.open(1, "fingerprint")
    yarn.failures = 100
    with pytest.raises(AirflowException, match="may still run, and the cluster does not tell"), run:
        run.run(request_for(), try_number=2)
    assert stage.calls == []


def test_kill_ends_the_application(stage: Any, yarn: ResourceManager, on_yarn: Any, request_for: Any) -> None:
    from sparquet_provider.hooks.drivers import wait_until

    run = on_yarn("hang")
    thread = threading.Thread(target=lambda: pytest.raises(AirflowException, run.run, request_for()))
    thread.start()
    assert wait_until(lambda: len(stage.left_over()) == 2, 15, poll=0.05)
    yarn.run(run.attempt.name)
    run.kill()
    thread.join(20)
    assert yarn.killed == ["application_1_0000"]
    assert stage.left_over() == []


# --- Kubernetes ------------------------------------------------------------------------------------------------------
class ApiException(Exception):
    def __init__(self, status: int) -> None:
        self.status, self.reason = status, "because"


@pytest.fixture
def kubernetes(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A namespace with one driver pod."""
    pod = SimpleNamespace(metadata=SimpleNamespace(name="orders-driver"), status=SimpleNamespace(phase="Running"))
    cluster = SimpleNamespace(pods=[pod], queries=[], error=None)

    def list_pods(namespace: str, label_selector: str, **_: Any) -> Any:
        if cluster.error:
            raise cluster.error
        cluster.queries.append((namespace, label_selector))
        return SimpleNamespace(items=list(cluster.pods))

    def delete(name: str, namespace: str, **_: Any) -> None:
        cluster.pods = [p for p in cluster.pods if p.metadata.name != name]

    client = SimpleNamespace(list_namespaced_pod=list_pods, delete_namespaced_pod=delete)
    module = ModuleType("airflow.providers.cncf.kubernetes.kube_client")
    module.get_kube_client, module.ApiException = lambda: client, ApiException  # type: ignore[attr-defined]
    package = ModuleType("airflow.providers.cncf.kubernetes")
    package.kube_client = module  # type: ignore[attr-defined]
    for name, value in (("airflow.providers.cncf", ModuleType("cncf")), (package.__name__, package), (module.__name__, module)):
        monkeypatch.setitem(sys.modules, name, value)
    return cluster


def test_a_pod_is_found_by_its_label_and_deleted(kubernetes: SimpleNamespace) -> None:
    found = KubernetesDrivers("jobs")
    assert found.alive("sparquet-x") == ["pod orders-driver (Running)"]
    assert kubernetes.queries == [("jobs", f"{LABEL}=sparquet-x")]
    kubernetes.pods[0].status.phase = "Succeeded"
    assert found.alive("sparquet-x") == []
    found.end("sparquet-x")
    assert kubernetes.pods == []


def test_an_api_that_fails_is_an_os_error(kubernetes: SimpleNamespace) -> None:
    from urllib3.exceptions import HTTPError

    for error in (ApiException(503), HTTPError("no route")):
        kubernetes.error = error
        with pytest.raises(OSError, match="503 because|no route"):
            KubernetesDrivers("jobs").alive("x")


def test_a_driver_pod_carries_the_attempts_label(stage: Any, tmp_path: Any) -> None:
    exchange = Exchange(stage.key, str(tmp_path), "s3a://bucket/x", base=stage.base)
    run = stage.submission(where=Target("c", "k8s://https://k:443", "cluster", {"namespace": "jobs"}), exchange=exchange, env_vars={"A": "1"})
    attempt = exchange.open(1, "f")
    options = run._options(attempt, attempt.folder / "r.json")
    assert options["conf"] == {
        f"spark.kubernetes.driver.label.{LABEL}": attempt.name, "spark.kubernetes.file.upload.path": f"s3a://bucket/x/{stage.key}",
        "spark.kubernetes.driverEnv.A": "1",
    }
    assert isinstance(run.remote, KubernetesDrivers)
    assert run.remote.namespace == "jobs"
