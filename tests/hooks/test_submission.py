"""A submission ends with a result or an error that says so, and leaves neither processes nor files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from sparquet_provider.core.bundle import DRIVER
from sparquet_provider.hooks import drivers, submission
from sparquet_provider.hooks.connection import Target
from sparquet_provider.hooks.settings import Settings


def until(condition: Any, seconds: float = 15) -> None:
    assert drivers.wait_until(condition, seconds, poll=0.05), "it did not come to that in time"


# --- ends ----------------------------------------------------------------------------------------------------------
def test_the_result_comes_back_and_nothing_stays(stage: Any, request_for: Any) -> None:
    with stage.submission() as run:
        result = run.run(request_for())
        assert result["pipeline_name"] == "orders"
        assert result["attempt"] == run.attempt.name
        assert os.stat(run.attempt.folder / f"{run.attempt.name}.json").st_mode & 0o777 == 0o600
    assert stage.files() == []
    assert stage.left_over() == []


@pytest.mark.parametrize(("mode", "text"), [
    ("killed", "RESULT_MISSING.*the driver wrote none"),
    ("refused", r"RESULT_MISSING.*Error code is: 1"),
    ("late", "RESULT_MISSING"),
    ("newer", "RESULT_MISSING.*format version 99, expected 1"),
    ("exits", "RESULT_MISSING"),
])
def test_without_a_result_of_its_own_a_run_is_never_green(stage: Any, request_for: Any, mode: str, text: str) -> None:
    with pytest.raises(AirflowException, match=text) as caught, stage.submission(mode) as run:
        run.run(request_for())
    assert not isinstance(caught.value, AirflowFailException), "another try may help"
    assert "hunter22" not in str(caught.value)
    assert stage.files() == []
    until(lambda: stage.left_over() == [])


def test_a_written_result_counts_whatever_the_exit_code_says(stage: Any, request_for: Any) -> None:
    with stage.submission("bad end") as run:
        assert run.run(request_for())["status"] == "success"


# --- what spark-submit gets ----------------------------------------------------------------------------------------
def test_the_command_line_has_no_secret(stage: Any, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    build = submission.properties.write_private

    def spy(path: Path, text: str) -> None:
        build(path, text)
        seen[path.name] = text
        assert os.stat(path).st_mode & 0o777 == 0o600

    monkeypatch.setattr(submission.properties, "write_private", spy)
    conf = {
        "spark.hadoop.fs.s3a.secret.key": "hunter22", "spark.hadoop.fs.s3a.access.key": "hunter22", "spark.x.token": "hunter22", "spark.y": "plain",
        "spark.driver.extraJavaOptions": "-Dq=1 -Dpassword=hunter22",
    }
    options = {"repositories": "https://me:hunter22@repo/x", "executor_memory": "1g"}
    with stage.submission(settings=Settings("app", conf), options=options, base="spark.own 1 \\", env_vars={"MARKER": "hunter22"}) as run:
        run.run(request_for())
    (call,) = stage.calls
    assert "hunter22" not in " ".join(call["argv"])
    assert call["marker"] == "hunter22", "the environment arrives"
    assert "MARKER" not in os.environ
    options = run.attempt.folder / "spark.driver.extraJavaOptions"
    assert seen[options.name] == '"-Dq=1"\n"-Dpassword=hunter22"\n'
    found = submission.properties.parse(seen["spark.properties"])
    assert found.pop("spark.own") == "1"
    assert found == {k: v for k, v in conf.items() if "fs.s3a" in k or "token" in k} | {"spark.jars.repositories": "https://me:hunter22@repo/x"}
    argv = call["argv"]
    assert {"spark.y=plain", f"spark.driver.extraJavaOptions=@{options}"} <= set(argv)
    assert argv[argv.index("--executor-memory") + 1] == "1g"
    assert argv[argv.index("--name") + 1] == "app"
    assert argv[-2:] == [str(DRIVER), str(run.attempt.folder / f"{run.attempt.name}.json")]
    assert argv[argv.index("--py-files") + 1] == str(run.attempt.folder / "sparquet_core.zip")


def test_without_secrets_the_users_properties_file_is_used_as_it_is(stage: Any, request_for: Any) -> None:
    with stage.submission(options={"properties_file": "/my/file", "py_files": "a.py,b.zip"}) as run:
        run.run(request_for())
    argv = stage.calls[0]["argv"]
    assert argv[argv.index("--properties-file") + 1] == "/my/file"
    assert argv[argv.index("--py-files") + 1].endswith("sparquet_core.zip,a.py,b.zip")


def test_packages_are_resolved_once_on_a_local_master(stage: Any, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission.jars, "resolve", lambda packages, **_: [f"/jars/{p}.jar" for p in packages])
    settings = Settings("app", {"spark.jars": "/own.jar"}, ["g:a:1", "g:b:1"])
    with stage.submission(settings=settings) as run:
        run.run(request_for())
    with stage.submission(settings=settings, options={"jars": "/mine.jar"}) as run:
        run.run(request_for())
    with stage.submission(settings=settings, options={"exclude_packages": "g:c"}) as run:
        run.run(request_for())
    first, second, third = (c["argv"] for c in stage.calls)
    assert first[first.index("--jars") + 1] == "/own.jar,/jars/g:a:1.jar,/jars/g:b:1.jar"
    assert second[second.index("--jars") + 1] == "/mine.jar,/jars/g:a:1.jar,/jars/g:b:1.jar"
    assert third[third.index("--packages") + 1] == "g:a:1,g:b:1"


# --- ending --------------------------------------------------------------------------------------------------------
def test_on_kill_ends_the_whole_tree(stage: Any, request_for: Any) -> None:
    run = stage.submission("hang")
    ended: list[BaseException] = []

    def work() -> None:
        try:
            with run:
                run.run(request_for())
        except BaseException as error:  # noqa: BLE001
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: len(stage.left_over()) == 2)
    run.kill()
    thread.join(20)
    assert not thread.is_alive()
    assert stage.left_over() == []
    assert stage.files() == []
    assert isinstance(ended[0], AirflowException)
    assert "CANCELLED" in str(ended[0])


def test_on_kill_finds_a_driver_whose_spark_submit_has_gone(stage: Any, request_for: Any) -> None:
    run = stage.submission("hang")
    thread = threading.Thread(target=lambda: pytest.raises(AirflowException, run.run, request_for()))
    thread.start()
    until(lambda: len(stage.left_over()) == 2)
    (parent,) = [p for p in psutil.process_iter(["cmdline"]) if str(stage.binary) in (p.info["cmdline"] or [])]
    os.kill(parent.pid, 9)
    until(lambda: len(stage.left_over()) <= 1)
    run.kill()
    thread.join(20)
    assert stage.left_over() == []


def test_a_hook_whose_kill_command_hangs_returns_all_the_same(stage: Any, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "HOOK_PATIENCE", 0.5)
    run = stage.submission("hang")
    thread = threading.Thread(target=lambda: pytest.raises(AirflowException, run.run, request_for()))
    thread.start()
    until(lambda: len(stage.left_over()) == 2)
    run._hook.on_kill = lambda: subprocess.run([sys.executable, "-c", f"import time; time.sleep(600) # {stage.base}"])
    begin = time.monotonic()
    run.kill()
    assert time.monotonic() - begin < 10
    thread.join(20)
    until(lambda: stage.left_over() == [])


def test_a_timeout_ends_the_tree_before_it_goes_on(stage: Any, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.execution_time.timeout import timeout

    with pytest.raises(AirflowTaskTimeout), timeout(2), stage.submission("hang") as run:
        run.run(request_for())
    assert stage.left_over() == []
    assert stage.files() == []
    run.kill()  # Airflow calls on_kill again


def test_processes_that_ignore_the_polite_signal_are_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    stubborn = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    stubborn.stdout.readline()
    drivers.end_processes([psutil.Process(stubborn.pid)], grace=0.5)
    assert stubborn.wait(5) == -9


def test_only_drivers_of_the_attempt_are_ours(stage: Any) -> None:
    """A process that only looks at the file, or runs the driver for another attempt, is a stranger."""
    local = drivers.LocalDrivers(stage.base / stage.key)
    place = stage.base / stage.key / "sparquet-a-1-b"
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    looks = subprocess.Popen([*sleep, f"{place}/x.json"])
    other = subprocess.Popen([*sleep, str(DRIVER), f"{place}c/x.json"])
    ours = subprocess.Popen([*sleep, str(DRIVER), f"{place}/x.json"])
    try:
        until(lambda: local.alive("sparquet-a-1-b") != [])
        assert [p.pid for p in local.processes("sparquet-a-1-b")] == [ours.pid]
    finally:
        for process in (looks, other, ours):
            process.kill()
            process.wait()


# --- a worker died -------------------------------------------------------------------------------------------------
WORKER = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
import conftest
stage = conftest.Stage.__new__(conftest.Stage)
folder = Path(sys.argv[2])
stage.folder, stage.binary, stage.base, stage.key = folder, folder / "spark-submit", folder / "exchange", sys.argv[3]
run = stage.submission(sys.argv[4])
run.run(conftest.RunRequest("run", {"name": sys.argv[5]}, ""))
"""


@pytest.fixture
def dead_worker(stage: Any) -> Any:
    """A worker that submitted a run and was killed while it went on."""
    def start(mode: str, name: str = "orders") -> None:
        worker = subprocess.Popen([sys.executable, "-c", WORKER, json.dumps([str(Path(__file__).parent), *sys.path]), str(stage.folder), stage.key, mode, name])
        until(lambda: len(stage.left_over()) == 2 or stage.runs, 60)
        worker.kill()
        worker.wait()

    return start


def test_the_next_try_waits_for_the_run_of_a_dead_worker_and_takes_its_result(stage: Any, request_for: Any, dead_worker: Any) -> None:
    dead_worker("slow")
    with stage.submission("ok") as run:
        result = run.run(request_for(), try_number=2)
    assert len(stage.calls) == 1, "nothing was submitted again"
    assert len(stage.runs) == 1
    assert result["attempt"] == stage.runs[0] != run.attempt.name
    assert stage.files() == []


def test_a_result_that_a_dead_worker_did_not_read_counts(stage: Any, request_for: Any, dead_worker: Any) -> None:
    dead_worker("stays")
    until(lambda: stage.runs, 60)
    (folder,) = (stage.base / stage.key).iterdir()
    drivers.LocalDrivers(stage.base / stage.key).end(folder.name)
    with stage.submission("ok") as run:
        assert run.run(request_for(), try_number=2)["attempt"] == folder.name
    assert len(stage.calls) == 1
    assert stage.files() == []


def test_a_run_that_was_asked_something_else_is_ended_first(stage: Any, request_for: Any, dead_worker: Any) -> None:
    dead_worker("hang", "other document")
    with stage.submission("ok") as run:
        result = run.run(request_for(), try_number=2)
    assert result["attempt"] == run.attempt.name
    assert stage.runs == [run.attempt.name]
    assert stage.left_over() == []
    assert stage.files() == []


def test_a_check_always_sees_the_data_as_it_is_now(stage: Any, request_for: Any) -> None:
    request = request_for()
    request.task = "check"
    with stage.submission("ok") as first:
        first.run(request)
        with stage.submission("ok") as run:  # the first one's result is still there, as after the death of its worker
            assert run.run(request, try_number=2)["attempt"] == run.attempt.name
    assert len(stage.calls) == 2


def test_a_failed_result_of_an_earlier_try_is_no_answer_for_this_one(stage: Any, request_for: Any) -> None:
    with stage.submission("ok") as run:
        earlier = run.exchange.open(1, submission._fingerprint(request_for(), run.settings))
        (earlier.shared / "result.json").write_text(json.dumps({"format_version": 1, "attempt": earlier.name, "status": "failed", "reason": "quality"}))
        found = run.run(request_for(), try_number=2)
        assert (found["attempt"], found["status"]) == (run.attempt.name, "success")
    assert len(stage.calls) == 1


def test_a_run_that_died_with_its_worker_is_run_again(stage: Any, request_for: Any, dead_worker: Any) -> None:
    dead_worker("hang")
    (folder,) = (stage.base / stage.key).iterdir()
    drivers.LocalDrivers(stage.base / stage.key).end(folder.name)
    with stage.submission("ok") as run:
        assert run.run(request_for(), try_number=2)["attempt"] == run.attempt.name
    assert len(stage.calls) == 2


# --- clusters: the stand-in plays spark-submit, an HTTP server the ResourceManager ---------------------------------------
def test_on_a_cluster_the_request_travels_and_the_result_is_shared(stage: Any, tmp_path: Path, request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mock stands for YARN here: the stand-in runs the driver on this machine."""
    from sparquet_provider.hooks.exchange import Exchange

    exchange = Exchange(stage.key, str(tmp_path / "shared"), base=stage.base)
    settings = Settings("app", {"spark.yarn.tags": "mine"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_YARN", json.dumps({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}))
    where = Target("spark_yarn", "yarn", "cluster")
    env_vars = {"HADOOP_CONF_DIR": "/h", "API_TOKEN": "hunter22"}
    with stage.submission(where=where, exchange=exchange, settings=settings, options={"files": "/etc/x.conf"}, env_vars=env_vars) as run:
        result = run.run(request_for())
    argv = stage.calls[0]["argv"]
    request = run.attempt.folder / f"{run.attempt.name}.json"
    assert result["attempt"] == run.attempt.name
    assert argv[argv.index("--files") + 1] == f"/etc/x.conf,{request}"
    assert argv[-1] == request.name
    assert argv[argv.index("--master") + 1] == "yarn"
    assert argv[argv.index("--deploy-mode") + 1] == "cluster"
    assert f"spark.yarn.tags=mine,{run.attempt.name}" in argv
    assert "spark.yarn.appMasterEnv.HADOOP_CONF_DIR=/h" in argv
    assert "hunter22" not in " ".join(argv)
    assert list((tmp_path / "shared").rglob("*")) == []


@pytest.mark.parametrize(("options", "where", "text"), [
    ({"yarn_track_via_rm_api": True}, Target("c", "yarn", "cluster"), "yarn_resourcemanager_webapp_address"),
    ({"yarn_track_via_rm_api": True}, Target("c", "local", "client", {"yarn_resourcemanager_webapp_address": "rm"}), "needs master yarn"),
    ({"track_driver_via_k8s_api": True}, Target("c", "yarn", "cluster"), "needs a Kubernetes master"),
])
def test_tracking_that_cannot_work_is_refused(stage: Any, options: dict[str, Any], where: Target, text: str) -> None:
    with pytest.raises(AirflowFailException, match=text):
        stage.submission(where=where, options=options)
