"""What databases do differently: addresses, drivers, names, types and the statements of a write. Pure text; no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..connections import Connection

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_PART = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|\[([^\]]+)\]|([^."`\[\]\s]+)')
_TABLE = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")

#: Seconds that a write waits for other writers of its table.
LOCK_SECONDS = 600


class Dialect:
    """A database that Spark can read; without a subclass of its own it can't be written."""

    name: ClassVar[str] = ""
    #: What follows ``jdbc:`` in its addresses.
    schemes: ClassVar[tuple[str, ...]] = ()
    #: The types of Airflow connections that lead to it.
    conn_types: ClassVar[tuple[str, ...]] = ()
    driver: ClassVar[str] = ""
    package: ClassVar[str | None] = None
    port: ClassVar[int] = 0
    #: Properties of the driver; the user's own win.
    properties: ClassVar[Mapping[str, str]] = {}
    quote: ClassVar[tuple[str, str]] = ('"', '"')
    #: Spark's simple types and what they become in a table that is made.
    types: ClassVar[Mapping[str, str]] = {}
    #: Types that the database can't compare, and what merge keys become instead.
    key_types: ClassVar[Mapping[str, str]] = {}
    #: Conditions (SQLSTATE, or the driver's own number) of a table that is not there.
    missing: ClassVar[tuple[str, ...]] = ()
    #: True when emptying a table can be rolled back like any other change.
    truncates: ClassVar[bool] = False

    # --- addresses -------------------------------------------------------------------------------------------------
    def url(self, connection: Connection) -> str:
        """The address of a connection's database, without login."""
        host = f"[{connection.host}]" if ":" in connection.host else connection.host
        return f"jdbc:{self.schemes[0]}://{host}:{connection.port or self.port}/{connection.schema}"

    def spark_url(self, url: str) -> str:
        """The same address in the spelling by which Spark knows how to quote names."""
        return url

    # --- names -----------------------------------------------------------------------------------------------------
    def quoted(self, name: str) -> str:
        """A name in quotes, exactly as it is."""
        opening, closing = self.quote
        return opening + name.replace(closing, closing * 2) + closing

    def fold(self, name: str) -> str:
        """A name written without quotes, as the database spells it."""
        return name

    def column(self, name: str) -> str:
        """The name of a column of a table that is made."""
        return name

    def table(self, path: str) -> tuple[str, ...]:
        """The parts of a table's name; parts in quotes or backticks keep their case. Raises ValueError for anything else."""
        if not _TABLE.fullmatch(path.strip()):
            raise ValueError(f"{path!r} is no table name; write unusual parts in double quotes, such as sales.\"Order Lines\"")
        return tuple(
            double.replace('""', '"') or tick.replace("``", "`") or bracket or self.fold(bare)
            for double, tick, bracket, bare in _PART.findall(path)
        )

    def name_of(self, parts: Sequence[str]) -> str:
        """The name of a table, every part quoted."""
        return ".".join(map(self.quoted, parts))

    # --- types -----------------------------------------------------------------------------------------------------
    def type_of(self, kind: DataType) -> str | None:
        """The type of a column for Spark's; None when the database can't hold it."""
        if kind.typeName() == "decimal":
            return self.decimal(kind.precision, kind.scale)  # type: ignore[attr-defined]
        if kind.typeName() in ("char", "varchar"):
            return f"{kind.typeName().upper()}({kind.length})"  # type: ignore[attr-defined]
        return self.types.get(kind.typeName())

    def decimal(self, precision: int, scale: int) -> str:
        """An exact number."""
        return f"DECIMAL({precision},{scale})"

    # --- statements ------------------------------------------------------------------------------------------------
    def probe(self, table: str) -> str:
        """A query without rows that shows the columns of a table."""
        return f"SELECT * FROM {table} WHERE 1 = 0"

    def same(self, keys: Sequence[str], nulls: bool) -> str:
        """The condition that a row of ``T`` has the key of a row of ``S``; nulls are equal, when there are any."""
        equal = [f"(T.{k} = S.{k} OR (T.{k} IS NULL AND S.{k} IS NULL))" if nulls else f"T.{k} = S.{k}" for k in keys]
        return " AND ".join(equal)

    def stage(self, stage: str, target: str, columns: Sequence[str]) -> str:
        """Make an empty table with those columns of another one."""
        return f"CREATE TABLE {stage} AS SELECT {', '.join(columns)} FROM {target} WHERE 1 = 0"

    def create(self, table: str, columns: Mapping[str, str]) -> str:
        """Make a table of named columns."""
        return f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"

    def rename(self, old: Sequence[str], new: str) -> str:
        """Give a table another name in the same schema, in one step."""
        return f"ALTER TABLE {self.name_of(old)} RENAME TO {self.quoted(new)}"

    def lock(self, target: str) -> list[str]:
        """Keep other writers out until the transaction ends; readers go on. Every wait is bounded."""
        return []

    def unique(self, parts: Sequence[str], keys: Sequence[str]) -> str | None:
        """A query for the number of unique indexes over exactly those columns; None when the merge does not depend on it."""
        return None

    def empty(self, target: str, truncate: bool) -> str:
        """Remove every row."""
        return f"TRUNCATE TABLE {target}" if truncate else f"DELETE FROM {target}"

    def insert(self, target: str, stage: str, columns: Sequence[str]) -> str:
        """Add the staged rows."""
        names = ", ".join(columns)
        return f"INSERT INTO {target} ({names}) SELECT {names} FROM {stage}"

    def merge(self, target: str, stage: str, columns: Sequence[str], keys: Sequence[str], *, nulls: bool, unique: bool) -> dict[str, str]:
        """Update the rows that have a staged row's key, and add the others: statements by what their counts mean."""
        others = [c for c in columns if c not in keys]
        names, match = ", ".join(columns), self.same(keys, nulls)
        update = f" WHEN MATCHED THEN UPDATE SET {', '.join(f'T.{c} = S.{c}' for c in others)}" if others else ""
        insert = f" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({', '.join('S.' + c for c in columns)})"
        return {"rows_merged": f"MERGE INTO {target} T USING {stage} S ON ({match}){update}{insert}"}

    def transactional(self, parts: Sequence[str]) -> str | None:
        """A query for the name of the storage engine of a table that has no transactions; None where every table has them."""
        return None


class PostgreSQL(Dialect):
    """PostgreSQL."""

    name = "postgresql"
    schemes = ("postgresql",)
    conn_types = ("postgres",)
    driver = "org.postgresql.Driver"
    package = "org.postgresql:postgresql:42.7.8"
    port = 5432
    # The server turns texts into the column's own type (uuid, jsonb, enumerations).
    properties = {"stringtype": "unspecified", "ApplicationName": "sparquet"}
    types = {
        "byte": "SMALLINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT", "float": "REAL", "double": "DOUBLE PRECISION", "boolean": "BOOLEAN",
        "string": "TEXT", "binary": "BYTEA", "date": "DATE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
        "tinyint": "SMALLINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    }
    missing = ("42P01", "3F000")
    truncates = True

    def fold(self, name: str) -> str:
        return name.lower()

    def type_of(self, kind: DataType) -> str | None:
        if kind.typeName() == "array":
            inner = self.type_of(kind.elementType)  # type: ignore[attr-defined]
            return f"{inner}[]" if inner and not inner.endswith("[]") else None
        return super().type_of(kind)

    def same(self, keys: Sequence[str], nulls: bool) -> str:
        # IS NOT DISTINCT FROM uses no index, so it stands only where there are nulls.
        return " AND ".join(f"T.{k} {'IS NOT DISTINCT FROM' if nulls else '='} S.{k}" for k in keys)

    def stage(self, stage: str, target: str, columns: Sequence[str]) -> str:
        return f"CREATE UNLOGGED TABLE {stage} AS SELECT {', '.join(columns)} FROM {target} WHERE 1 = 0"

    def lock(self, target: str) -> list[str]:
        return [f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'", f"LOCK TABLE {target} IN SHARE ROW EXCLUSIVE MODE"]

    def unique(self, parts: Sequence[str], keys: Sequence[str]) -> str | None:
        names = ", ".join(sorted(map(text, keys)))
        return (
            f"SELECT COUNT(*) FROM pg_index i WHERE i.indrelid = {text(self.name_of(parts))}::regclass AND i.indisunique AND i.indisvalid AND i.indimmediate "
            "AND i.indpred IS NULL AND i.indexprs IS NULL AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE \"C\") FROM pg_attribute a "
            f"WHERE a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])) = ARRAY[{names}]"
        )

    def merge(self, target: str, stage: str, columns: Sequence[str], keys: Sequence[str], *, nulls: bool, unique: bool) -> dict[str, str]:
        others = [c for c in columns if c not in keys]
        if unique and not nulls:
            action = f"DO UPDATE SET {', '.join(f'{c} = EXCLUDED.{c}' for c in others)}" if others else "DO NOTHING"
            return {"rows_merged": f"{self.insert(target, stage, columns)} ON CONFLICT ({', '.join(keys)}) {action}"}
        match, names = self.same(keys, nulls), ", ".join(columns)
        changes = ", ".join(f"{c} = S.{c}" for c in others)
        update = {"rows_updated": f"UPDATE {target} T SET {changes} FROM {stage} S WHERE {match}"} if others else {}
        insert = f"INSERT INTO {target} ({names}) SELECT {names} FROM {stage} S WHERE NOT EXISTS (SELECT 1 FROM {target} T WHERE {match})"
        return {**update, "rows_inserted": insert}


class MySQL(Dialect):
    """MySQL."""

    name = "mysql"
    schemes = ("mysql",)
    conn_types = ("mysql",)
    driver = "com.mysql.cj.jdbc.Driver"
    package = "com.mysql:mysql-connector-j:9.5.0"
    port = 3306
    # Instants travel in UTC, whatever the zones of server and driver are.
    properties = {"connectionTimeZone": "UTC", "forceConnectionTimeZoneToSession": "true", "preserveInstants": "true"}
    quote = ("`", "`")
    types = {
        "byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN",
        "string": "LONGTEXT", "binary": "LONGBLOB", "date": "DATE", "timestamp": "TIMESTAMP(6) NULL", "timestamp_ntz": "DATETIME(6)",
        "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT",
    }
    missing = ("42S02", "42000/1049")

    def same(self, keys: Sequence[str], nulls: bool) -> str:
        return " AND ".join(f"T.{k} <=> S.{k}" for k in keys)

    def rename(self, old: Sequence[str], new: str) -> str:
        return f"RENAME TABLE {self.name_of(old)} TO {self.name_of([*old[:-1], new])}"

    def merge(self, target: str, stage: str, columns: Sequence[str], keys: Sequence[str], *, nulls: bool, unique: bool) -> dict[str, str]:
        # ON DUPLICATE KEY would match by every unique index of the table, not by the merge keys alone.
        others, names, match = [c for c in columns if c not in keys], ", ".join(columns), self.same(keys, nulls)
        update = {"rows_updated": f"UPDATE {target} T JOIN {stage} S ON {match} SET {', '.join(f'T.{c} = S.{c}' for c in others)}"} if others else {}
        insert = f"INSERT INTO {target} ({names}) SELECT {names} FROM {stage} S WHERE NOT EXISTS (SELECT 1 FROM {target} T WHERE {match})"
        return {**update, "rows_inserted": insert}

    def transactional(self, parts: Sequence[str]) -> str | None:
        schema = text(parts[-2]) if len(parts) > 1 else "DATABASE()"
        return (
            "SELECT t.ENGINE FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE "
            f"WHERE t.TABLE_SCHEMA = {schema} AND t.TABLE_NAME = {text(parts[-1])} AND COALESCE(e.TRANSACTIONS, 'NO') <> 'YES'"
        )


class MariaDB(MySQL):
    """MariaDB."""

    name = "mariadb"
    schemes = ("mariadb",)
    conn_types = ("mariadb",)
    driver = "org.mariadb.jdbc.Driver"
    package = "org.mariadb.jdbc:mariadb-java-client:3.5.6"

    def spark_url(self, url: str) -> str:
        # For jdbc:mariadb Spark puts names into double quotes, which this database reads as texts: every value would be a column's name.
        url = re.sub(r"^jdbc:mariadb:", "jdbc:mysql:", url, flags=re.IGNORECASE)
        return url if "permitmysqlscheme" in url.lower() else f"{url}{'&' if '?' in url else '?'}permitMysqlScheme=true"


class SQLServer(Dialect):
    """Microsoft SQL Server."""

    name = "sqlserver"
    schemes = ("sqlserver",)
    conn_types = ("mssql",)
    driver = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
    package = "com.microsoft.sqlserver:mssql-jdbc:13.2.1.jre11"
    port = 1433
    quote = ("[", "]")
    types = {
        "byte": "SMALLINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT", "float": "REAL", "double": "FLOAT(53)", "boolean": "BIT",
        "string": "NVARCHAR(MAX)", "binary": "VARBINARY(MAX)", "date": "DATE", "timestamp": "DATETIMEOFFSET(6)", "timestamp_ntz": "DATETIME2(6)",
        "tinyint": "SMALLINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT",
    }
    missing = ("S0002",)
    truncates = True

    def url(self, connection: Connection) -> str:
        database = f";databaseName={{{connection.schema}}}" if connection.schema else ""
        return f"jdbc:sqlserver://{connection.host}:{connection.port or self.port}{database}"

    def same(self, keys: Sequence[str], nulls: bool) -> str:
        # INTERSECT compares nulls as equal and still uses indexes.
        if not nulls:
            return super().same(keys, nulls)
        return f"EXISTS (SELECT {', '.join('T.' + k for k in keys)} INTERSECT SELECT {', '.join('S.' + k for k in keys)})"

    def stage(self, stage: str, target: str, columns: Sequence[str]) -> str:
        # The second SELECT keeps the stage from having an identity column.
        names = ", ".join(columns)
        return f"SELECT {names} INTO {stage} FROM {target} WHERE 1 = 0 UNION ALL SELECT {names} FROM {target} WHERE 1 = 0"

    def rename(self, old: Sequence[str], new: str) -> str:
        return f"EXEC sp_rename {text(self.name_of(old))}, {text(new)}"

    def lock(self, target: str) -> list[str]:
        return [f"SET LOCK_TIMEOUT {LOCK_SECONDS * 1000}"]

    def empty(self, target: str, truncate: bool) -> str:
        return f"TRUNCATE TABLE {target}" if truncate else f"DELETE FROM {target} WITH (TABLOCKX)"

    def merge(self, target: str, stage: str, columns: Sequence[str], keys: Sequence[str], *, nulls: bool, unique: bool) -> dict[str, str]:
        # Without HOLDLOCK two merges at once may both insert a key.
        statements = super().merge(f"{target} WITH (HOLDLOCK) AS", stage, columns, keys, nulls=nulls, unique=unique)
        return {name: f"{statement};" for name, statement in statements.items()}


class Oracle(Dialect):
    """Oracle Database."""

    name = "oracle"
    schemes = ("oracle",)
    conn_types = ("oracle",)
    driver = "oracle.jdbc.OracleDriver"
    package = "com.oracle.database.jdbc:ojdbc11:23.9.0.25.07"
    port = 1521
    types = {
        "byte": "NUMBER(3)", "short": "NUMBER(5)", "integer": "NUMBER(10)", "long": "NUMBER(19)", "float": "BINARY_FLOAT", "double": "BINARY_DOUBLE",
        "boolean": "NUMBER(1)", "string": "CLOB", "binary": "BLOB", "date": "DATE", "timestamp": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "timestamp_ntz": "TIMESTAMP(6)", "tinyint": "NUMBER(3)", "smallint": "NUMBER(5)", "int": "NUMBER(10)", "bigint": "NUMBER(19)",
    }
    key_types = {"CLOB": "VARCHAR2(4000)", "BLOB": "RAW(2000)"}
    missing = ("42000/942",)

    def url(self, connection: Connection) -> str:
        extra = connection.extra
        address = f"{connection.host}:{connection.port or self.port}"
        if extra.get("dsn"):
            return f"jdbc:oracle:thin:@{extra['dsn']}"
        if extra.get("sid"):
            return f"jdbc:oracle:thin:@{address}:{extra['sid']}"
        return f"jdbc:oracle:thin:@//{address}/{extra.get('service_name') or connection.schema}"

    def fold(self, name: str) -> str:
        return name.upper()

    def column(self, name: str) -> str:
        return name.upper() if re.fullmatch(r"[a-z][a-z0-9_]*", name) else name

    def decimal(self, precision: int, scale: int) -> str:
        return f"NUMBER({precision},{scale})"

    def lock(self, target: str) -> list[str]:
        return [f"LOCK TABLE {target} IN EXCLUSIVE MODE WAIT {LOCK_SECONDS}"]


#: The databases that are known by name.
DIALECTS: Mapping[str, Dialect] = {d.name: d for d in (PostgreSQL(), MySQL(), MariaDB(), SQLServer(), Oracle())}


def of_url(url: str) -> Dialect | None:
    """The dialect of an address; None when it is none of ours."""
    scheme = url.lower().removeprefix("jdbc:").partition(":")[0]
    if scheme == "mysql" and "permitmysqlscheme" in url.lower():
        return DIALECTS["mariadb"]
    return next((d for d in DIALECTS.values() if scheme in d.schemes), None)


def of_connection(connection: Connection) -> Dialect | None:
    """The dialect that a connection leads to; None when its type does not tell."""
    return of_url(connection.host) if connection.host.lower().startswith("jdbc:") else of_kind(connection.conn_type)


def of_kind(kind: str) -> Dialect | None:
    """The dialect of a connection's kind; None when it is none of ours."""
    return next((d for d in DIALECTS.values() if kind in (*d.conn_types, *d.schemes)), None)


def text(value: Any) -> str:
    """A text as an SQL literal."""
    return "'" + str(value).replace("'", "''") + "'"
