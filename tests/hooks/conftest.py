"""A quick stand-in for spark-submit: a parent (the JVM) and a child (the Python driver), in the shapes that matter here.

What these tests say about processes and results is said again with a real Spark in ``tests/system``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core.result import RunRequest
from sparquet_provider.core.secrets import Scrubber
from sparquet_provider.hooks.connection import Target
from sparquet_provider.hooks.exchange import Exchange, task_key
from sparquet_provider.hooks.settings import Settings
from sparquet_provider.hooks.submission import Submission

STAND_IN = '''#!{python}
import json, os, subprocess, sys, time
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/calls", "a") as file:
    file.write(json.dumps({{"argv": sys.argv[1:], "marker": os.environ.get("MARKER")}}) + "\\n")
mode = open(here + "/mode").read()
# In deploy mode cluster the request is one of the files that travel.
request = sys.argv[sys.argv.index("--files") + 1].split(",")[-1] if "cluster" in sys.argv else sys.argv[-1]
driver = """
import json, os, sys, time
request = json.load(open(sys.argv[2]))
mode = sys.argv[3]
if mode == "killed": os.kill(os.getpid(), 9)
if mode == "slow": time.sleep(4)
if mode in ("hang", "exits"): time.sleep(600)
attempt = "sparquet-0000000000000000-1-00000000" if mode == "late" else request["attempt"]
result = {{"format_version": 99 if mode == "newer" else 1, "attempt": attempt, "status": "success", "reason": "done", "pipeline_name": request["tree"]["name"]}}
with open(request["result_path"] + ".part", "w") as file: json.dump(result, file)
os.replace(request["result_path"] + ".part", request["result_path"])
with open(os.path.join(sys.argv[4], "runs"), "a") as file: file.write(attempt + chr(10))
if mode == "stays": time.sleep(600)
"""
if mode == "refused":
    print("Exception: no such option; password=hunter22")
    sys.exit(1)
app = [a for a in sys.argv if a.endswith("sparquet_driver.py")][0]
# As under Spark, the driver does not write to spark-submit's own output.
child = subprocess.Popen([sys.executable, "-c", driver, app, request, mode, here], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if mode == "exits":  # the JVM goes, the driver stays
    sys.exit(0)
code = child.wait()
sys.exit(1 if mode == "bad end" else abs(code))
'''


class Stage:
    """A stand-in for spark-submit, the folders of one task, and submissions to both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.binary = folder / "spark-submit"
        self.binary.write_text(STAND_IN.format(python=sys.executable))
        self.binary.chmod(0o755)
        self.base = folder / "exchange"
        self.base.mkdir()
        self.key = task_key("dag", "run", "task")

    def mode(self, mode: str) -> None:
        """What the next run does."""
        (self.folder / "mode").write_text(mode)

    def submission(self, mode: str = "ok", **changes: Any) -> Submission:
        """A submission to the stand-in."""
        self.mode(mode)
        where = changes.pop("where", Target("spark_default", "local[2]", "client"))
        exchange = changes.pop("exchange", None) or Exchange(self.key, base=self.base)
        settings = changes.pop("settings", Settings("app", {}))
        options = {"spark_binary": str(self.binary), **changes.pop("options", {})}
        return Submission(where, exchange, settings, options, scrub=Scrubber(["hunter22"]), **changes)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every start of the stand-in."""
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def runs(self) -> list[str]:
        """The attempts whose driver did its work."""
        file = self.folder / "runs"
        return file.read_text().split() if file.exists() else []

    def left_over(self) -> list[str]:
        """What still runs for the task."""
        import psutil

        found = []
        for process in psutil.process_iter(["cmdline"]):
            if any(str(self.base) in argument for argument in process.info["cmdline"] or []) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.info["cmdline"])[:200])
        return found

    def files(self) -> list[str]:
        """What still lies in the exchange."""
        return sorted(str(p.relative_to(self.base)) for p in self.base.rglob("*"))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stand-in for spark-submit; nothing of it runs after the test."""
    stage = Stage(tmp_path)
    yield stage
    from sparquet_provider.hooks.drivers import LocalDrivers, end_processes

    local = LocalDrivers(stage.base / stage.key)
    for folder in [*(stage.base / stage.key).glob("*")]:
        end_processes(local.processes(folder.name), grace=0.2)


@pytest.fixture
def request_for() -> Callable[..., RunRequest]:
    """A request for a pipeline of that name."""
    def make(name: str = "orders") -> RunRequest:
        return RunRequest("run", {"name": name}, "")

    return make
