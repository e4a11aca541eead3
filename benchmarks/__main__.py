"""``python -m benchmarks [NAME …]``: run all benchmarks but those that take very long, or the named ones, and print ratios.

``BENCH_REPETITIONS`` is how often each variant is measured; ``BENCH_ROWS`` the rows of quality, split, shape and peers; ``BENCH_PEERS`` narrows the other
tools; ``BENCH_KEYS`` are the keys of uniqueness. ``$SPARQUET_HOME`` keeps ten million rows and the environments of other tools.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("language", "pipeline", "quality", "split", "delta", "shape", "startup")
#: Run only when they are named: other tools, in environments of their own, and 50 million keys.
LONG = ("peers", "uniqueness")


def main() -> int:
    """Each benchmark runs in a process of its own, so that sessions do not meet."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        with tempfile.TemporaryDirectory(prefix="sparquet-bench-") as folder:
            importlib.import_module(f"benchmarks.{sys.argv[2]}").main(Path(folder))
        return 0
    names = sys.argv[1:] or list(NAMES)
    if unknown := [n for n in names if n not in NAMES + LONG]:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES + LONG)}", file=sys.stderr)
        return 2
    environment = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **os.environ}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    return max(subprocess.run([sys.executable, "-m", "benchmarks", "--one", name], env=environment, check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main())
