"""The table of connectors: which options each one gets. No such server can run here, so a stand-in takes the place of Spark's reader and writer."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest

from sparquet_provider.core.connections import Connections
from sparquet_provider.core.document import Output, Source
from sparquet_provider.core.errors import SparquetError
from sparquet_provider.core.formats.connectors import CONNECTORS
from sparquet_provider.core.lint import lint
from sparquet_provider.core.registry import built_in_formats

SECRET = "s3cr'et pa\"ss/w@rd"
SERVERS: dict[str, dict[str, Any]] = {
    "bigquery": {"conn_type": "google_cloud_platform", "extra": {"project": "p1", "keyfile_dict": {"private_key": SECRET}}},
    "snowflake": {
        "conn_type": "snowflake", "login": "me", "password": SECRET, "schema": "public",
        "extra": {"account": "ab1", "region": "eu", "database": "shop", "warehouse": "w", "extra__snowflake__role": "r"},
    },
    "redshift": {"conn_type": "redshift", "host": "h", "schema": "dev", "login": "me", "password": SECRET, "extra": {"aws_iam_role": "arn:x"}},
    "mongodb": {"conn_type": "mongo", "host": "h", "port": 27017, "schema": "shop", "login": "me", "password": SECRET, "extra": {"authSource": "admin"}},
    "documentdb": {"conn_type": "mongo", "host": "h", "port": 27017, "schema": "shop", "login": "me", "password": SECRET},
    "dynamodb": {"conn_type": "aws", "extra": {"region_name": "eu-west-1"}},
    "cassandra": {"conn_type": "cassandra", "host": "h", "port": 9042, "login": "me", "password": SECRET},
    "elasticsearch": {"conn_type": "elasticsearch", "host": "h", "port": 9200, "schema": "https", "login": "me", "password": SECRET},
    "opensearch": {"conn_type": "opensearch", "host": "h", "port": 9200, "login": "me", "password": SECRET},
}
QUOTED = "s3cr%27et%20pa%22ss%2Fw%40rd"
OPTIONS: dict[str, dict[str, str]] = {
    "bigquery": {"parentProject": "p1", "credentials": base64.b64encode(json.dumps({"private_key": SECRET}).encode()).decode(), "table": "s.orders"},
    "snowflake": {
        "sfURL": "ab1.eu.snowflakecomputing.com", "sfUser": "me", "sfPassword": SECRET, "sfDatabase": "shop", "sfSchema": "public", "sfWarehouse": "w",
        "sfRole": "r", "dbtable": "s.orders",
    },
    "redshift": {"url": "jdbc:redshift://h:5439/dev", "user": "me", "password": SECRET, "aws_iam_role": "arn:x", "dbtable": "s.orders", "tempdir": "s3a://t"},
    "mongodb": {"connection.uri": f"mongodb://me:{QUOTED}@h:27017/?authSource=admin", "database": "shop", "collection": "s.orders"},
    "documentdb": {
        "connection.uri": f"mongodb://me:{QUOTED}@h:27017/?tls=true&replicaSet=rs0&readPreference=secondaryPreferred&retryWrites=false", "database": "shop",
        "collection": "s.orders",
    },
    "dynamodb": {"region": "eu-west-1", "tableName": "s.orders"},
    "cassandra": {
        "spark.cassandra.connection.host": "h", "spark.cassandra.connection.port": "9042", "spark.cassandra.auth.username": "me",
        "spark.cassandra.auth.password": SECRET, "keyspace": "s", "table": "orders",
    },
    "elasticsearch": {
        "es.nodes": "h", "es.port": "9200", "es.net.http.auth.user": "me", "es.net.http.auth.pass": SECRET, "es.net.ssl": "true", "es.resource": "s.orders",
    },
    "opensearch": {
        "opensearch.nodes": "h", "opensearch.port": "9200", "opensearch.net.http.auth.user": "me", "opensearch.net.http.auth.pass": SECRET,
        "opensearch.resource": "s.orders",
    },
    "hudi": {"path": "s.orders"},
}
EXTRA = {"redshift": {"tempdir": "s3a://t"}}


class StandIn:
    """In place of Spark's session, reader, writer and frame: it remembers what it is given."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self.read = self.write = self

    def format(self, name: str) -> StandIn:
        self.seen["format"] = name
        return self

    def options(self, **options: str) -> StandIn:
        self.seen["options"] = options
        return self

    def mode(self, name: str) -> StandIn:
        self.seen["mode"] = name
        return self

    def observe(self, *_: Any) -> StandIn:
        return self

    def load(self) -> StandIn:
        return self

    save = load


def run_with(stand_in: StandIn, connections: dict[str, Any]) -> Any:
    import datetime as dt

    from sparquet_provider.core.context import Run

    nothing: Any = None
    engine: Any = SimpleNamespace(check_analysis=lambda df: df, connect=False)
    spark: Any = stand_in
    return Run(spark, engine, dt.datetime.now(dt.timezone.utc), nothing, nothing, at="/x", connections=Connections(connections, {}))


def test_every_connector_is_tried_here() -> None:
    assert set(OPTIONS) == {c.name for c in CONNECTORS}


@pytest.mark.parametrize("name", list(OPTIONS))
def test_reading(name: str) -> None:
    stand_in, server = StandIn(), SERVERS.get(name)
    source = Source(format=name, path="s.orders", options=EXTRA.get(name, {}), connection="my" if server else None)
    built_in_formats()[name].read(source, run_with(stand_in, {"my": server}))
    line = next(c for c in CONNECTORS if c.name == name)
    assert stand_in.seen == {"format": line.source, "options": OPTIONS[name]}


@pytest.mark.parametrize("name", list(OPTIONS))
def test_writing(name: str, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    from sparquet_provider.core.formats import connectors

    monkeypatch.setattr(connectors, "observed", lambda observation, engine: {"rows": 3})
    stand_in, server, line = StandIn(), SERVERS.get(name), next(c for c in CONNECTORS if c.name == name)
    own = {**EXTRA.get(name, {}), **{n.split("|")[0]: "x" for n in line.required_to_write}}
    output = Output(format=name, path="s.orders", mode="append", options=own, connection="my" if server else None)
    frame: Any = stand_in
    written = built_in_formats()[name].write(frame, output, run_with(stand_in, {"my": server}))
    assert (written.rows, stand_in.seen) == (3, {"format": line.source, "mode": "append", "options": {**OPTIONS[name], **own}})


@pytest.mark.parametrize("name", list(SERVERS))
def test_a_connection_of_another_kind_and_one_that_lacks_something(name: str) -> None:
    source = Source(format=name, path="s.orders", options=EXTRA.get(name, {}), connection="my")
    with pytest.raises(SparquetError) as error:
        built_in_formats()[name].read(source, run_with(StandIn(), {"my": {"conn_type": "ftp", "password": SECRET}}))
    assert (error.value.code, error.value.problems[0].at) == ("CONNECTION_TYPE", "/x/connection") and SECRET not in str(error.value)
    line = next(c for c in CONNECTORS if c.name == name)
    if line.required:
        with pytest.raises(SparquetError) as error:
            built_in_formats()[name].read(Source(format=name, path="x", connection="my"), run_with(StandIn(), {"my": {"conn_type": line.conn_types[0]}}))
        assert error.value.code == "CONNECTION_INCOMPLETE"


@pytest.mark.parametrize("name", list(OPTIONS))
def test_lint_asks_for_what_is_missing(name: str) -> None:
    line = next(c for c in CONNECTORS if c.name == name)
    mode = line.modes[0]
    _, problems = lint({"name": "x", "input": {"format": name}, "output": {"format": name, "path": "t", "mode": mode}})
    found = sorted((p.at, p.facts.get("expected")) for p in problems if p.code == "MISSING_KEY")
    needed = [" or ".join(n.split("|")) for n in line.required]
    writes = [*needed, *(" or ".join(n.split("|")) for n in line.required_to_write)]
    assert found == sorted([("/input", "path"), *(("/input/options", n) for n in needed), *(("/output/options", n) for n in writes)])
    _, problems = lint({"name": "x", "input": {"format": name, "path": "t"}, "output": {"format": name, "path": "t", "mode": "merge"}})
    assert "MODE_NOT_SUPPORTED" in [p.code for p in problems]


def test_packages_fit_this_scala() -> None:
    from sparquet_provider.core.lint import package_for_this_spark

    for line in CONNECTORS:
        assert line.package is None or package_for_this_spark(line.package) == line.package


def test_a_near_miss_of_a_name() -> None:
    _, problems = lint({"name": "x", "input": {"format": "snowflak", "path": "t"}, "output": {"format": "parquet", "path": "/o"}})
    assert [p.facts["nearest"] for p in problems] == ["snowflake"]


def test_each_has_a_page_that_says_how_it_was_tested() -> None:
    for line in CONNECTORS:
        found = built_in_formats()[line.name]
        assert (type(found).__doc__ or "").startswith(line.about) and any("not against a real server" in n for n in found.notes)
