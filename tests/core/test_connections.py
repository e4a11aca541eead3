"""Connections: where they come from, and that nothing shows their secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparquet_provider.core.connections import Connection, Connections, named
from sparquet_provider.core.errors import SparquetError
from sparquet_provider.core.formats.logins import aws_login, kafka_login
from sparquet_provider.core.lint import lint
from sparquet_provider.core.load import load
from sparquet_provider.core.packages import needed

SECRET = "s3cr'et pa\"ss/w@rd%20"
URI = "postgresql://me:s3cr%27et%20pa%22ss%2Fw%40rd%2520@db.example:5433/shop?sslmode=require"
FIELDS: dict[str, Any] = {
    "conn_type": "postgres", "host": "db.example", "port": 5433, "schema": "shop", "login": "me", "password": SECRET, "extra": {"sslmode": "require"},
}


@pytest.mark.parametrize("given", [FIELDS, json.dumps(FIELDS), URI, {**FIELDS, "extra": json.dumps(FIELDS["extra"]), "port": "5433"}], ids=["fields", "json", "uri", "texts"])
def test_every_form_gives_the_same(given: Any) -> None:
    assert Connections({"pg": given}, {}).find("pg").fields() == FIELDS
    assert Connections({}, {"AIRFLOW_CONN_PG": given if isinstance(given, str) else json.dumps(given)}).find("pg").fields() == FIELDS


def test_nothing_shows_the_secrets() -> None:
    connection = Connection.of("pg", {**FIELDS, "extra": {"api_key": "another-secret"}})
    assert SECRET not in repr(connection) and "another-secret" not in repr(connection)
    assert connection.secrets == {SECRET, "another-secret"} and SECRET not in str(connection.shown())


def test_a_missing_one_names_the_variable_and_the_nearest() -> None:
    with pytest.raises(SparquetError) as error:
        Connections({"my_pg": URI}, {}).find("my_pgg", "/input/connection")
    assert error.value.code == "CONNECTION_NOT_FOUND" and "AIRFLOW_CONN_MY_PGG" in str(error.value) and "'my_pg'" in str(error.value)


@pytest.mark.parametrize("given", ["{broken " + SECRET, "only words", 7, {"hosst": SECRET}, {"port": "no", "password": SECRET}, "x://h:" + SECRET])
def test_one_that_cannot_be_read_shows_nothing_of_itself(given: Any) -> None:
    with pytest.raises(SparquetError) as error:
        Connections({"pg": given}, {}).find("pg")
    assert error.value.code == "CONNECTION_INVALID" and SECRET not in str(error.value) and SECRET[:6] not in str(error.value)


def test_every_block_of_a_document_is_found() -> None:
    block = {"format": "jdbc", "connection": "a", "path": "t"}
    tree = {
        "input": block, "connection": "not a block", "transformations": [{"type": "join", "right": {**block, "connection": "b"}}],
        "validations": {"report": {**block, "connection": "c"}}, "outputs": [{**block, "connection": "d"}],
    }
    assert dict(named(tree)) == {
        "/input/connection": "a", "/transformations/0/right/connection": "b", "/validations/report/connection": "c", "/outputs/0/connection": "d",
    }


def packages(tree: Any, **kinds: str) -> list[str]:
    return [p.split(":")[1] for p in needed(tree, kinds.get)]


def test_packages_by_format_url_and_connection() -> None:
    assert packages({"input": {"format": "avro"}, "output": {"format": "parquet"}}) == ["spark-avro_2.13"]
    assert packages({"format": "jdbc", "connection": "x"}, x="postgres") == ["postgresql"]
    assert packages({"format": "jdbc", "connection": "x"}) == []
    assert packages({"format": "JDBC", "connection": "x", "options": {"dialect": "mariadb"}}, x="mysql") == ["mariadb-java-client"]
    assert packages([{"format": "jdbc", "options": {"url": "jdbc:sqlserver://h"}}, {"format": "kafka"}]) == ["mssql-jdbc", "spark-sql-kafka-0-10_2.13"]
    assert Connections({"x": {"conn_type": "jdbc", "host": "jdbc:oracle:thin:@h"}}, {}).kind("x") == "oracle"


# --- lint ----------------------------------------------------------------------------------------------------------
def problems(source: dict[str, Any], output: dict[str, Any] | None = None, **params: Any) -> list[tuple[str, str]]:
    tree = {"name": "x", "input": source, "output": output or {"format": "parquet", "path": "/out"}}
    return [(p.code, p.at) for p in lint(load(tree, params).tree)[1]]


def test_logins_in_plain_text_are_warned_of() -> None:
    options = {"url": "jdbc:postgresql://h/d?user=u&password=secret99", "user": "me", "password": SECRET, "fetchsize": 5}
    found = problems({"format": "jdbc", "path": "t", "options": options})
    assert found == [("SECRET_IN_DOCUMENT", f"/input/options/{n}") for n in ("url", "user", "password")]
    assert problems({"format": "jdbc", "path": "t", "options": {"url": "jdbc:postgresql://h/d", "password": "{pw}"}}, pw="secret99") == []


JDBC = {"format": "jdbc", "path": "t", "connection": "pg"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"connection": None}, [("MISSING_KEY", "/input")]),
        ({"connection": " "}, [("EMPTY_VALUE", "/input/connection")]),
        ({"path": None}, [("MISSING_KEY", "/input")]),
        ({"path": ["a", "b"]}, [("WRONG_TYPE", "/input/path")]),
        ({"path": "a b"}, [("INVALID_COMBINATION", "/input/path")]),
        ({"path": 'a."b c"'}, []),
        ({"options": {"query": "SELECT 1"}}, [("KEYS_EXCLUDE", "/input")]),
        ({"options": {"dialect": "postgre"}}, [("WRONG_CHOICE", "/input/options/dialect")]),
        ({"options": {"url": "postgresql://h/d"}}, [("WRONG_TYPE", "/input/options/url")]),
        ({"options": {"url": "jdbc:db2://h/d"}}, []),
        ({"options": {"partition_column": "id"}}, [("INVALID_COMBINATION", "/input/options")]),
        ({"options": {"numPartitions": 4}}, [("INVALID_COMBINATION", "/input/options/num_partitions")]),
        ({"options": {"partition_column": "id", "num_partitions": "many"}}, [("WRONG_TYPE", "/input/options/num_partitions")]),
        ({"options": {"partition_column": "id", "num_partitions": 4, "lower_bound": 1}}, [("INVALID_COMBINATION", "/input/options")]),
        ({"options": {"partition_column": "id", "num_partitions": 4}}, []),
        ({"scope": "global"}, [("INVALID_COMBINATION", "/input/scope")]),
    ],
)
def test_reading_by_jdbc(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems({k: v for k, v in {**JDBC, **change}.items() if v is not None}) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mode": "merge"}, [("MERGE_KEYS_MISSING", "/output/options")]),
        ({"mode": "upsert"}, [("MERGE_KEYS_MISSING", "/output/options")]),
        ({"mode": "historical"}, [("MODE_NOT_SUPPORTED", "/output/mode")]),
        ({"mode": "merge", "options": {"merge_keys": ["id"]}}, []),
        ({"options": {"merge_keys": ["id"]}}, [("INVALID_COMBINATION", "/output/options/merge_keys")]),
        ({"options": {"replaceWhere": "a = 1"}}, [("INVALID_COMBINATION", "/output/options/replaceWhere")]),
        ({"options": {"url": "jdbc:db2://h/d"}}, [("WRONG_CHOICE", "/output/options/url")]),
        ({"options": {"dialect": "mysql", "truncate": True}}, [("INVALID_COMBINATION", "/output/options/truncate")]),
        ({"partition_by": ["id"]}, [("INVALID_COMBINATION", "/output/partition_by")]),
    ],
)
def test_writing_by_jdbc(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems({"format": "parquet", "path": "/in"}, {**JDBC, **change}) == expected


KAFKA = {"format": "kafka", "path": "t", "connection": "k"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"path": ["a", "b"]}, []),
        ({"connection": None}, [("MISSING_KEY", "/input")]),
        ({"connection": None, "options": {"kafka.bootstrap.servers": "h:1"}}, []),
        ({"options": {"subscribePattern": "a.*"}}, [("KEYS_EXCLUDE", "/input")]),
        ({"options": {"startingOffsets": "latest"}}, [("WRONG_TYPE", "/input/options/startingOffsets")]),
        ({"options": {"startingOffsets": {"t": {"0": 3}}}}, []),
        ({"schema": "a INT"}, [("INVALID_COMBINATION", "/input/schema")]),
    ],
)
def test_reading_kafka(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems({k: v for k, v in {**KAFKA, **change}.items() if v is not None}) == expected


def test_kafka_only_appends() -> None:
    assert problems({"format": "parquet", "path": "/in"}, KAFKA) == [("MODE_NOT_SUPPORTED", "/output/mode")]


def test_two_servers_may_have_a_table_of_one_name() -> None:
    tree = {"name": "x", "input": {"format": "parquet", "path": "/in"}, "outputs": [JDBC, {**JDBC, "connection": "other"}]}
    assert lint(tree)[1] == []
    tree["outputs"][1]["connection"] = "pg"
    assert [p.code for p in lint(tree)[1]] == ["OUTPUTS_COLLIDE"]


# --- logins that have no test of their own ---------------------------------------------------------------------------
def test_a_kafka_connection() -> None:
    extra = {"bootstrap.servers": "a:1,b:2", "security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "me", "sasl.password": SECRET, "group.id": "g"}
    assert kafka_login(Connection.of("k", {"conn_type": "kafka", "extra": extra})) == {
        "kafka.bootstrap.servers": "a:1,b:2", "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"me\" password=\"s3cr'et pa\\\"ss/w@rd%20\";",
    }
    assert kafka_login(Connection.of("k", {"conn_type": "kafka", "host": "a,b:7", "port": 9093})) == {"kafka.bootstrap.servers": "a:9093,b:7"}


def test_an_aws_connection() -> None:
    connection = Connection.of("s", {"conn_type": "aws", "login": "AKIA", "password": SECRET, "extra": {"endpoint_url": "http://127.0.0.1:9", "region_name": "eu"}})
    assert aws_login(connection) == {
        "access.key": "AKIA", "secret.key": SECRET, "endpoint": "http://127.0.0.1:9", "endpoint.region": "eu", "connection.ssl.enabled": "false",
        "path.style.access": "true", "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
