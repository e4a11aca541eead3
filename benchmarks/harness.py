"""Interleaved repetitions in one session, measured in CPU seconds of the JVM and of Python."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "5"))


@dataclass
class Figures:
    """The measurements of one variant."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    scanned: int = 0
    jobs: int = 0


def cache() -> Path:
    """What is kept between runs: ``$SPARQUET_HOME``, by default ``~/.cache/sparquet``."""
    return Path(os.environ.get("SPARQUET_HOME", Path.home() / ".cache" / "sparquet"))


def session(folder: Path, jars: list[str] | None = None, configs: Mapping[str, str] | None = None) -> Any:
    """A local session with two cores, without UI."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "tmp"),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        **(configs or {}),
    }
    if jars:
        settings |= {
            "spark.jars": ",".join(jars),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Meter:
    """CPU seconds, jobs and rows scanned between two points."""

    def __init__(self, spark: Any) -> None:
        self._context = spark.sparkContext._jsc.sc()
        self._pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())

    def cpu(self) -> float:
        """User and system seconds so far of the JVM and of this process."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rsplit(")", 1)[1].split()
        own = os.times()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + own.user + own.system

    def drain(self) -> None:
        """Wait until the listeners have seen everything."""
        self._context.listenerBus().waitUntilEmpty(30000)

    def jobs(self) -> dict[int, int]:
        """Records read, by job."""
        store = self._context.statusStore()
        jobs = store.jobsList(None)
        found = {}
        for i in range(jobs.size()):
            job = jobs.apply(i)
            stages = job.stageIds()
            records = 0
            for j in range(stages.size()):
                try:
                    records += store.lastStageAttempt(int(stages.apply(j))).inputRecords()
                except Exception:  # noqa: BLE001 - a stage that was skipped has no attempt
                    continue
            found[int(job.jobId())] = int(records)
        return found

    def submitted(self, job: int) -> float:
        """When a job was submitted, in seconds of the clock."""
        return float(self._context.statusStore().job(job).submissionTime().get().getTime()) / 1000


def compare(spark: Any, variants: Mapping[str, Callable[[], Any]], repetitions: int = REPETITIONS, warm: int = 6) -> dict[str, Figures]:
    """Run every variant once per repetition, in turn and in alternating order, after ``warm`` uncounted rounds."""
    meter, found = Meter(spark), {name: Figures() for name in variants}
    for _ in range(warm):
        for run in variants.values():
            run()
    for repetition in range(repetitions):
        order = list(variants.items())
        for name, run in order if repetition % 2 == 0 else order[::-1]:
            gc.collect()
            spark._jvm.System.gc()
            meter.drain()
            before, cpu, wall = set(meter.jobs()), meter.cpu(), time.perf_counter()
            run()
            figures = found[name]
            figures.wall.append(time.perf_counter() - wall)
            figures.cpu.append(meter.cpu() - cpu)
            meter.drain()
            new = {job: records for job, records in meter.jobs().items() if job not in before}
            figures.jobs, figures.scanned = len(new), sum(new.values())
    return found


def table(title: str, found: Mapping[str, Figures], baseline: str, limits: Mapping[str, float] | None = None) -> None:
    """Print the medians and their ratios to the baseline; ``limits`` are shown beside."""
    print(f"\n{title} (median of {len(found[baseline].cpu)}, interleaved)")
    base = found[baseline]
    print(f"  {'variant':44s} {'cpu s':>7s} {'ratio':>6s} {'wall s':>7s} {'ratio':>6s} {'jobs':>5s} {'rows scanned':>13s}")
    for name, figures in found.items():
        # The ratio is taken pair by pair, so that a drift of the machine's speed hits both sides.
        cpu = statistics.median(a / b for a, b in zip(figures.cpu, base.cpu, strict=True))
        wall = statistics.median(a / b for a, b in zip(figures.wall, base.wall, strict=True))
        limit = f"  (limit {limits[name]})" if limits and name in limits else ""
        print(
            f"  {name:44s} {statistics.median(figures.cpu):7.2f} {cpu:6.2f} {statistics.median(figures.wall):7.2f} {wall:6.2f} {figures.jobs:5d} {figures.scanned:13,d}{limit}"
        )
