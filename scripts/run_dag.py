"""Run example DAGs in this process, without a scheduler, and write down how they ended.

``python scripts/run_dag.py --json out.json customer_revenue daily_backfill@2026-01-05`` needs the variables that
:func:`environment` gives. The JSON has one entry a run: its state, every task's state, and the XComs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def environment(*, home: Path, data: Path, spark_conf: Path, dags: Path = ROOT / "dags") -> dict[str, str]:
    """The variables of an Airflow on SQLite in ``home``, with a local Spark configured by ``spark_conf``."""
    own_scripts = str(Path(sys.executable).parent)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("AIRFLOW", "SPARK_HOME", "PYTEST"))}
    return clean | {
        "PATH": own_scripts + os.pathsep + os.environ.get("PATH", ""),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(home / "plugins"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[*]"}),
        # By its name: the script spark-submit fails on a path with blanks.
        "PYSPARK_PYTHON": Path(sys.executable).name,
        "PYSPARK_DRIVER_PYTHON": Path(sys.executable).name,
        "SPARK_CONF_DIR": str(spark_conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARQUET_DEMO_DATA": str(data),
    }


def run(wanted: str) -> dict[str, Any]:
    """Run ``dag_id`` or ``dag_id@logical-date``; ``dag_id@none`` is a run without a logical date."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import timezone

    dag_id, _, date = wanted.partition("@")
    bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"], bundle_path=Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]), load_op_links=False)
    if bag.import_errors:
        raise SystemExit("\n".join(f"{file}: {error}" for file, error in bag.import_errors.items()))
    dag = bag.dags[dag_id]
    done = dag.test(**({} if not date else {"logical_date": None if date == "none" else timezone.parse(date)}))
    return {"dag_id": dag_id, "run_id": done.run_id, "state": str(done.state), **_outcome(dag_id, done.run_id)}


def _outcome(dag_id: str, run_id: str) -> dict[str, Any]:
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    tasks: dict[str, Any] = {}
    with create_session() as session:
        where = {"dag_id": dag_id, "run_id": run_id}
        instances = session.scalars(select(TaskInstance).filter_by(**where).order_by(TaskInstance.start_date))
        for instance in instances:
            tasks[_name(instance)] = {"state": str(instance.state), "tries": instance.try_number, "xcom": {}}
        for row in session.scalars(select(XComModel).filter_by(**where)):
            tasks[_name(row)]["xcom"][row.key] = XComModel.deserialize_value(row)
    return {"tasks": tasks}


def _name(row: Any) -> str:
    return f"{row.task_id}[{row.map_index}]" if row.map_index >= 0 else str(row.task_id)


def serve() -> None:
    """Answer requests, one JSON object a line: ``{"data": folder, "runs": […], "json": file to write}``."""
    for line in sys.stdin:
        request = json.loads(line)
        os.environ["SPARQUET_DEMO_DATA"] = request["data"]  # the DAG files read it whenever they are parsed
        try:
            outcome: Any = [run(wanted) for wanted in request["runs"]]
        except Exception:
            outcome = traceback.format_exc()
        _write(Path(request["json"]), outcome)


def _write(file: Path, outcome: Any) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(outcome, indent=2, default=str), encoding="utf-8")
    new.rename(file)


def main() -> None:
    """Run what the command line names, or what requests name."""
    parser = argparse.ArgumentParser(description="Run example DAGs in this process.")
    parser.add_argument("--json", type=Path, help="where to write how the runs ended")
    parser.add_argument("--serve", action="store_true", help="answer requests from standard input until it ends")
    parser.add_argument("runs", nargs="*", metavar="DAG_ID[@DATE]")
    arguments = parser.parse_args()
    if not (Path(os.environ["AIRFLOW_HOME"]) / "airflow.db").exists():
        from airflow.utils.db import initdb

        initdb()
    if arguments.serve:
        serve()
    else:
        _write(arguments.json, [run(wanted) for wanted in arguments.runs])


if __name__ == "__main__":
    main()
