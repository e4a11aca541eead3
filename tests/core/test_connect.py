"""The same cases on Spark Connect: PySpark decides once for a process which kind of session it talks to, so this is one more run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORMATS = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/core/formats").glob("test_*.py")}
TABLES = {f"tests/core/formats/test_{name}.py" for name in ("catalogue", "delta", "history_model", "iceberg", "write_modes")}
#: Two parts, one for each half of ``make test``.
SAME = {
    "tables": sorted(TABLES),
    "language": [
        "tests/core/steps", *sorted(FORMATS - TABLES), "tests/core/prepare/test_cases.py", "tests/core/prepare/test_behaviour.py", "tests/core/test_run.py",
        "tests/core/test_engine.py", "tests/core/quality/test_cases.py", "tests/core/quality/test_keys.py", "tests/core/quality/test_quarantine.py",
    ],
}
#: More tests than these pass in each part.
AT_LEAST = {"tables": 70, "language": 300}


@pytest.mark.slow
@pytest.mark.parametrize("part", SAME)
def test_the_same_cases_pass_on_a_connect_server(part: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--engine", "connect", "-p", "no:cacheprovider", *SAME[part]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2400, check=False)
    print(done.stdout[-6000:], done.stderr[-2000:])
    assert done.returncode == 0
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed.group(1)) > AT_LEAST[part]
