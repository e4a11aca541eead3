"""Other tools on the same work: each in an environment and a session of its own, interleaved there with the hand-written form and with ours.

``benchmarks/peers/<name>.txt`` is what a tool's environment gets beside our version of PySpark; it is made on demand below
``$SPARQUET_HOME/bench-peers`` and stays. ``benchmarks/peers/<name>.py`` is the process that runs in it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..harness import Figures, cache, session

HERE = Path(__file__).parent
#: The tools, and the most that our CPU time may be as a share of theirs.
LIMITS: dict[str, dict[str, float]] = {"quality": {"sparquet-cola": 0.55}, "split": {}}
NAMES = ("cola", "soda", "gx", "cuallee", "dqx")


def main(folder: Path) -> None:
    """Run every tool (or those in BENCH_PEERS, with commas between) and print their ratios and ours in one table for each kind of work."""
    from .. import orders, quality

    names = [n for n in os.environ.get("BENCH_PEERS", "").split(",") if n] or list(NAMES)
    pythons = {name: environment(name) for name in names}
    spark = session(folder, configs=quality.memory(quality.ROWS))
    place = orders.make(spark, folder, quality.ROWS)
    spark.stop()
    failures = []
    for name in names:
        print(f"\nmeasuring {name} …", flush=True)
        try:
            report = _run(name, pythons[name], place, folder)
        except subprocess.CalledProcessError as error:
            failures.append(f"{name}: {error.stderr.strip()[-2000:]}")
            continue
        for work, title in (("quality", "Suite of 21 rules"), ("split", "Split by 6 rules")):
            _table(f"{title}, {quality.ROWS:,} rows", report.get(work) or {}, LIMITS[work])
    if failures:
        raise SystemExit("\n".join(failures))


def environment(name: str) -> Path:
    """The Python of a tool's environment, which is made when it is missing or when its requirements have changed."""
    home, requirements = cache() / "bench-peers" / name, HERE / f"{name}.txt"
    pyspark = f"pyspark=={importlib.metadata.version('pyspark')}"
    wanted = f"{sys.version}\n{pyspark}\n{requirements.read_text()}"
    made, python = home / "made.txt", home / "bin" / "python"
    if not made.exists() or made.read_text() != wanted:
        print(f"making the environment of {name} …", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pyspark, "-r", str(requirements)], check=True)
        made.write_text(wanted)
    return python


def _run(name: str, python: Path, place: Path, folder: Path) -> dict[str, Any]:
    """What a tool's process reports: for each kind of work the figures of its variants, by name."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "VIRTUAL_ENV", "PYTHONHOME")}
    found = subprocess.run(
        [str(python), "-m", f"benchmarks.peers.{name}", str(place), str(folder)],
        cwd=HERE.parent.parent,
        env=inherited | {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(found.stdout.strip().splitlines()[-1])
    return report


def _table(title: str, report: Mapping[str, Mapping[str, list[float]]], limits: Mapping[str, float]) -> None:
    """Ratios of CPU to the hand-written form of the same session, ours beside the tool's."""
    if not report:
        return
    print(f"{title} (CPU, medians of one session in which the three take turns)")
    print(f"  {'tool':44s} {'by hand s':>9s} {'tool':>6s} {'ours':>6s} {'ours/tool':>9s} {'tool wall':>9s} {'jobs':>5s} {'rows scanned':>13s}")
    figures = {name: Figures(**values) for name, values in report.items()}
    hand, mine = figures.pop("hand-written"), figures.pop("sparquet")
    for name, tool in figures.items():
        limit = next((f"  (limit {most})" for start, most in limits.items() if name.startswith(start)), "")
        print(
            f"  {name:44s} {statistics.median(hand.cpu):9.2f} {_ratio(tool.cpu, hand.cpu):6.2f} {_ratio(mine.cpu, hand.cpu):6.2f}"
            f" {_ratio(mine.cpu, tool.cpu):9.2f} {_ratio(tool.wall, hand.wall):9.2f} {tool.jobs:5d} {tool.scanned:13,d}{limit}", flush=True,
        )


def _ratio(values: list[float], base: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(values, base, strict=True))
