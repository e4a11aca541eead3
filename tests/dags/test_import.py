"""Every example DAG imports, quickly, and without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import run_dag

DAGS = run_dag.ROOT / "dags"
FILES = sorted(DAGS.glob("*.py"))
PROBE = """
import json, sys, time
import airflow.sdk  # Airflow's own time is not the DAG's
from airflow.sdk import DAG, Param, task
begin = time.perf_counter()
found = {}
for file in sys.argv[1:]:
    names = {"__name__": "probe", "__file__": file}
    exec(compile(open(file, encoding="utf-8").read(), file, "exec"), names)
seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "spark": sorted(m for m in sys.modules if m.split(".")[0] in ("pyspark", "delta", "py4j"))}))
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What importing all DAG files costs and brings along."""
    home = tmp_path_factory.mktemp("home")
    environment = run_dag.environment(home=home, data=home, spark_conf=home)
    done = subprocess.run([sys.executable, "-c", PROBE, *map(str, FILES)], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_no_example_imports_spark(probe: dict[str, object]) -> None:
    assert probe["spark"] == []


def test_the_examples_import_quickly(probe: dict[str, object]) -> None:
    assert float(str(probe["seconds"])) < 2.0, "all files together, beside Airflow's own import"


def test_every_file_defines_the_dag_of_its_name(tmp_path: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path; from airflow.dag_processing.dagbag import DagBag\n"
        "bag = DagBag(sys.argv[1], bundle_path=Path(sys.argv[1]))\n"
        "print(json.dumps({'errors': bag.import_errors, 'dags': {i: Path(d.fileloc).stem for i, d in bag.dags.items()}}))"
    )
    environment = run_dag.environment(home=tmp_path, data=tmp_path, spark_conf=tmp_path)
    done = subprocess.run([sys.executable, "-c", code, str(DAGS)], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["errors"] == {}
    assert found["dags"] == {file.stem: file.stem for file in FILES}


@pytest.mark.parametrize("file", sorted(f for f in (DAGS / "pipelines").rglob("*") if f.is_file()), ids=lambda file: file.name)
def test_every_document_has_no_defect(file: Path) -> None:
    from sparquet_provider.core.lint import lint
    from sparquet_provider.core.load import load
    from sparquet_provider.core.registry import Registry

    values = {"root": "/data", "since": "2026-01-01", "day": "2026-01-05", "limit": "100", "tenant": "acme"}
    used = {name: value for name, value in values.items() if "{" + name + "}" in file.read_text(encoding="utf-8")}
    loaded = load(file, used)
    _, problems = lint(loaded.tree, Registry(), strict=True)
    assert [*loaded.problems, *problems] == []
