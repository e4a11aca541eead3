"""What runs for one attempt, wherever it runs: is it alive, wait for it, end it.

A driver is recognised by the attempt's own name: in the command line of a process of this machine, as a tag of a YARN
application, as a label of a Kubernetes pod. So nothing has to be remembered between submission and a crash.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..core.bundle import DRIVER

log = logging.getLogger(__name__)

#: Seconds that a driver gets to end by itself (the JVM removes its files) before it is killed. Airflow's supervisor kills
#: the worker 5 s after it asked it to end.
GRACE = 3.0

#: Seconds after which a wait for what still runs is given up: two days.
WAIT_LIMIT = 172_800.0


class Drivers(Protocol):
    """Finds and ends what was started for an attempt."""

    def alive(self, attempt: str) -> list[str]:
        """What runs for the attempt, in words; an empty list when nothing does. Raises OSError when it can't be known."""

    def end(self, attempt: str) -> None:
        """End what runs for the attempt, in bounded time."""


class LocalDrivers:
    """The processes of this machine: spark-submit, its JVM, the Python driver, and their children.

    Args:
        folder: the folder in which every attempt has its own; its path stands in the command lines.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def alive(self, attempt: str) -> list[str]:
        return [f"{p.info['name']} (pid {p.pid})" for p in self._roots(attempt)]

    def end(self, attempt: str) -> None:
        end_processes(self.processes(attempt))

    def processes(self, attempt: str) -> list[Any]:
        """The attempt's processes with all their descendants, children after their parents."""
        import psutil

        found: dict[int, Any] = {}
        for root in self._roots(attempt):
            found.setdefault(root.pid, root)
            try:
                for child in root.children(recursive=True):
                    found.setdefault(child.pid, child)
            except psutil.Error:
                continue
        return list(found.values())

    def _roots(self, attempt: str) -> list[Any]:
        """Processes of this user that were started with the driver script and a file of the attempt's folder."""
        import psutil

        place, user, found = f"{self.folder / attempt}{os.sep}", os.getuid(), []
        for process in psutil.process_iter(["cmdline", "uids", "name", "status"]):
            info = process.info
            if not info["cmdline"] or info["uids"] is None or info["uids"].real != user or info["status"] == psutil.STATUS_ZOMBIE:
                continue
            # The shell script in front of the JVM has the same arguments: it counts as well.
            if str(DRIVER) in info["cmdline"] and any(place in argument for argument in info["cmdline"]):
                found.append(process)
        return found


def end_processes(processes: list[Any], grace: float = GRACE) -> None:
    """Ask processes to end, wait, kill what is left. Takes at most ``grace`` and 5 more seconds."""
    import psutil

    for send, seconds in ((lambda p: p.terminate(), grace), (lambda p: p.kill(), 5.0)):
        for process in processes:
            try:
                send(process)
            except psutil.Error:
                continue
        # psutil's own wait would reap our child before the hook does, which then takes its exit code for 0.
        if wait_until(lambda: not any(map(_runs, processes)), seconds, poll=0.1):
            return
    log.warning("Processes that could not be ended: %s", ", ".join(str(p.pid) for p in processes if _runs(p)))


def _runs(process: Any) -> bool:
    import psutil

    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def wait_until(done: Callable[[], bool], seconds: float, poll: float = 0.5) -> bool:
    """Wait until something is done; False when the time is over first."""
    limit = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= limit:
            return False
        time.sleep(poll)
    return True


def wait_for_end(drivers: Drivers, attempt: str, *, poll: float, errors: int = 10, limit: float = WAIT_LIMIT) -> None:
    """Wait until nothing runs for an attempt any more; the task's execution_timeout, or the limit, bounds it.

    Args:
        drivers: where to look.
        attempt: what to look for.
        poll: seconds between two looks.
        errors: how many failed looks in a row are borne.
        limit: seconds until the wait is given up.

    Raises:
        ConnectionError: the cluster could not be asked ``errors`` times in a row.
        TimeoutError: something still runs when the limit is reached.
    """
    failed, said, last = 0, 0.0, None
    end = time.monotonic() + limit
    while True:
        try:
            running = drivers.alive(attempt)
        except OSError as error:
            failed += 1
            if failed >= errors:
                raise ConnectionError(f"the state of {attempt} could not be asked {failed} times in a row: {error}") from error
            log.warning("The state of %s could not be asked (%d of %d): %s", attempt, failed, errors, error)
        else:
            failed = 0
            if not running:
                return
            if running != last or time.monotonic() - said > 300:
                log.info("Waiting for %s: %s", attempt, ", ".join(running))
                last, said = running, time.monotonic()
            if time.monotonic() >= end:
                raise TimeoutError(f"{attempt} still runs after {limit:.0f} s: {', '.join(running)}")
        time.sleep(poll)
