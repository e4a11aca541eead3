"""A database reached by JDBC: its address and login, statements on the driver, and what its faults mean.

Statements go through the driver's Java side, which classic Spark has and Spark Connect has not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..document import Output, Source
from ..errors import SparquetError
from ..storage import type_of
from .dialects import DIALECTS, Dialect, of_connection, of_url
from .options import option

if TYPE_CHECKING:
    from ..context import Run
    from ..engine import Engine

#: SQLSTATE classes: no connection; login refused; another transaction was in the way.
_UNREACHABLE, _LOGIN, _CONFLICT = ("08", "57P"), ("28",), ("40",)
_TOLD = re.compile(
    r"(?:java\.sql\.\w+|java\.net\.\w+|org\.postgresql\.util\.PSQLException|com\.mysql\.\S+|org\.mariadb\.\S+|com\.microsoft\.sqlserver\.\S+|oracle\.\S+)"
    r"(?:Exception|Error): ([^\n]*)"
)
#: Values of the data that messages of drivers repeat.
_VALUES = (
    (re.compile(r"Batch entry \d+ .*? was aborted: ", re.DOTALL), ""),
    (re.compile(r"(?:Detail|Where|Hint|Call getNextException)\b.*", re.DOTALL), ""),
    (re.compile(r"Duplicate entry '.*' for key"), "Duplicate entry for key"),
    (re.compile(r"(invalid input (?:syntax|value) for [\w ]+: ).*", re.DOTALL), r"\1a value"),
    (re.compile(r"(Incorrect [\w ]+ value: )'.*?'(?= for column|$)", re.DOTALL), r"\1a value"),
    (re.compile(r"(The duplicate key value is) \(.*\)", re.DOTALL), r"\1 one of the rows"),
)


#: Our spellings of Spark's options for parallel reads.
PARALLEL = {"partition_column": "partitionColumn", "num_partitions": "numPartitions", "lower_bound": "lowerBound", "upper_bound": "upperBound"}
#: Options that we read ourselves; the others are passed to Spark.
OWN = ("url", "user", "password", "driver", "dialect", "query", "dbtable", "merge_keys", "truncate", *PARALLEL, *PARALLEL.values())


def either(options: Mapping[str, Any], name: str) -> Any:
    """The value of an option in our spelling, or in Spark's."""
    found = option(options, name)
    return option(options, PARALLEL[name]) if found is None else found


@dataclass(frozen=True)
class Address:
    """Where a block's database is, and what its driver gets: ``login`` holds user, password and properties."""

    dialect: Dialect
    url: str
    driver: str
    login: Mapping[str, str]

    @classmethod
    def of(cls, block: Source | Output, run: Run) -> Address:
        """The address that a block gives by ``options.url``, ``options.dialect`` and its connection."""
        options, connection = block.options, run.connection(block.connection)
        url, chosen = str(option(options, "url") or ""), option(options, "dialect")
        dialect = DIALECTS.get(str(chosen).lower()) if chosen else of_url(url) if url else of_connection(connection) if connection else None
        login: dict[str, str] = dict(dialect.properties) if dialect else {}
        if connection is not None:
            if dialect is None and not url and not connection.host.lower().startswith("jdbc:"):
                kinds = sorted({kind for d in DIALECTS.values() for kind in d.conn_types})
                expected = f"{', '.join(kinds)} or jdbc"
                raise run.fault("CONNECTION_TYPE", "/connection", found=connection.name, type=connection.conn_type, format="jdbc", expected=expected)
            if not url:
                if not connection.host:
                    raise run.fault("CONNECTION_INCOMPLETE", "/connection", found=connection.name, reason="a host")
                url = connection.host if connection.host.lower().startswith("jdbc:") else (dialect or Dialect()).url(connection)
            given = connection.extra.get("jdbc")
            login |= {k: str(v) for k, v in {"user": connection.login, "password": connection.password}.items() if v}
            login |= {k: str(connection.extra[k]) for k in ("sslmode", "sslrootcert", "sslcert", "sslkey") if connection.extra.get(k)}
            login |= {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}
        login |= {name: str(value) for name in ("user", "password") if (value := option(options, name)) is not None}
        dialect = dialect or Dialect()
        url = dialect.spark_url(url)
        driver = str(option(options, "driver") or (connection and connection.extra.get("driver_class")) or dialect.driver)
        if dialect.name == "mariadb" and driver == DIALECTS["mysql"].driver:
            url = re.sub(r"[?&]permitMysqlScheme=true", "", url)
        return cls(dialect, url, driver, login)

    @property
    def place(self) -> str:
        """The address without properties, for messages."""
        return re.split(r"[?;]", self.url.removeprefix("jdbc:").partition("permitMysqlScheme")[0], maxsplit=1)[0]

    def options(self) -> dict[str, str]:
        """What Spark's reader and writer get."""
        return {"url": self.url, **({"driver": self.driver} if self.driver else {}), **self.login}


class Database:
    """One connection of the driver to a database; every change is in a transaction that the caller ends."""

    def __init__(self, address: Address, engine: Engine, run: Run) -> None:
        self.address, self._run, self._engine = address, run, engine
        self.dialect = address.dialect
        java = engine.spark._jvm
        options = type_of(engine, "org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions")(
            java.PythonUtils.toScalaMap({**address.options(), "dbtable": "unused"})  # type: ignore[union-attr]
        )
        factory = type_of(engine, "org.apache.spark.sql.jdbc.JdbcDialects").get(address.url).createConnectionFactory(options)
        self._connection = factory.apply(-1)
        self._connection.setAutoCommit(False)

    def execute(self, statement: str) -> int:
        """Run a statement; how many rows it changed."""
        prepared = self._connection.createStatement()
        try:
            return max(0, int(prepared.executeUpdate(statement)))
        finally:
            prepared.close()

    def value(self, query: str) -> Any:
        """The first value of a query, None when it has no row."""
        row = self.row(query, 1)
        return row[0] if row else None

    def row(self, query: str, width: int) -> list[Any] | None:
        """The first row of a query as texts, None when there is none."""
        prepared = self._connection.createStatement()
        try:
            found = prepared.executeQuery(query)
            return [found.getString(i + 1) for i in range(width)] if found.next() else None
        finally:
            prepared.close()

    def columns(self, parts: tuple[str, ...]) -> list[str] | None:
        """The columns of a table, None when it is not there."""
        prepared = self._connection.createStatement()
        try:
            described = prepared.executeQuery(self.dialect.probe(self.dialect.name_of(parts))).getMetaData()
            return [str(described.getColumnName(i + 1)) for i in range(described.getColumnCount())]
        except Exception as error:
            if is_missing(error, self.dialect):
                return None
            raise
        finally:
            with suppress(Exception):
                prepared.close()
            self._connection.rollback()

    def commit(self) -> None:
        """Keep what was changed."""
        self._connection.commit()

    def rollback(self) -> None:
        """Undo what was changed; a connection that is lost has undone it already."""
        with suppress(Exception):
            self._connection.rollback()

    def close(self) -> None:
        """End the connection."""
        with suppress(Exception):
            self._connection.rollback()
            self._connection.close()


@contextmanager
def opened(block: Source | Output, run: Run) -> Iterator[Database]:
    """A connection of the driver for a block, closed when the block ends; faults of the database are faults of the block."""
    if run.engine.connect:
        reason = "writing by JDBC runs the database's own statements on the driver, and Spark Connect has no access to it"
        raise run.fault("INVALID_COMBINATION", "/format", reason=reason, remedy="Run on a classic session (spark-submit does), or write to another format.")
    address = Address.of(block, run)
    with database_faults(address, block, run):
        database = Database(address, run.engine, run)
        try:
            yield database
        finally:
            database.close()


# --- faults --------------------------------------------------------------------------------------------------------
@contextmanager
def database_faults(address: Address, block: Source | Output, run: Run) -> Iterator[None]:
    """What a database or its driver says inside becomes a fault of the block, without values and logins."""
    try:
        yield
    except SparquetError:
        raise
    except Exception as error:
        found = fault_of(error, address, block, run)
        if found is None:
            raise
        raise found from error


def fault_of(error: Exception, address: Address, block: Source | Output, run: Run) -> SparquetError | None:
    """The fault of ours for what a database said; None when it is none of a database."""
    text = str(error)
    if re.search(r"ClassNotFoundException|No suitable driver|DATA_SOURCE_NOT_FOUND|NoClassDefFound", text[:2000]):
        package = address.dialect.package or "of the database's driver"
        return run.fault("CONNECTOR_MISSING", "/format", cause=error, found=address.driver or block.format, expected=package)
    state, number, told = told_by(error)
    if not told:
        return None
    facts: dict[str, Any] = {"found": address.place, "cause": error, "reason": shown(told, run)}
    paths = (block.path,) if isinstance(block.path, str) else (block.path or ())
    state_and_number = f"{state}/{number}"
    if is_missing(error, address.dialect) and isinstance(block, Source):
        return run.fault("SOURCE_NOT_FOUND", "/path", cause=error, format=block.format, found=", ".join(paths) or "of the query")
    if state.startswith(_LOGIN) or state_and_number in ("72000/1017", "S0001/18456", "S0001/4060", "28000/1045", "42000/1044") or state == "42501":
        return run.fault("LOGIN_REFUSED", "/connection" if block.connection else "/options", **facts)
    if state.startswith(_UNREACHABLE):
        return run.fault("SERVER_UNREACHABLE", "/connection" if block.connection else "/options/url", **facts)
    if state.startswith(_CONFLICT) or state in ("55P03",) or number in (1205, 1213):
        return run.fault("WRITE_CONFLICT", "/path", cause=error, found=", ".join(paths))
    return run.fault("DATABASE_REFUSED", "/path" if paths else "", **facts)


def is_missing(error: Any, dialect: Dialect) -> bool:
    """True when the database says that there is no such table."""
    state, number, told = told_by(error)
    return bool(told) and bool({state, f"{state}/{number}"} & set(dialect.missing))


def told_by(error: Any) -> tuple[str, int, str]:
    """SQLSTATE, the driver's number and the message of the innermost fault of a database; empty when there is none."""
    found: tuple[str, int, str] = ("", 0, "")
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(20):
        if java is None:
            break
        with suppress(Exception):
            found = (str(java.getSQLState() or ""), int(java.getErrorCode()), str(java.getMessage()))
        following = None
        with suppress(Exception):
            following = java.getNextException()
        java = following or java.getCause()
    if found[2]:
        return found
    match = _TOLD.search(str(error))
    return ("", 0, match.group(1)) if match else found


def shown(told: str, run: Run) -> str:
    """A message of a database without values of the data and without logins."""
    for pattern, instead in _VALUES:
        told = pattern.sub(instead, told)
    return run.connections.hide()(" ".join(told.split()))[:300].rstrip(". ")
