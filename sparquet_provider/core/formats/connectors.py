"""Connectors that differ in names and options alone: one table, one format for each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ..connections import Connection
from ..document import Output, Source
from ..engine import observed
from ..errors import Problem
from .base import Format, Written
from .faults import no_connector, reading
from .logins import (
    bigquery_login,
    cassandra_login,
    documentdb_login,
    dynamodb_login,
    mongo_login,
    redshift_login,
    search_login,
    snowflake_login,
)
from .options import check_path, check_scope, option, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

ALL_MODES = ("overwrite", "append", "ignore", "error")
_UNTRIED = "Tested on the options that are passed, not against a real server."


@dataclass(frozen=True)
class Connector:
    """One line of the table.

    ``source`` is Spark's name of the format. ``path`` is the option that the block's ``path`` becomes; several take its parts,
    from the last (``keyspace.table``). ``required`` are options that must be there unless the connection gives them; a text
    ``a|b`` asks for one of them. ``login`` makes options of a connection of one of ``conn_types``.
    """

    name: str
    about: str
    source: str
    package: str | None
    path: tuple[str, ...]
    login: Callable[[Connection], dict[str, str]] | None = None
    conn_types: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    required_to_write: tuple[str, ...] = ()
    modes: tuple[str, ...] = ALL_MODES
    notes: tuple[str, ...] = field(default=())


CONNECTORS: tuple[Connector, ...] = (
    Connector(
        "bigquery", "A table of Google BigQuery: `dataset.table` or `project.dataset.table`.", "bigquery",
        "com.google.cloud.spark:spark-bigquery-with-dependencies_2.13:0.44.2", ("table",), bigquery_login, ("google_cloud_platform",),
        required_to_write=("temporaryGcsBucket|writeMethod",),
        notes=("Writing needs temporaryGcsBucket, or writeMethod=direct.", "The package is built for the Spark 3 line; none for Spark 4.1 is known."),
    ),
    Connector(
        "snowflake", "A table of Snowflake.", "net.snowflake.spark.snowflake", "net.snowflake:spark-snowflake_2.13:3.1.4", ("dbtable",), snowflake_login,
        ("snowflake",), required=("sfURL", "sfUser", "sfDatabase", "sfSchema"),
        notes=("The package is built for the Spark 3.5 line; none for Spark 4.1 is known.",),
    ),
    Connector(
        "redshift", "A table of Amazon Redshift; rows travel through a folder on S3.", "io.github.spark_redshift_community.spark.redshift",
        "io.github.spark-redshift-community:spark-redshift_2.13:6.7.0-spark_4.1", ("dbtable",), redshift_login, ("redshift", "postgres"),
        required=("url", "tempdir", "aws_iam_role|forward_spark_s3_credentials|temporary_aws_access_key_id"),
        notes=("The driver of Redshift (com.amazon.redshift:redshift-jdbc42) and hadoop-aws must be there, too.",),
    ),
    Connector(
        "mongodb", "A collection of MongoDB.", "mongodb", "org.mongodb.spark:mongo-spark-connector_2.13:11.0.1", ("collection",), mongo_login,
        ("mongo",), required=("connection.uri", "database"), modes=("overwrite", "append"),
        notes=("operationType and idFieldList in options decide whether rows replace documents or update them.",),
    ),
    Connector(
        "documentdb", "A collection of Amazon DocumentDB, by the connector of MongoDB.", "mongodb", "org.mongodb.spark:mongo-spark-connector_2.13:11.0.1",
        ("collection",), documentdb_login, ("mongo", "documentdb"), required=("connection.uri", "database"), modes=("overwrite", "append"),
        notes=("From a connection: TLS, replica set rs0, no retried writes. Amazon's certificates must be in Java's trust store.",),
    ),
    Connector(
        "dynamodb", "A table of Amazon DynamoDB.", "dynamodb", None, ("tableName",), dynamodb_login, ("aws",), modes=("append",),
        notes=(
            "The connector (com.audienceproject:spark-dynamodb) is built for Scala 2.12 only, which Spark 4 can't load: use a build of your own, by jars.",
            "Keys come from the machine's own AWS chain.",
        ),
    ),
    Connector(
        "cassandra", "A table of Apache Cassandra: `keyspace.table`.", "org.apache.spark.sql.cassandra",
        "com.datastax.spark:spark-cassandra-connector_2.13:3.5.1", ("table", "keyspace"), cassandra_login, ("cassandra",),
        required=("keyspace", "spark.cassandra.connection.host"), modes=("append", "overwrite", "error"),
        notes=("Appending a key that is there updates its row. overwrite needs confirm.truncate=true.", "The package is built for the Spark 3.5 line."),
    ),
    Connector(
        "elasticsearch", "An index of Elasticsearch.", "org.elasticsearch.spark.sql", "org.elasticsearch:elasticsearch-spark-30_2.13:9.4.1", ("es.resource",),
        lambda connection: search_login(connection, "es"), ("elasticsearch", "http"), required=("es.nodes",),
        notes=("es.mapping.id names the column of the document's id; es.write.operation=upsert updates.", "The package is built for the Spark 3 line."),
    ),
    Connector(
        "opensearch", "An index of OpenSearch.", "org.opensearch.spark.sql", "org.opensearch.client:opensearch-spark-40_2.13:2.0.0",
        ("opensearch.resource",), lambda connection: search_login(connection, "opensearch"), ("opensearch", "http"), required=("opensearch.nodes",),
        notes=("opensearch.mapping.id names the column of the document's id.",),
    ),
    Connector(
        "hudi", "A Hudi table, by its location.", "hudi", "org.apache.hudi:hudi-spark4.0-bundle_2.13:1.2.0", ("path",),
        required_to_write=("hoodie.table.name", "hoodie.datasource.write.recordkey.field"),
        notes=(
            "Needs spark.serializer=org.apache.spark.serializer.KryoSerializer in spark.configs.",
            "hoodie.datasource.write.operation (upsert by default) says what append does with keys that are there.",
            "The package is built for Spark 4.0; none for 4.1 is known.",
        ),
    ),
)


class ConnectorFormat(Format):
    """A line of the table as a format."""

    connector: ClassVar[Connector]

    # --- lint ------------------------------------------------------------------------------------------------------
    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_scope(source, at)
        alternatives = [name for name in ("query", "pipeline") if option(source.options, name) is not None]
        if not alternatives:
            yield from check_path(source, at, "a name")
        if isinstance(source.path, tuple):
            yield Problem("WRONG_TYPE", at + "/path", {"found": "a list", "expected": "one name", "hint": "; a union step reads another one"})
        yield from self._check_required(source, self.connector.required, at)

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "a name")
        yield from self._check_required(output, (*self.connector.required, *self.connector.required_to_write), at)

    def _check_required(self, block: Source | Output, required: tuple[str, ...], at: str) -> Iterator[Problem]:
        # What a connection gives is known when it is looked up.
        paths = block.paths if isinstance(block, Source) else filter(None, [block.path])
        there = {k.casefold() for path in paths for k in self._place(path)} | {k.casefold() for k in block.options}
        always = self.connector.required_to_write
        for names in required:
            choices = names.split("|")
            if any(name.casefold() in there for name in choices) or block.connection is not None and names not in always:
                continue
            facts = {"expected": " or ".join(choices), "nearest": "", "hint": ", or name a connection" if names not in always else ""}
            yield Problem("MISSING_KEY", at + "/options", facts)

    # --- read and write --------------------------------------------------------------------------------------------
    def read(self, source: Source, run: Run) -> DataFrame:
        options = self._options(source, source.paths, self.connector.required, run)
        with reading(self, source, run):
            reader = run.spark.read.format(self.connector.source).options(**options)
            return run.engine.check_analysis((reader.schema(source.schema) if source.schema else reader).load())

    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        required = (*self.connector.required, *self.connector.required_to_write)
        options, observation = self._options(output, (output.path or "",), required, run), Observation()
        watched = df.observe(observation, F.count(F.lit(1)).alias("rows"))
        mode = "errorifexists" if output.canonical_mode == "error" else output.canonical_mode
        writer = watched.write.format(self.connector.source).mode(mode).options(**options)
        try:
            (writer.partitionBy(*output.partition_by) if output.partition_by else writer).save()
        except Exception as error:
            if no_connector(error):
                raise run.fault("CONNECTOR_MISSING", "/format", cause=error, found=self.name, expected=self.package or "of a build for Scala 2.13") from error
            raise
        values = observed(observation, run.engine)
        return Written(int(values["rows"])) if values else Written(reason="the engine did not count the rows of this write")

    def _options(self, block: Source | Output, paths: tuple[str, ...], required: tuple[str, ...], run: Run) -> dict[str, str]:
        """What the connector gets: the connection's options, then the block's own, then its place."""
        options = {**self._login(block, run), **texts({}, block.options), **(self._place(paths[0]) if paths else {})}
        there = {k.casefold() for k in options}
        for names in required:
            if block.connection is not None and not any(name.casefold() in there for name in names.split("|")):
                reason = f"what becomes {names.replace('|', ' or ')}"
                raise run.fault("CONNECTION_INCOMPLETE", "/connection", found=block.connection, reason=reason)
        return options

    def _place(self, path: str) -> dict[str, str]:
        names = self.connector.path
        parts = path.rsplit(".", len(names) - 1) if len(names) > 1 else [path]
        return dict(zip(names, reversed(parts), strict=False))

    def _login(self, block: Source | Output, run: Run) -> dict[str, str]:
        connection = run.connection(block.connection)
        if connection is None or self.connector.login is None:
            return {}
        if connection.conn_type not in self.connector.conn_types:
            expected = " or ".join(self.connector.conn_types)
            raise run.fault("CONNECTION_TYPE", "/connection", found=connection.name, type=connection.conn_type, format=self.name, expected=expected)
        return self.connector.login(connection)


def connector_formats() -> list[Format]:
    """A format for every line of the table."""
    return [_format(line)() for line in CONNECTORS]


def _format(line: Connector) -> type[ConnectorFormat]:
    facts = {
        "connector": line, "name": line.name, "readable": True, "writable": True, "takes_connection": line.login is not None, "modes": line.modes,
        "package": line.package, "notes": (*line.notes, _UNTRIED), "__doc__": _doc(line), "__module__": __name__,
    }
    return type(line.name.capitalize(), (ConnectorFormat,), facts)


def _doc(line: Connector) -> str:
    """The reference page of a line."""
    kinds = f"``connection`` of Airflow's type {' or '.join(line.conn_types)} gives address and login. " if line.conn_types else ""
    lines = [line.about, "", f"{kinds}``path`` becomes the connector's option ``{'`` and ``'.join(line.path)}``; ``options`` are passed as they are."]
    for names, when in ((line.required, "Needed in options or from the connection"), (line.required_to_write, "Needed in options to write")):
        if names:
            lines.append(f"{when}: {', '.join(f'``{n}``'.replace('|', '`` or ``') for n in names)}.")
    return "\n".join(lines)
