"""The ``jdbc`` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..columns import Columns
from ..document import Output, Source
from ..errors import Problem, SparquetError, nearest
from .base import Format, Written
from .database import OWN, PARALLEL, Address, database_faults, either, opened
from .dialects import DIALECTS, Dialect, of_kind, of_url
from .modes import check_merge_keys
from .options import check_path, check_scope, does_nothing, is_true, option, texts, without
from .staging import Target
from .tables import computed_once, merge_keys, refuse_repeated_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..engine import Node

#: Rows that a read fetches at once; the drivers' own defaults are one row (Oracle: ten) or all of them.
FETCH_SIZE = 10_000



class Jdbc(Format):
    """A table of a relational database: PostgreSQL, MySQL, MariaDB, SQL Server or Oracle.

    ``path`` is the table (``sales.orders``; a part in double quotes keeps its case), or ``options.query`` is a query to read.
    Where the database is says the ``connection`` (Airflow's types postgres, mysql, mariadb, mssql, oracle, or jdbc with an
    address as host), or ``options.url``. ``options.dialect`` chooses when both leave it open, and the connection's extra
    ``jdbc`` gives properties to the driver (``{"jdbc": {"ssl": "true"}}``).

    **Read** in parallel by ``partition_column`` (a number, date or timestamp) and ``num_partitions``; the bounds are asked for
    once unless ``lower_bound`` and ``upper_bound`` give them. ``fetchsize`` is 10,000. Filters and columns are pushed down.

    **Write**: rows go into a staging table beside the target first, by many connections; then one transaction changes the
    target, and the staging table is dropped. So a failed or repeated run leaves neither half of the rows nor any twice.

    | mode | the transaction |
    |---|---|
    | append | adds the rows |
    | overwrite | removes all rows and adds the new ones: keys, indexes and grants stay, and readers never see an empty table |
    | merge | updates the rows that have the same ``merge_keys`` (nulls match nulls) and adds the others |
    | ignore, error | only when there is no such table |

    A table that is not there is made, with the types of its dialect: long texts, exact decimals, instants with time zone.
    """

    name = "jdbc"
    takes_connection = True
    readable = True
    writable = True
    modes: ClassVar[tuple[str, ...] | None] = ("overwrite", "append", "merge", "ignore", "error")
    notes: ClassVar[tuple[str, ...]] = (
        "PostgreSQL and MariaDB are tested against real servers; MySQL, SQL Server and Oracle by the statements and options alone.",
        "The user needs the right to make tables in the target's schema. Only a driver that is killed leaves a staging table (sparquet_stage_…) behind.",
        "truncate=true empties by TRUNCATE, which is quicker on large tables, on PostgreSQL and SQL Server, where it can be rolled back.",
        "A merge on PostgreSQL uses INSERT … ON CONFLICT when a unique index has exactly the merge keys, otherwise UPDATE and INSERT under a lock that keeps "
        "other writers out.",
        "The parts of a parallel read are transactions of their own: rows that change meanwhile may be seen by one and not by another.",
        "Writing needs a classic Spark session; reading works on Spark Connect, too.",
    )

    def packages_for(self, options: Mapping[str, Any], kind: str | None) -> tuple[str, ...]:
        found = _dialect(options, kind)
        return (found.package,) if found and found.package else ()

    # --- lint ------------------------------------------------------------------------------------------------------
    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_scope(source, at)
        yield from _check_address(source, at)
        query = option(source.options, "query")
        if query is None and option(source.options, "dbtable") is None:
            yield from check_path(source, at, "a table name, or options.query")
        elif source.path is not None:
            yield Problem("KEYS_EXCLUDE", at, {"found": "path and options.query", "reason": "each says what is read"})
        if isinstance(source.path, tuple):
            yield Problem("WRONG_TYPE", at + "/path", {"found": "a list", "expected": "one table", "hint": "; a union step reads another one"})
        elif source.path:
            yield from _check_table(source.path, at)
        yield from _check_parallel(source.options, at)

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "a table name")
        yield from _check_address(output, at)
        if output.path:
            yield from _check_table(output.path, at)
        if output.canonical_mode == "merge":
            yield from check_merge_keys(output, at)
        elif option(output.options, "merge_keys") is not None:
            yield does_nothing(f"{at}/options/merge_keys", "merge_keys", f"in mode {output.mode}", "use mode merge")
        for name in ("merge_condition", "replaceWhere", "partitionOverwriteMode", "mergeSchema", "overwriteSchema"):
            if option(output.options, name) is not None:
                facts = {"reason": f"{name} has no meaning for jdbc", "remedy": "Remove it; filter the rows in the output's transformations."}
                yield Problem("INVALID_COMBINATION", f"{at}/options/{name}", facts)
        if output.partition_by:
            yield does_nothing(at + "/partition_by", "partition_by", "for jdbc", "partition the table in the database")
        dialect = _dialect(output.options, None)
        if is_true(output.options, "truncate") and dialect and not dialect.truncates:
            yield does_nothing(at + "/options/truncate", "truncate", f"on {dialect.name}: TRUNCATE can't be rolled back there", "leave it to DELETE")

    # --- read ------------------------------------------------------------------------------------------------------
    def read(self, source: Source, run: Run) -> DataFrame:
        address = Address.of(source, run)
        relation = self._relation(source, address, run)
        options = {"fetchsize": str(FETCH_SIZE), **texts({}, without(source.options, OWN)), **address.options(), "dbtable": relation}
        if source.schema:
            options["customSchema"] = source.schema
        with database_faults(address, source, run):
            options |= self._parallel(source, options, run)
            return run.engine.check_analysis(run.spark.read.format("jdbc").options(**options).load())

    def _relation(self, source: Source, address: Address, run: Run) -> str:
        """What stands behind FROM."""
        query = option(source.options, "query")
        if query is not None:
            return f"({str(query).strip().rstrip(';')}) sparquet_query"
        if (own := option(source.options, "dbtable")) is not None:
            return str(own)
        try:
            return address.dialect.name_of(address.dialect.table(source.paths[0]))
        except ValueError as error:
            raise run.fault("INVALID_COMBINATION", "/path", reason=str(error), remedy="Use a name such as sales.orders.") from error

    def _parallel(self, source: Source, options: Mapping[str, str], run: Run) -> dict[str, str]:
        """Spark's options for a parallel read; the bounds come from one query unless they are given."""
        given = {ours: either(source.options, ours) for ours in PARALLEL}
        column, parts = given["partition_column"], given["num_partitions"]
        if column is None:
            return {} if parts is None else {"numPartitions": str(parts)}
        if given["lower_bound"] is None or given["upper_bound"] is None:
            spark, plain = run.spark, dict(options)
            schema = run.engine.check_analysis(spark.read.format("jdbc").options(**plain).load()).schema
            try:
                name = Columns(schema).find(str(column)).name
            except SparquetError as error:
                raise error.located(f"{run.at}/options/partition_column") from None
            quoted = Address.of(source, run).dialect.quoted(name)
            asked = f"(SELECT MIN({quoted}) AS low, MAX({quoted}) AS high FROM {options['dbtable']}) sparquet_bounds"
            bounds = spark.read.format("jdbc").options(**{**plain, "dbtable": asked}).load().collect()[0]
            if bounds[0] is None:
                return {}  # no row has a value, so there is nothing to divide
            given["lower_bound"], given["upper_bound"], column = bounds[0], bounds[1], name
        return {
            "partitionColumn": str(column), "numPartitions": str(parts), "lowerBound": str(given["lower_bound"]), "upperBound": str(given["upper_bound"]),
        }

    def is_scan(self, node: Node, source: Source) -> bool:
        if not node.name.startswith("Scan JDBCRelation("):
            return False
        path = source.paths[0].split(".")[-1].strip('"`[]') if source.paths else "sparquet_query"
        return path.casefold() in node.name.casefold()

    # --- write -----------------------------------------------------------------------------------------------------
    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        with opened(output, run) as database:
            if not database.dialect.name:
                raise run.fault("WRONG_CHOICE", "/options/dialect", found=database.address.place, expected=list(DIALECTS))
            parts = database.dialect.table(output.path or "")
            columns = database.columns(parts)
            mode = output.canonical_mode
            if columns is not None and mode == "ignore":
                return Written(rows=0, wrote=False)
            if columns is not None and mode == "error":
                raise run.fault("TARGET_EXISTS", "/path", found=output.path)
            target = Target(database, parts, columns, output, run)
            if mode != "merge":
                return target.load(df)
            keys = merge_keys(df, output, run)
            with computed_once(df, run) as held:
                refuse_repeated_keys(held, keys, run)
                return target.load(held, keys)


def _dialect(options: Mapping[str, Any], kind: str | None) -> Dialect | None:
    """The dialect as far as a block tells it, with the type of its connection when that is known."""
    chosen, url = option(options, "dialect"), option(options, "url")
    if chosen:
        return DIALECTS.get(str(chosen).lower())
    if url:
        return of_url(str(url))
    return of_kind(kind) if kind else None


def _check_address(block: Source | Output, at: str) -> Iterator[Problem]:
    url, chosen = option(block.options, "url"), option(block.options, "dialect")
    if url is None and block.connection is None:
        yield Problem("MISSING_KEY", at, {"expected": "connection", "nearest": "", "hint": ', such as "connection": "my_pg", or options.url'})
    if url is not None and "{{" not in str(url) and not str(url).lower().startswith("jdbc:"):
        facts = {"found": "an address without jdbc:", "expected": "a JDBC address", "hint": ", such as jdbc:postgresql://host:5432/db"}
        yield Problem("WRONG_TYPE", at + "/options/url", facts)
    elif isinstance(block, Output) and url is not None and chosen is None and of_url(str(url)) is None:
        scheme = str(url)[5:].partition(":")[0]
        yield Problem("WRONG_CHOICE", at + "/options/url", {"found": scheme, "expected": list(DIALECTS), "nearest": nearest(scheme, DIALECTS)})
    if chosen is not None and str(chosen).lower() not in DIALECTS:
        yield Problem("WRONG_CHOICE", at + "/options/dialect", {"found": chosen, "expected": list(DIALECTS), "nearest": nearest(str(chosen), DIALECTS)})


def _check_table(path: str, at: str) -> Iterator[Problem]:
    if "{{" in path:
        return
    try:
        Dialect().table(path)
    except ValueError as error:
        yield Problem("INVALID_COMBINATION", at + "/path", {"reason": str(error), "remedy": "Use a name such as sales.orders."})


def _check_parallel(options: Mapping[str, Any], at: str) -> Iterator[Problem]:
    column, parts = either(options, "partition_column"), either(options, "num_partitions")
    low, high = either(options, "lower_bound"), either(options, "upper_bound")
    if column is not None and parts is None:
        reason = "partition_column divides the read, and num_partitions does not say into how many parts"
        yield Problem("INVALID_COMBINATION", at + "/options", {"reason": reason, "remedy": "Add num_partitions, such as 8."})
    if parts is not None and column is None:
        yield does_nothing(at + "/options/num_partitions", "num_partitions", "without partition_column", "name a column to divide by")
    if parts is not None and not (str(parts).isdigit() and int(parts) > 0) and "{{" not in str(parts):
        yield Problem("WRONG_TYPE", at + "/options/num_partitions", {"found": repr(parts), "expected": "a whole number above 0", "hint": ""})
    if (low is None) is not (high is None):
        facts = {"reason": "lower_bound and upper_bound go together", "remedy": "Give both; or neither, and they are asked for."}
        yield Problem("INVALID_COMBINATION", at + "/options", facts)
