"""From a connection to what a connector or a file system gets: one function for each kind."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ..connections import Connection
from ..document import Output, Source
from ..jars import HADOOP_AWS

if TYPE_CHECKING:
    from ..context import Run

KAFKA_TYPES = ("kafka", "generic")

#: Keys of Airflow's Kafka connections that steer its own client and mean nothing to a batch.
_CLIENT_ONLY = ("group.id", "auto.offset.reset", "enable.auto.commit")
_SASL = {"SCRAM-SHA-256": "scram.Scram", "SCRAM-SHA-512": "scram.Scram", "PLAIN": "plain.Plain"}


def kafka_login(connection: Connection) -> dict[str, str]:
    """Brokers and SASL; user and password become the JAAS text that Java's client wants."""
    extra = {str(k): str(v) for k, v in connection.extra.items() if k not in _CLIENT_ONLY and not isinstance(v, Mapping)}
    user, password = extra.pop("sasl.username", connection.login), extra.pop("sasl.password", connection.password)
    if mechanism := extra.pop("sasl.mechanisms", None):  # the name in Airflow's client
        extra.setdefault("sasl.mechanism", mechanism)
    if connection.host and "bootstrap.servers" not in extra:
        hosts = (h.strip() for h in connection.host.split(","))
        extra["bootstrap.servers"] = ",".join(h if ":" in h else f"{h}:{connection.port or 9092}" for h in hosts)
    if user and "sasl.jaas.config" not in extra:
        mechanism = extra.setdefault("sasl.mechanism", "PLAIN")
        extra.setdefault("security.protocol", "SASL_SSL")
        module = f"org.apache.kafka.common.security.{_SASL.get(mechanism, 'plain.Plain')}LoginModule"
        extra["sasl.jaas.config"] = f"{module} required username={_java(user)} password={_java(password)};"
    return {f"kafka.{k}": v for k, v in extra.items()}


def _java(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def aws_login(connection: Connection) -> dict[str, str]:
    """Keys for ``s3a``, without their ``fs.s3a.`` in front."""
    extra = connection.extra
    found = {
        "access.key": connection.login or extra.get("aws_access_key_id"), "secret.key": connection.password or extra.get("aws_secret_access_key"),
        "session.token": extra.get("aws_session_token"), "endpoint": extra.get("endpoint_url"), "endpoint.region": extra.get("region_name"),
    }
    login = {k: str(v) for k, v in found.items() if v}
    if "access.key" in login:
        provider = "TemporaryAWSCredentialsProvider" if "session.token" in login else "SimpleAWSCredentialsProvider"
        login["aws.credentials.provider"] = f"org.apache.hadoop.fs.s3a.{provider}"
    if login.get("endpoint", "").startswith("http://"):
        login["connection.ssl.enabled"] = "false"
    if "endpoint" in login:
        login["path.style.access"] = "true"  # other stores than Amazon's have no host name for each bucket
    return login


def storage_packages(kind: str | None) -> tuple[str, ...]:
    """The packages of a connection to an object store."""
    return (HADOOP_AWS,) if kind == "aws" else ()


def log_in(block: Source | Output, run: Run) -> None:
    """Let the session reach the buckets of a block by its connection, until the run ends.

    Settings that hold for one bucket only: other buckets, and other logins for them, stay as they are.
    """
    connection = run.connection(block.connection)
    if connection is None:
        return
    if connection.conn_type != "aws":
        raise run.fault("CONNECTION_TYPE", "/connection", found=connection.name, type=connection.conn_type, format=block.format, expected="aws")
    paths = (block.path,) if isinstance(block.path, str) else block.path or ()
    for path in paths:
        match = re.match(r"s3a://([^/]+)", path)
        if match is None:
            reason = f"the connection {connection.name} leads to S3, and {path} is no place there"
            raise run.fault("INVALID_COMBINATION", "/path", reason=reason, remedy="Write s3a://bucket/path, or remove connection.")
        for name, value in aws_login(connection).items():
            key = f"fs.s3a.bucket.{match.group(1)}.{name}"
            before = run.spark.conf.get(key, None)
            if before not in (None, value):
                reason = f"the bucket {match.group(1)} has another login in this session already"
                raise run.fault("INVALID_COMBINATION", "/connection", reason=reason, remedy="Name one connection for all blocks of one bucket.")
            if before is None:
                run.spark.conf.set(key, value)
                run.deferred.append(partial(_unset, run, key))


def _unset(run: Run, key: str, _success: bool) -> None:
    run.spark.conf.unset(key)


def snowflake_login(connection: Connection) -> dict[str, str]:
    """Account, user, database, warehouse and role of a Snowflake connection."""
    extra = _unprefixed(connection.extra, "extra__snowflake__")
    account = ".".join(filter(None, [str(extra.get("account") or ""), str(extra.get("region") or "")]))
    return _given({
        "sfURL": connection.host or (f"{account}.snowflakecomputing.com" if account else ""), "sfUser": connection.login, "sfPassword": connection.password,
        "sfDatabase": extra.get("database"), "sfSchema": connection.schema, "sfWarehouse": extra.get("warehouse"), "sfRole": extra.get("role"),
        "pem_private_key": extra.get("private_key_content"),
    })


def bigquery_login(connection: Connection) -> dict[str, str]:
    """Project and key of a Google Cloud connection."""
    extra = _unprefixed(connection.extra, "extra__google_cloud_platform__")
    key = extra.get("keyfile_dict")
    text = json.dumps(key) if isinstance(key, Mapping) else str(key or "")
    return _given({
        "credentials": base64.b64encode(text.encode()).decode(), "credentialsFile": extra.get("key_path"), "parentProject": extra.get("project"),
    })


def redshift_login(connection: Connection) -> dict[str, str]:
    """Address and login of a Redshift cluster."""
    url = f"jdbc:redshift://{connection.host}:{connection.port or 5439}/{connection.schema}" if connection.host else ""
    return _given({"url": url, "user": connection.login, "password": connection.password, "aws_iam_role": connection.extra.get("aws_iam_role")})


def mongo_login(connection: Connection, **defaults: str) -> dict[str, str]:
    """The URI of a MongoDB connection; the database is the connection's schema."""
    extra = {k: v for k, v in connection.extra.items() if v not in (None, "")}
    scheme = "mongodb+srv" if extra.pop("srv", False) else "mongodb"
    login = f"{quote(connection.login, safe='')}:{quote(connection.password, safe='')}@" if connection.login else ""
    port = f":{connection.port}" if connection.port and scheme == "mongodb" else ""
    options = {**defaults, **{k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in extra.items() if not isinstance(v, Mapping)}}
    if "ssl" in options:
        options["tls"] = options.pop("ssl")
    query = f"/?{urlencode(options)}" if options else "/"
    return _given({"connection.uri": f"{scheme}://{login}{connection.host}{port}{query}" if connection.host else "", "database": connection.schema})


def documentdb_login(connection: Connection) -> dict[str, str]:
    """As MongoDB's, with what Amazon DocumentDB asks for: TLS, its replica set, no retried writes."""
    return mongo_login(connection, tls="true", replicaSet="rs0", readPreference="secondaryPreferred", retryWrites="false")


def cassandra_login(connection: Connection) -> dict[str, str]:
    """Contact points and login of a Cassandra cluster; the keyspace is the connection's schema."""
    prefix = "spark.cassandra."
    return _given({
        f"{prefix}connection.host": connection.host, f"{prefix}connection.port": connection.port, f"{prefix}auth.username": connection.login,
        f"{prefix}auth.password": connection.password, "keyspace": connection.schema,
    })


def search_login(connection: Connection, prefix: str) -> dict[str, str]:
    """Nodes and login of Elasticsearch or OpenSearch; a connection whose schema is https uses TLS."""
    tls = connection.schema == "https" or bool(connection.extra.get("use_ssl"))
    return _given({
        f"{prefix}.nodes": connection.host, f"{prefix}.port": connection.port, f"{prefix}.net.http.auth.user": connection.login,
        f"{prefix}.net.http.auth.pass": connection.password, f"{prefix}.net.ssl": "true" if tls else "",
    })


def dynamodb_login(connection: Connection) -> dict[str, str]:
    """The region; the connector takes keys from the machine's own AWS chain alone."""
    return _given({"region": connection.extra.get("region_name")})


def _given(found: Mapping[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in found.items() if v not in (None, "")}


def _unprefixed(extra: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Fields of extra without the prefix that older Airflow versions gave them."""
    return {k.removeprefix(prefix): v for k, v in extra.items()}
