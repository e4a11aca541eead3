"""How OpenLineage names what blocks of a document read and write (its naming conventions for datasets)."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ..core.connections import Connection
from ..core.document import Output, Source
from ..core.formats.dialects import DIALECTS, of_connection, of_url
from ..core.formats.logins import kafka_login
from ..core.formats.options import option
from ..core.formats.places import Place, is_location
from ..core.registry import built_in_formats

#: Namespace and name.
Name = tuple[str, str]

_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs"}
#: Where an object's name has no slash in front.
_OBJECT_STORES = ("s3", "gs", "abfss", "wasbs")
#: Dialect to its scheme, and the schema of a table that names none.
_DATABASES = {"postgresql": ("postgres", "public"), "mysql": ("mysql", ""), "mariadb": ("mysql", ""), "sqlserver": ("mssql", "dbo"), "oracle": ("oracle", "")}
_ADDRESS = re.compile(r"//(?P<host>\[[^\]]+\]|[^:/;?]+)(?::(?P<port>\d+))?(?:[/;](?:databaseName=)?(?P<database>[^?;]*))?")


def names_of(block: Source | Output, connection: Connection | None) -> list[Name]:
    """The datasets of a block, as namespace and name; none for views, queries, and paths that wait for a variable.

    Files are named by their store (``s3://bucket``, ``file``), tables of a database by its address, topics by the first broker. A
    table that only the catalogue of the cluster can find is in the namespace ``spark``, one of another system in that of its format.
    """
    paths = block.paths if isinstance(block, Source) else (block.path,) if block.path else ()
    paths = tuple(path for path in paths if path and "{{" not in path)
    if block.format == "view":
        return []
    if block.format == "jdbc":
        return [name for path in paths if (name := _table(path, block, connection))]
    if block.format == "kafka":
        return [(f"kafka://{_broker(block, connection)}", path) for path in paths]
    known = built_in_formats().get(block.format)
    if known is not None and (known.path_based or block.format in ("delta", "iceberg")):
        return [_stored(path, known.path_based) for path in paths]
    host = f"://{connection.host}" + (f":{connection.port}" if connection.port else "") if connection and connection.host else ""
    return [(block.format + host, path) for path in paths]


def _stored(path: str, is_file: bool) -> Name:
    """A file, or a table by location or name."""
    if not is_file and not is_location(path):
        return "spark", ".".join(Place.of(path).parts)
    location = path if is_file else Place.of(path).location or path
    parts = urlsplit(location)
    scheme = _SAME_SCHEME.get(parts.scheme, parts.scheme)
    name = parts.path.rstrip("/") or "/"
    if scheme in ("", "file"):
        return "file", name
    return f"{scheme}://{parts.netloc}", (name.lstrip("/") or "/") if scheme in _OBJECT_STORES else name


def _table(path: str, block: Source | Output, connection: Connection | None) -> Name | None:
    """A table of a database; None when its address is not known here."""
    given, chosen = str(option(block.options, "url") or ""), option(block.options, "dialect")
    dialect = DIALECTS.get(str(chosen).lower()) if chosen else of_url(given) if given else of_connection(connection) if connection else None
    if dialect is None or dialect.name not in _DATABASES:
        return None
    if not given and connection is not None:
        given = connection.host if connection.host.lower().startswith("jdbc:") else dialect.url(connection)
    found = _ADDRESS.search(given) or re.search(r"@(?P<host>[^:/]+):(?P<port>\d+)[:/](?P<database>\w+)", given)
    if found is None:
        return None
    scheme, schema = _DATABASES[dialect.name]
    parts = dialect.table(path)
    if schema and len(parts) == 1:
        parts = (schema, *parts)
    database = found["database"] or ""
    qualified = parts if not database or (scheme == "mysql" and len(parts) > 1) or len(parts) > 2 else (database, *parts)
    return f"{scheme}://{found['host']}:{found['port'] or dialect.port}", ".".join(qualified)


def _broker(block: Source | Output, connection: Connection | None) -> str:
    """The first of the brokers."""
    given = option(block.options, "kafka.bootstrap.servers") or (kafka_login(connection) if connection else {}).get("kafka.bootstrap.servers")
    return str(given or "unknown").split(",")[0].strip()
