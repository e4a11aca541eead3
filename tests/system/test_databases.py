"""A real PostgreSQL by an Airflow connection, on a real Airflow and a real Spark; its password is nowhere to be seen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import PASSWORD, Server

from .conftest import Outcome

pytestmark = pytest.mark.slow

WRONG = "another-password-77"


@pytest.fixture(scope="module")
def ended(run_dag: Any, postgres: Server, airflow_db: Path) -> Iterator[Outcome]:
    """One run of the DAG ``databases``; the connections stand in Airflow's own database."""
    from airflow.models import Connection
    from airflow.utils.session import create_session

    fields = postgres.connection
    rows = [Connection(conn_id="shop", **fields), Connection(conn_id="wrong_shop", **{**fields, "password": WRONG})]
    with create_session() as session:
        session.add_all(rows)
    for ddl in ("DROP TABLE IF EXISTS strict, orders, quality", "CREATE TABLE strict (id INT PRIMARY KEY, amount INT CHECK (amount < 0))"):
        postgres.query(ddl)
    yield run_dag("databases")


def test_states(ended: Outcome) -> None:
    assert ended.states == {
        "load": "success", "check": "success", "merge": "success", "refused": "failed", "wrong_login": "failed", "no_connection": "failed",
    }


def test_rows_reach_the_database_and_are_counted(ended: Outcome, postgres: Server) -> None:
    assert [(i, float(a)) for i, a in postgres.query("SELECT id, amount FROM orders ORDER BY id")] == [(1, 3.0), (2, 5.0), (3, 6.5)]
    result = {name: ended.xcoms[name]["return_value"] for name in ("load", "check", "merge")}
    assert (result["load"]["rows_written"], result["merge"]["rows_read"], result["merge"]["rows_written"]) == (3, 3, 3)
    assert postgres.query("SELECT rule_type, severity FROM quality") == [("row_count", "pass")]
    assert postgres.query("SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'sparquet_stage%'") == [(0,)]


def test_faults_say_what_to_do(ended: Outcome) -> None:
    assert "[MERGE_TARGET_COLUMN]" in ended.log and '"drop"' in ended.log
    assert "[LOGIN_REFUSED] /input/connection" in ended.log
    assert "[CONNECTION_NOT_FOUND] /input/connection: there is no connection 'shopp'" in ended.log


def test_the_password_is_nowhere(ended: Outcome, data: Path) -> None:
    processes = (data / "processes_jdbc").read_text()
    assert "sparquet_driver.py" in processes
    kept = "".join(f.read_text() for f in (data / "results_jdbc").rglob("*.*") if f.is_file())
    left = "".join(f.read_text(errors="replace") for f in Path(tempfile.gettempdir()).rglob("*") if f.is_file() and "sparquet" in str(f))
    for secret in (PASSWORD, PASSWORD[:9], WRONG):
        for name, text in {"log": ended.log, "processes": processes, "database": ended.stored, "result": kept, "files": left}.items():
            assert secret not in text, f"in {name}: …{text[max(0, text.find(secret) - 200): text.find(secret) + 50]}"
