"""What each tool's process does: measure the tool between the hand-written form and ours, and print the figures as one line of JSON."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparquet_provider.core import Cola

from .. import orders, split, suite
from ..harness import compare, session
from ..quality import memory, warm

#: Measures the rows of the folder and says which facts it found.
Suite = Callable[[Any, Path], dict[str, float]]
#: Writes the valid and the invalid rows of the folder to two places.
Split = Callable[[Any, Path, Path, Path], None]


def measure(suites: Mapping[str, Suite] | None = None, splits: Mapping[str, Split] | None = None, configs: Mapping[str, str] | None = None) -> None:
    """Run all, check that they found and wrote the same, and print the report."""
    logging.disable(logging.CRITICAL)
    place, folder = Path(sys.argv[1]), Path(sys.argv[2])
    rows = int(orders.facts(place)["rows"])
    spark = session(folder, configs=memory(rows) | dict(configs or {}))
    report = {}
    if suites:
        runs = {"hand-written": lambda: suite.by_hand(spark, place), "sparquet": lambda: suite.by_rules(Cola(), spark, place)}
        runs |= {name: lambda run=run: run(spark, place) for name, run in suites.items()}
        checked = {name: suite.checked(name, run, place) for name, run in runs.items()}
        report["quality"] = compare(spark, checked, warm=warm(rows) // 2)
    if splits:
        # The form with codes on the invalid side only, which is what the tools write.
        writes = {name: run for name, run in split.ours(spark, place, folder).items() if name in ("hand-written", "sparquet")}
        writes |= {name: lambda name=name, run=run: run(spark, place, *split.sides(folder, name)) for name, run in splits.items()}
        report["split"] = compare(spark, writes, warm=warm(rows) // 2)
        for name in ("hand", "sparquet", *splits):
            split.compare_sides(name, spark, place, *split.sides(folder, name))
    spark.stop()
    print(json.dumps({work: {name: dataclasses.asdict(f) for name, f in found.items()} for work, found in report.items()}))
