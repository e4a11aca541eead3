"""Connections: where a server is and how to log in to it, kept out of documents.

A block names one (``"connection": "my_pg"``). Its fields are Airflow's: the operators send them in the request file, a
script passes them (``connections={…}``), and what nobody passed is looked up in the environment variable
``AIRFLOW_CONN_<NAME>``, Airflow's own convention, as JSON or as a URI.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import SparquetError, nearest
from .secrets import Scrubber, embedded, values
from .text import plain

#: Other names of one kind, as URIs spell them.
_KINDS = {"postgresql": "postgres", "sqlserver": "mssql", "mongodb": "mongo", "mongodb_srv": "mongo", "s3": "aws"}


@dataclass(frozen=True)
class Connection:
    """The fields of one connection, by Airflow's names. Its text form shows no secret."""

    name: str
    conn_type: str = ""
    host: str = ""
    port: int | None = None
    schema: str = ""
    login: str = ""
    password: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, name: str, given: Any) -> Connection:
        """Read a connection from a mapping of its fields, or a text: JSON, or a URI such as ``postgres://user:password@host/db``.

        Raises:
            ValueError: neither of them; the text of the error shows nothing of it.
        """
        if isinstance(given, Connection):
            return given
        found: Any = given
        if isinstance(given, str):
            found = json.loads(given) if given.lstrip().startswith("{") else _of_uri(given)
        if not isinstance(found, Mapping):
            raise ValueError("it is neither a mapping nor a text")
        known = {f.name for f in fields(cls)} - {"name"}
        if unknown := sorted(set(found) - known - {"description", "uri", "conn_id"}):
            raise ValueError(f"it has the unknown fields {', '.join(map(str, unknown))}; known are {', '.join(sorted(known))}")
        extra = found.get("extra") or {}
        kind = str(found.get("conn_type") or "").lower().replace("-", "_")
        port = found.get("port")
        return cls(
            name, _KINDS.get(kind, kind), str(found.get("host") or ""), int(port) if port not in (None, "") else None, str(found.get("schema") or ""),
            str(found.get("login") or ""), str(found.get("password") or ""), json.loads(extra) if isinstance(extra, str) else dict(extra),
        )

    @property
    def kind(self) -> str:
        """What it leads to: its type, or for an address ``jdbc:x:…`` the ``x``."""
        return self.host.split(":")[1].lower() if self.host.lower().startswith("jdbc:") else self.conn_type

    @property
    def secrets(self) -> set[str]:
        """What must never be shown: the password, secret fields of extra, logins inside a host that is a URL."""
        return {s for s in (self.password, *values(dict(self.extra)), *embedded(self.host)) if s}

    def fields(self) -> dict[str, Any]:
        """The fields as the request file carries them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}

    def shown(self) -> dict[str, Any]:
        """The fields that say where it leads; no password and no extra."""
        return {k: v for k, v in self.fields().items() if k not in ("password", "extra")}


def _of_uri(text: str) -> dict[str, Any]:
    """Airflow's URI form: user, password, host, port, schema; the query is ``extra`` (``__extra__`` holds it as JSON)."""
    parts = urlsplit(text)
    if not parts.scheme:
        raise ValueError("it is neither JSON nor a URI")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = json.loads(query.pop("__extra__")) if "__extra__" in query else query
    return {
        "conn_type": parts.scheme, "host": unquote(parts.hostname or ""), "port": parts.port, "schema": unquote(parts.path.lstrip("/")),
        "login": unquote(parts.username or ""), "password": unquote(parts.password or ""), "extra": extra,
    }


class Connections:
    """The connections that a run may use, by name.

    Args:
        given: name → fields, a URI or JSON text.
        environment: looked up for those that were not given; the process's own by default.
    """

    def __init__(self, given: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._given = dict(given or {})
        self._environment = os.environ if environment is None else environment
        self._found: dict[str, Connection] = {}

    def find(self, name: str, at: str = "") -> Connection:
        """The connection of that name.

        Raises:
            SparquetError: CONNECTION_NOT_FOUND or CONNECTION_INVALID, at that place.
        """
        if name not in self._found:
            variable = f"AIRFLOW_CONN_{name.upper()}"
            given = self._given.get(name) or self._environment.get(variable)
            if not given:
                raise SparquetError("CONNECTION_NOT_FOUND", at, found=name, nearest=nearest(name, self._given), expected=variable)
            try:
                self._found[name] = Connection.of(name, given)
            except (ValueError, TypeError) as error:
                # A parser's message may quote the text, and that holds the password.
                reason = "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
                raise SparquetError("CONNECTION_INVALID", at, found=name, reason=reason) from None
        return self._found[name]

    def kind(self, name: str) -> str | None:
        """The type of a connection; None when it is not known here."""
        try:
            return self.find(name).kind
        except SparquetError:
            return None

    def hide(self, others: Iterable[str] = ()) -> Scrubber:
        """Takes the secrets of every connection that was used, and others, out of texts."""
        return Scrubber({*others, *(s for c in self._found.values() for s in c.secrets)})


def named(tree: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Every connection that blocks of a document name, with its place."""
    if isinstance(tree, Mapping):
        name = tree.get("connection")
        if isinstance(name, str) and isinstance(tree.get("format"), str):
            yield f"{at}/connection", plain(name)
        for key, value in tree.items():
            yield from named(value, f"{at}/{key}")
    elif isinstance(tree, list | tuple):
        for i, value in enumerate(tree):
            yield from named(value, f"{at}/{i}")
