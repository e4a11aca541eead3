"""How a ``path`` is read; this is the one place that decides it.

| format | what ``path`` is |
|---|---|
| avro, binary, csv, json, orc, parquet, txt, xml | files: a path or URI, a glob (``*``, ``?``, ``[ab]``, ``{a,b}``), or a list of them |
| delta | a location when it holds ``/`` or a scheme (``s3a:``), also written ``delta.`/data/orders```; otherwise a table name |
| iceberg | the same; a location can only be read, a table is written by its catalog name (``lake.db.orders``) |
| view | the name of a temporary view |
| jdbc | a table, ``sales.orders``; a part in double quotes keeps its case (see :mod:`dialects`) |
| kafka | a topic, or a list of topics |
| the connectors | a name, passed to the connector (see :mod:`connectors`) |

A table name is ``orders``, ``sales.orders`` or ``lake.sales.orders``; backticks keep a dot inside a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import normpath

from ..columns import quoted

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?!$)")
_DELTA_PATH = re.compile(r"delta\s*\.\s*`((?:[^`]|``)+)`", re.IGNORECASE)
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]*[^.`\s][^.`]*)")
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

#: Schemes that may name the file system which a bare path stands for.
_DEFAULT_SCHEMES = ("", "file", "hdfs", "viewfs", "dbfs")
_SAME_STORE = {"s3": "s3a", "s3n": "s3a", "wasb": "wasbs", "abfs": "abfss"}


def is_location(path: str) -> bool:
    """True for a path or URI, False for the name of a table."""
    return "/" in path or bool(_SCHEME.match(path)) or bool(_DELTA_PATH.fullmatch(path.strip()))


@dataclass(frozen=True)
class Place:
    """Where a table is: a location, or the parts of its name."""

    location: str | None = None
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str) -> Place:
        """Read a ``path``; raises ValueError when it is neither a location nor a name."""
        if match := _DELTA_PATH.fullmatch(path.strip()):
            return cls(match.group(1).replace("``", "`"))
        if is_location(path):
            return cls(path.strip())
        return cls(parts=tuple(_parts(path)))

    @property
    def name(self) -> str:
        """The table's name with every part quoted, as SQL and ``table()`` read it."""
        return ".".join(map(quoted, self.parts))

    @property
    def sql(self) -> str:
        """How SQL addresses the table; a location is one of Delta."""
        return self.name or f"delta.{quoted(self.location or '')}"


def _parts(name: str) -> list[str]:
    if not _NAME.fullmatch(name.strip()):
        raise ValueError(f"{name!r} is neither a location nor a table name; write unusual parts of a name in backticks")
    return [q.replace("``", "`") or plain.strip() for q, plain in _PART.findall(name)]


def overlap(one: str, other: str) -> bool:
    """True when two paths or globs name the same place, or one lies in the other."""
    return any(_meet(a, b) for a in _variants(one) for b in _variants(other))


def _meet(one: str, other: str) -> bool:
    (scheme_a, host_a, a), (scheme_b, host_b, b) = _split(one), _split(other)
    if one.startswith("/") is not other.startswith("/") and not (scheme_a or scheme_b):
        return False  # one is relative: only the file system knows
    if scheme_a != scheme_b and not (scheme_a in _DEFAULT_SCHEMES and scheme_b in _DEFAULT_SCHEMES and "" in (scheme_a, scheme_b)):
        return False
    if host_a and host_b and host_a != host_b:
        return False
    return all(x == y or fnmatchcase(x, y) or fnmatchcase(y, x) for x, y in zip(a, b, strict=False))


def _split(path: str) -> tuple[str, str, list[str]]:
    """Scheme, authority and the segments of a normalised path."""
    match = _SCHEME.match(path)
    scheme, rest, host = (match.group(1).lower(), path[match.end():], "") if match else ("", path, "")
    if scheme and rest.startswith("//"):
        host, _, rest = rest[2:].partition("/")
        rest = "/" + rest
    segments = [s for s in normpath(rest).lstrip("/").split("/") if s not in ("", ".")]
    return _SAME_STORE.get(scheme, scheme), host.lower(), segments


def _variants(path: str) -> Iterator[str]:
    """A glob with every ``{a,b}`` written out."""
    match = _BRACES.search(path)
    if not match:
        yield path
        return
    for choice in match.group(1).split(","):
        yield from _variants(path[:match.start()] + choice + path[match.end():])
