"""Run the example DAG customer_revenue on this machine and show what it did. Start it with ``make demo``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts import demo_data, run_dag, spark_conf

HERE = run_dag.ROOT / "demo"
DAG_ID = "customer_revenue"


def main() -> int:
    """Make the data, run the DAG, print its outcome; the exit code says whether it succeeded."""
    subprocess.run(["bash", str(run_dag.ROOT / "scripts" / "need_java.sh")], check=True)
    home, data, log, outcome = HERE / "airflow", HERE / "data", HERE / f"{DAG_ID}.log", HERE / f"{DAG_ID}.json"
    home.mkdir(parents=True, exist_ok=True)
    print("Jars of Delta (fetched once) and Spark's configuration …", flush=True)
    conf = spark_conf.write(HERE / "spark", {"spark.sql.warehouse.dir": str(HERE / "warehouse")})
    demo_data.make(data)
    print(f"Airflow runs the DAG {DAG_ID} (log: {log.relative_to(run_dag.ROOT)}) …", flush=True)
    outcome.unlink(missing_ok=True)
    begin = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, str(run_dag.ROOT / "scripts" / "run_dag.py"), "--json", str(outcome), DAG_ID],
            env=run_dag.environment(home=home, data=data, spark_conf=conf), stdout=file, stderr=subprocess.STDOUT, cwd=run_dag.ROOT, check=False,
        )
    if done.returncode or not outcome.exists():
        print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]))
        print(f"\nThe run broke; the whole log is {log}.")
        return 1
    (run,) = json.loads(outcome.read_text(encoding="utf-8"))
    show(run, time.monotonic() - begin)
    return 0 if run["state"] == "success" else 1


def show(run: dict[str, Any], seconds: float) -> None:
    """Print states, writes and checks of one run."""
    print(f"\n{run['dag_id']}: {run['state']} in {seconds:.0f} s")
    print("\nTasks")
    for name, task in run["tasks"].items():
        print(f"  {name:<20} {task['state']}")
    results = [r for task in run["tasks"].values() if isinstance(r := task["xcom"].get("return_value"), dict) and "outputs" in r]
    print("\nWritten")
    for result in results:
        for output in filter(None, [*result["outputs"], result["report"]]):
            rows = "?" if output["rows_written"] is None else output["rows_written"]
            place = Path(output["path"])
            place = place.relative_to(run_dag.ROOT) if place.is_relative_to(run_dag.ROOT) else place
            print(f"  {place!s:<40} {output['format']:<8} {output['mode']:<10} {rows:>6} rows   version {output['version']}")
    print("\nChecks")
    for result in results:
        for check in result["validation_results"]:
            print(f"  {check['severity'].upper():<5} {check['code']:<30} {check['message']}")
    print("  (the data holds repeated orders on purpose; on_failure is warn, so the task goes on and review_quality reads the names)")
    print("\nXComs of the tasks after it")
    for name, task in run["tasks"].items():
        value = task["xcom"].get("return_value")
        if value is not None and not (isinstance(value, dict) and "outputs" in value):
            print(f"  {name:<20} {value}")


if __name__ == "__main__":
    sys.exit(main())
