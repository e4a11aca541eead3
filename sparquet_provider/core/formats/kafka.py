"""The ``kafka`` format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ..columns import quoted
from ..document import Output, Source
from ..engine import observed
from ..errors import Problem, nearest
from ..jars import KAFKA
from .base import Format, Written
from .faults import no_connector, reading
from .logins import KAFKA_TYPES, kafka_login
from .options import check_path, check_scope, does_nothing, is_true, option, texts, without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..engine import Node

#: The columns that Kafka itself has; the others become the value.
RECORD = ("key", "value", "headers", "topic", "partition")
_SERVERS = "kafka.bootstrap.servers"
_CHOICES = ("assign", "subscribePattern")
_OWN = ("raw", "key")
_OLDER = "spark.sql.sources.useV1SourceList"
#: What Kafka's client says of a broker that refuses the login, or does not answer.
_SAID = re.compile(r"org\.apache\.kafka\.common\.errors\.(\w*(?:Authentication|Authorization|Timeout)Exception): ([^\n]*)")


class Kafka(Format):
    """The records of Kafka topics, as a batch: from one offset to another, then the run ends.

    ``path`` is a topic or a list of them; ``options.subscribePattern`` or ``options.assign`` choose in another way. The brokers come
    from a ``connection`` (Airflow's type kafka: ``bootstrap.servers``, ``security.protocol``, ``sasl.*`` in extra; or host, port, login and
    password), or from ``options["kafka.bootstrap.servers"]``.

    **Read**: columns ``key`` and ``value`` as text (as bytes with ``raw``), ``topic``, ``partition``, ``offset``, ``timestamp``;
    ``headers`` with ``includeHeaders``. ``startingOffsets`` is earliest and ``endingOffsets`` latest unless given (``{"orders": {"0": 42}}``,
    or ``startingTimestamp`` in milliseconds). Records that are gone already fail the run, unless ``failOnDataLoss`` is false.

    **Write** (mode append): a frame with a column ``value`` is written as it is, with ``key``, ``headers``, ``topic`` and ``partition`` where it
    has them; of any other frame all columns become one JSON object in the value, and ``options.key`` may name the column of
    the key.
    """

    name = "kafka"
    takes_connection = True
    readable = True
    writable = True
    modes: ClassVar[tuple[str, ...] | None] = ("append",)
    package = KAFKA
    notes: ClassVar[tuple[str, ...]] = (
        "A write is no transaction: what was sent before a fault stays, and a task that Spark repeats sends again (at least once).",
        "To parse a JSON value: with_column with from_json(value, 'id INT, name STRING'), or transform.parse_json.",
        "Offsets are not remembered between runs: give them by parameters, or filter by timestamp.",
    )

    # --- lint ------------------------------------------------------------------------------------------------------
    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_scope(source, at)
        yield from _check_servers(source, at)
        chosen = [name for name in _CHOICES if option(source.options, name) is not None]
        if source.path is not None and chosen or len(chosen) > 1:
            found = " and ".join([*(["path"] if source.path is not None else []), *chosen])
            yield Problem("KEYS_EXCLUDE", at, {"found": found, "reason": "each says which topics are read"})
        elif not chosen:
            yield from check_path(source, at, "a topic, or a list of topics")
        for name in ("startingOffsets", "endingOffsets"):
            yield from _check_offsets(source, name, at)
        if source.schema:
            yield does_nothing(at + "/schema", "schema", "for kafka: the columns are always the same", "parse the value in a step")

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "a topic")
        yield from _check_servers(output, at)
        if output.partition_by:
            yield does_nothing(at + "/partition_by", "partition_by", "for kafka", "name a key in options.key")

    # --- read ------------------------------------------------------------------------------------------------------
    def read(self, source: Source, run: Run) -> DataFrame:
        options = {**self._login(source, run), **texts({}, without(source.options, _OWN))}
        if source.paths:
            options["subscribe"] = ",".join(source.paths)
        with reading(self, source, run):
            df = run.engine.check_analysis(run.spark.read.format("kafka").options(**options).load())
        if is_true(source.options, "raw"):
            return df.drop("timestampType")
        kept = [name for name in df.columns if name not in ("key", "value", "timestampType")]
        return df.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", *kept)

    def is_scan(self, node: Node, source: Source) -> bool:
        return "kafka" in f"{node.name} {node.description[:200]}".casefold()

    # --- write -----------------------------------------------------------------------------------------------------
    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        records, observation = self._records(df, output, run), Observation()
        watched = records.observe(observation, F.count(F.lit(1)).alias("rows"))
        options = {**self._login(output, run), **texts({}, without(output.options, _OWN))}
        if "topic" not in {name.casefold() for name in records.columns}:
            options["topic"] = output.path or ""
        # Spark's older way of writing, which kafka takes by default, runs a query of its own, where no observation is seen.
        older = str(run.spark.conf.get(_OLDER, ""))
        try:
            with run.engine.setting(_OLDER, ",".join(name for name in older.split(",") if name != "kafka")):
                watched.write.format("kafka").mode("append").options(**options).save()
        except Exception as error:
            raise self._fault(error, output, run) from error
        values = observed(observation, run.engine)
        rows = int(values["rows"]) if values else None
        return Written(rows, None if rows is not None else "the engine did not count the rows of this write")

    def _records(self, df: DataFrame, output: Output, run: Run) -> DataFrame:
        """The frame as records: value, and the other columns that Kafka knows."""
        names = {name.casefold(): name for name in df.columns}
        key = option(output.options, "key")
        if key is not None and str(key).casefold() not in names:
            raise run.fault("COLUMN_NOT_FOUND", "/options/key", found=key, nearest=nearest(str(key), df.columns), expected=df.columns)
        chosen = [f"CAST({quoted(names[str(key).casefold()])} AS STRING) AS key"] if key is not None else []
        if "value" not in names:
            return df.selectExpr(*chosen, "to_json(struct(*), map('ignoreNullFields', 'false')) AS value")
        added = {"ingestion_ts", *run.literals}
        others = [name for folded, name in names.items() if folded not in RECORD and name not in added and name != str(key)]
        if others:
            reason = f"the frame has a column value, so {', '.join(others)} would be lost"
            raise run.fault("INVALID_COMBINATION", reason=reason, remedy="Drop them, or rename value: then all columns become JSON.")
        return df.selectExpr(*chosen, *(quoted(names[name]) for name in RECORD if name in names and not (chosen and name == "key")))

    def _login(self, block: Source | Output, run: Run) -> dict[str, str]:
        connection = run.connection(block.connection)
        if connection is None:
            return {}
        if connection.conn_type not in KAFKA_TYPES:
            expected = " or ".join(KAFKA_TYPES)
            raise run.fault("CONNECTION_TYPE", "/connection", found=connection.name, type=connection.conn_type, format=self.name, expected=expected)
        login = kafka_login(connection)
        if _SERVERS not in login and option(block.options, _SERVERS) is None:
            raise run.fault("CONNECTION_INCOMPLETE", "/connection", found=connection.name, reason="bootstrap.servers in its extra, or a host")
        return login

    def _fault(self, error: Exception, output: Output, run: Run) -> Exception:
        if no_connector(error):
            return run.fault("CONNECTOR_MISSING", "/format", cause=error, found=self.name, expected=KAFKA)
        said = _SAID.search(str(error))
        if said is None:
            return error
        code = "LOGIN_REFUSED" if "Auth" in said.group(1) else "SERVER_UNREACHABLE"
        return run.fault(code, "/connection" if output.connection else "/options", cause=error, found="the broker", reason=said.group(2).rstrip(". "))


def _check_servers(block: Source | Output, at: str) -> Iterator[Problem]:
    if block.connection is None and option(block.options, _SERVERS) is None:
        hint = f', such as "connection": "my_kafka", or options["{_SERVERS}"]'
        yield Problem("MISSING_KEY", at, {"expected": "connection", "nearest": "", "hint": hint})


def _check_offsets(source: Source, name: str, at: str) -> Iterator[Problem]:
    value = option(source.options, name)
    word = {"startingOffsets": "earliest", "endingOffsets": "latest"}[name]
    if isinstance(value, str) and "{" not in value and value.casefold() != word:
        facts = {"found": repr(value), "expected": f"{word}, or an object of topics, partitions and offsets", "hint": ""}
        yield Problem("WRONG_TYPE", f"{at}/options/{name}", facts)
