"""One submission: request in, result document out, nothing left running on any way out."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core import bundle, jars
from ..core.connections import Connection
from ..core.errors import Problem
from ..core.result import RunRequest, jsonable
from ..core.secrets import Scrubber, embedded, is_secret
from . import properties
from .cluster import LABEL, KubernetesDrivers, YarnDrivers
from .compat import AirflowException, AirflowFailException
from .connection import Target, environment
from .drivers import Drivers, LocalDrivers, end_processes, wait_for_end
from .exchange import Attempt, Exchange
from .settings import Settings

log = logging.getLogger(__name__)

#: Seconds that the Spark hook's own on_kill may take.
HOOK_PATIENCE = 30.0

#: Options whose value may hold a login (https://user:password@host), and the setting that says the same.
_AS_SETTING = {
    "files": "spark.files", "py_files": "spark.submit.pyFiles", "archives": "spark.archives", "jars": "spark.jars", "packages": "spark.jars.packages",
    "exclude_packages": "spark.jars.excludes", "repositories": "spark.jars.repositories", "driver_class_path": "spark.driver.extraClassPath",
}


class Submission:
    """Submits one request and reads its result. Use it in a ``with`` block: leaving it removes the exchanged files.

    Args:
        where: the checked connection.
        exchange: the folders of this task instance.
        settings: name, conf and packages.
        options: arguments for Airflow's ``SparkSubmitHook``, without conf, name, packages and env_vars.
        env_vars: the user's environment variables.
        base: the text of the properties that spark-submit reads by itself (``properties_file`` or defaults).
        scrub: takes secrets out of texts.
    """

    def __init__(
        self, where: Target, exchange: Exchange, settings: Settings, options: Mapping[str, Any], *,
        env_vars: Mapping[str, Any] | None = None, base: str = "", scrub: Scrubber | None = None,
    ) -> None:
        self.where, self.exchange, self.settings = where, exchange, settings
        self.options = {k: v for k, v in options.items() if v not in (None, False, [], "")}
        self.base, self.scrub = base, scrub or Scrubber([])
        self.binary = where.binary(self.options.get("spark_binary"))
        self.env_vars = dict(env_vars or {})
        self.env = environment(where, self.binary, env_vars)
        self.local = LocalDrivers(exchange.local)
        self._check_tracking()
        self.remote = self._remote_drivers()
        self.attempt: Attempt | None = None
        self._watched: list[Attempt] = []
        self._hook: Any = None
        self._killed = False

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self.kill()  # a timeout or an interrupt, wherever it came
        for attempt in self._watched:
            attempt.remove()

    # --- running -----------------------------------------------------------------------------------------------
    def run(self, request: RunRequest, try_number: int = 1) -> dict[str, Any]:
        """Submit the request and return the result document.

        The driver of an earlier try whose worker died is found first: when it was asked the same, its result is taken
        (after waiting for it), otherwise it is ended. So nothing is written twice.

        Args:
            request: what to do; gets the attempt's name and the place of the result.
            try_number: Airflow's number of this try.

        Raises:
            AirflowException: there is no result (RESULT_MISSING) or the run was ended (CANCELLED); another try may help.
        """
        self._stop_when_killed()
        fingerprint = _fingerprint(request, self.settings)
        self.attempt = attempt = self.exchange.open(try_number, fingerprint)
        self._watched.append(attempt)
        for earlier in self.exchange.earlier(attempt):
            self._watched.append(earlier)
            if (result := self._settle(earlier, earlier.fingerprint == fingerprint and request.task == "run")) is not None:
                return result
        self._stop_when_killed()
        request.attempt, request.result_path = attempt.name, attempt.result_uri
        self._hook = self._prepare(request, attempt)
        self._stop_when_killed()
        failure: Exception | None = None
        try:
            self._submit(attempt)
        except Exception as error:  # noqa: BLE001 - the result decides: a driver may have written it before all else failed
            failure = error
        self._stop_when_killed()
        return self._result(attempt, failure)

    def _settle(self, earlier: Attempt, same: bool) -> dict[str, Any] | None:
        """The result of an earlier try that was asked the same and did it; whatever else it left is ended.

        A check writes nothing that could be written twice, and it has to see the data as it is now: it is never ``same``.
        """
        try:
            if running := self._alive(earlier):
                if not same:
                    log.warning("An earlier try (%s) still runs, and its answer would not count; it is ended: %s", earlier.name, ", ".join(running))
                    self._end(earlier)
                    return None
                log.warning("An earlier try of this task (%s) still runs; its worker must have died. Its result will count.", earlier.name)
                self._wait(earlier)
        except OSError as error:
            reason = self.scrub(str(error))
            raise AirflowException(f"An earlier try of this task ({earlier.name}) may still run, and the cluster does not tell: {reason}") from None
        self._stop_when_killed()
        result = None
        with suppress(ValueError, OSError):
            result = earlier.result() if same else None
        if result is not None and result.get("status") in ("success", "skipped"):
            log.warning("The earlier try %s was complete, only its worker had died: its result counts, nothing is run again.", earlier.name)
            return result
        if result is None and self.where.is_cluster and self.remote is None:
            log.warning("The earlier try %s left no result, and whether it still runs on %s can't be asked.", earlier.name, self.where.master)
        return None

    def _prepare(self, request: RunRequest, attempt: Attempt) -> Any:
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

        file = attempt.folder / f"{attempt.name}.json"
        request.write(file)
        options = self._options(attempt, file)
        try:
            return SparkSubmitHook(conn_id=self.where.conn_id, **options)
        except (TypeError, ValueError) as error:  # an option or a field of the connection that the hook refuses
            raise AirflowFailException(f"Airflow's SparkSubmitHook refuses the options: {self.scrub(str(error))}") from None

    def _submit(self, attempt: Attempt) -> None:
        with _environment(self.env):
            self._hook.submit(str(bundle.DRIVER))
        if self.tracked:
            self._wait(attempt)
            if self.where.is_kubernetes:
                self._hook_on_kill()  # the hook's way to remove the pod and to run post_submit_commands after its own polling

    def _result(self, attempt: Attempt, failure: Exception | None) -> dict[str, Any]:
        reason = f"the driver wrote none at {attempt.result_uri}"
        try:
            result = attempt.result(patience=10 if self.where.is_cluster else 0)
        except Exception as error:  # noqa: BLE001 - object stores have errors of many kinds
            result, reason = None, f"it could not be read at {attempt.result_uri}: {error}"
        if result is None:
            # What still runs has no one to answer to any more.
            self._end_quietly(attempt, self.remote)
            self._end_quietly(attempt, self.local)
            reason = "; ".join(filter(None, [reason, str(failure or "")]))
            raise AirflowException(self.scrub(str(Problem("RESULT_MISSING", "", {"reason": reason})))) from None
        if failure is not None:
            log.warning("spark-submit reported a failure, but the driver had written its result, which counts: %s", self.scrub(str(failure)))
        return result

    # --- what spark-submit gets ----------------------------------------------------------------------------------
    def _options(self, attempt: Attempt, request: Path) -> dict[str, Any]:
        conf, options = dict(self.settings.conf), dict(self.options)
        base = properties.parse(self.base)
        argument = str(request)
        if self.where.is_cluster:
            options["files"], argument = _joined(options.get("files"), str(request)), request.name
            self._mark(conf, base, attempt)
            for key, value in self.env_vars.items():
                conf.setdefault(("spark.kubernetes.driverEnv." if self.where.is_kubernetes else "spark.yarn.appMasterEnv.") + key, str(value))
        options["py_files"] = _joined(str(bundle.build(attempt.folder)), options.get("py_files"))
        self._add_packages(conf, base, options)
        self._hide_jvm_options(conf, attempt)
        private = {k: conf.pop(k) for k, v in list(conf.items()) if is_secret(k) or embedded(v)}
        private |= {setting: str(options.pop(option)) for option, setting in _AS_SETTING.items() if embedded(options.get(option))}
        if private:
            # Nothing secret on the command line. spark-submit reads one properties file: the user's lines come first.
            file = attempt.folder / "spark.properties"
            properties.write_private(file, f"{self.base}\n\n{properties.render(private)}")
            options["properties_file"] = str(file)
        return {**options, "conf": conf, "name": self.settings.name, "application_args": [argument]}

    def _hide_jvm_options(self, conf: dict[str, str], attempt: Attempt) -> None:
        """Options of the driver's JVM with secrets go to an argument file, which java reads; its command line shows the file."""
        for key in ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"):
            if not self.where.is_cluster and embedded(conf.get(key)):
                file = attempt.folder / key
                properties.write_private(file, properties.java_arguments(conf[key]))
                conf[key] = f"@{file}"

    def _mark(self, conf: dict[str, str], base: Mapping[str, str], attempt: Attempt) -> None:
        """Write the attempt's name where the cluster shows it, so that it can be found again."""
        if self.where.is_yarn:
            conf["spark.yarn.tags"] = _joined(conf.get("spark.yarn.tags", base.get("spark.yarn.tags")), attempt.name)
        elif self.where.is_kubernetes:
            conf[f"spark.kubernetes.driver.label.{LABEL}"] = attempt.name
            if "://" in self.exchange.uri and "spark.kubernetes.file.upload.path" not in {**base, **conf}:
                conf["spark.kubernetes.file.upload.path"] = self.exchange.uri

    def _add_packages(self, conf: dict[str, str], base: Mapping[str, str], options: dict[str, Any]) -> None:
        wanted = self.settings.packages
        if not wanted:
            return
        if not self.where.is_local or options.get("repositories") or options.get("exclude_packages"):
            options["packages"] = ",".join(wanted)
            return
        # Resolving takes seconds in every submission: on this machine it is done once. (The driver's class path instead
        # of jars would start no quicker.) The option wins over the setting, so it has to hold both.
        found = jars.resolve(wanted, spark_submit=self.binary, env={**os.environ, **self.env})
        options["jars"] = _joined(options.get("jars") or conf.pop("spark.jars", base.get("spark.jars")), *found)

    # --- where it runs -------------------------------------------------------------------------------------------
    @property
    def tracked(self) -> bool:
        """spark-submit returns before the driver ends, and we look after it."""
        return bool(self.options.get("yarn_track_via_rm_api") or self.options.get("track_driver_via_k8s_api"))

    def _check_tracking(self) -> None:
        address = self.where.extra.get("yarn_resourcemanager_webapp_address")
        if self.options.get("yarn_track_via_rm_api") and not (self.where.is_yarn and self.where.is_cluster and address):
            raise AirflowFailException(
                "yarn_track_via_rm_api needs master yarn, deploy mode cluster, and the extra yarn_resourcemanager_webapp_address "
                f"(such as http://rm:8088) in the connection {self.where.conn_id!r}."
            )
        if self.options.get("track_driver_via_k8s_api") and not (self.where.is_kubernetes and self.where.is_cluster):
            raise AirflowFailException("track_driver_via_k8s_api needs a Kubernetes master (k8s://…) and deploy mode cluster.")

    def _remote_drivers(self) -> Drivers | None:
        if not self.where.is_cluster:
            return None
        if self.where.is_kubernetes:
            return KubernetesDrivers(str(self.settings.conf.get("spark.kubernetes.namespace") or self.where.extra.get("namespace") or "default"))
        if address := self.where.extra.get("yarn_resourcemanager_webapp_address"):
            return YarnDrivers(str(address), self.options.get("yarn_rm_auth"))
        return None

    def _alive(self, attempt: Attempt) -> list[str]:
        return [*self.local.alive(attempt.name), *(self.remote.alive(attempt.name) if self.remote else [])]

    def _wait(self, attempt: Attempt) -> None:
        poll = float(self.options.get("status_poll_interval") or 1)
        if self.remote:
            wait_for_end(self.remote, attempt.name, poll=max(poll, 20 if self.where.is_kubernetes else 10) if self.tracked else poll)
        wait_for_end(self.local, attempt.name, poll=min(poll, 1))

    def _end(self, attempt: Attempt) -> None:
        self.local.end(attempt.name)
        if self.remote:
            self.remote.end(attempt.name)

    def _end_quietly(self, attempt: Attempt, where: Drivers | None) -> None:
        try:
            if where:
                where.end(attempt.name)
        except Exception as error:  # noqa: BLE001 - on the way out; the first fault is the one to report
            log.warning("What runs for %s could not be ended: %s", attempt.name, self.scrub(str(error)))

    # --- ending ------------------------------------------------------------------------------------------------
    def kill(self) -> None:
        """End everything that runs for this task: spark-submit, JVM, Python driver, cluster application. Bounded in time."""
        if self._killed:
            return
        self._killed = True
        # The tree is looked at before the hook kills its root: afterwards the children have no known parent.
        processes = [p for a in self._watched for p in self.local.processes(a.name)]
        if self.where.is_cluster:
            for attempt in self._watched:
                self._end_quietly(attempt, self.remote)
            self._hook_on_kill()  # while spark-submit lives: only then it ends a YARN application by the command line
            end_processes(processes)
        else:
            end_processes(processes)  # politely first: the hook would kill the JVM at once, and its temporary files would stay
            self._hook_on_kill()
        for attempt in self._watched:
            self._end_quietly(attempt, self.local)
            attempt.remove()

    def _hook_on_kill(self) -> None:
        if self._hook is None:
            return
        import psutil

        def on_kill() -> None:
            try:
                self._hook.on_kill()
            except Exception as error:  # noqa: BLE001 - such as a missing `yarn` command; what we end ourselves is still to come
                log.warning("The Spark hook's on_kill failed: %s", self.scrub(str(error)))

        before = set(psutil.Process().children(recursive=True))
        thread = threading.Thread(target=on_kill, name="spark-on-kill", daemon=True)
        thread.start()
        thread.join(HOOK_PATIENCE)
        if thread.is_alive():
            log.warning("The Spark hook's on_kill has not returned after %.0f s; its commands are ended.", HOOK_PATIENCE)
            end_processes([p for p in psutil.Process().children(recursive=True) if p not in before], grace=1)

    def _stop_when_killed(self) -> None:
        if self._killed:
            raise AirflowException(str(Problem("CANCELLED", "", {"reason": "the task was asked to end"})))


def _fingerprint(request: RunRequest, settings: Settings) -> str:
    """What is asked, without what differs between two tries; a password may be renewed between them."""
    asked = {k: v for k, v in asdict(request).items() if k not in ("attempt", "result_path", "connections")}
    asked["connections"] = {name: Connection.of(name, fields).shown() for name, fields in request.connections.items()}
    return hashlib.sha256(json.dumps(jsonable([asked, asdict(settings)]), sort_keys=True).encode()).hexdigest()


def _joined(*values: str | None) -> str:
    return ",".join(v for v in values if v)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment of this process with more variables, which spark-submit and the hook's kill commands inherit.

    The hook would put its env_vars on the command line for YARN and Kubernetes.
    """
    before = {k: os.environ.get(k) for k in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
