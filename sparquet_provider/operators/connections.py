"""The connections that a document names, from Airflow."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseHook

from ..core.connections import Connection, named
from ..core.errors import Problem, nearest
from ..hooks.compat import AirflowFailException, AirflowNotFoundException


def resolve(tree: Any) -> dict[str, Connection]:
    """Every connection that blocks of a document name, by name.

    Raises:
        AirflowFailException: some are missing; all of them are in the text.
    """
    found: dict[str, Connection] = {}
    missing: list[Problem] = []
    for at, name in named(tree):
        if name in found:
            continue
        try:
            conn = BaseHook.get_connection(name)
        except AirflowNotFoundException:
            missing.append(Problem("CONNECTION_NOT_FOUND", at, {"found": name, "nearest": nearest(name, found), "expected": f"AIRFLOW_CONN_{name.upper()}"}))
            continue
        fields = {key: getattr(conn, key) for key in ("conn_type", "host", "port", "schema", "login", "password")}
        found[name] = Connection.of(name, {**fields, "extra": conn.extra_dejson})
    if missing:
        raise AirflowFailException("\n".join(["The document names connections that are not there; nothing was submitted.", *(f"- {p}" for p in missing)]))
    return found
