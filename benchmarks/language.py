"""What DAG parsing pays: the import of the operators beyond Airflow's own, and linting."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sparquet_provider.core.lint import lint
from sparquet_provider.core.load import load

from .pipeline import document

_IMPORT = """
import time, sys
from airflow.sdk import BaseOperator, BaseOperatorLink
t = time.perf_counter()
from sparquet_provider.operators import SparquetRunOperator, ColaCheckOperator
print(time.perf_counter() - t, int('pyspark' in sys.modules))
"""


def main(folder: Path) -> None:
    """Measure and print seconds against their limits."""
    found = []
    for _ in range(5):
        out = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True).stdout.split()
        found.append(float(out[-2]))
        assert out[-1] == "0", "importing the operators imports pyspark"
    print(f"\nImport of the operators beyond airflow.sdk: {statistics.median(found):.3f} s (limit 0.3), pyspark not imported")
    files = []
    for i in range(200):
        files.append(folder / f"document_{i}.json")
        files[-1].write_text(json.dumps(document(f"/data/{i}/{{day}}", "/data/customers", f"/out/{i}", rules=True)))
    lint(load(files[0], {"day": "2026-01-01"}).tree)
    started = time.perf_counter()
    for file in files:
        assert lint(load(file, {"day": "2026-01-01"}).tree)[0] is not None
    print(f"Lint of 200 documents: {time.perf_counter() - started:.3f} s (limit 1.0)")
