"""Real servers for tests, each a process on the loopback address in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def free_port() -> int:
    """A port on loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, seconds: float, process: subprocess.Popen[bytes]) -> None:
    """Wait, bounded, until something listens; fail when the process ends first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port} after {seconds} s")


def as_user(name: str, folder: Path) -> dict[str, Any]:
    """What makes a process run as that user where this one is root (the servers refuse to run as root); the folder becomes theirs."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(name)
    os.chown(folder, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def initdb(folder: Path, user: str, password: str) -> tuple[list[str], dict[str, Any]]:
    """Make a PostgreSQL cluster in a folder; the command that serves it (a port is still to be added) and the arguments of Popen."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert binaries, "PostgreSQL is missing; install it with: apt-get install postgresql"
    account = as_user("postgres", folder)
    file, data = folder / "password", folder / "data"
    file.write_text(password, encoding="utf-8")
    file.chmod(0o644)
    options = [f"--username={user}", f"--pwfile={file}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-sync"]
    made = subprocess.run([str(binaries[-1] / "initdb"), *options, "--pgdata", str(data)], capture_output=True, text=True, cwd=folder, **account)
    assert made.returncode == 0, made.stderr
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
    return [str(binaries[-1] / "postgres"), "-D", str(data), *settings], account


@dataclass
class Server:
    """A database that runs: the fields of its connection, and a door of the test's own into it."""

    connection: dict[str, Any] = field(repr=False)
    url: str
    query: Callable[..., list[tuple[Any, ...]]] = field(repr=False)


@contextlib.contextmanager
def folder_for(name: str) -> Iterator[Path]:
    """A folder that other users may reach: tmp_path's parents are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix=f"sparquet-{name}-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(command: list[str], folder: Path, port: int, seconds: float, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A server process that listens; it is stopped by its own id."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, **options)
    try:
        try:
            wait_for_port(port, seconds, process)
        except (RuntimeError, TimeoutError) as error:
            raise RuntimeError(f"{error}\n{(folder / 'server.log').read_text(errors='replace')[-3000:]}") from None
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


#: The password of the test servers' user, with characters that break careless quoting.
PASSWORD = "s3cr'et pa\"ss/w@rd%20"


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    """A PostgreSQL server with an empty database ``shop``."""
    import psycopg2

    with folder_for("postgres") as folder:
        port = free_port()
        command, account = initdb(folder, "tester", PASSWORD)
        with running([*command, "-p", str(port)], folder, port, 60, **account):
            login = {"host": "127.0.0.1", "port": port, "user": "tester", "password": PASSWORD}

            def query(text: str, database: str = "shop") -> list[tuple[Any, ...]]:
                connection = psycopg2.connect(dbname=database, **login)
                connection.autocommit = True
                try:
                    cursor = connection.cursor()
                    cursor.execute(text)
                    return cursor.fetchall() if cursor.description else []
                finally:
                    connection.close()

            query("CREATE DATABASE shop", "postgres")
            fields = {"conn_type": "postgres", "host": "127.0.0.1", "port": port, "schema": "shop", "login": "tester", "password": PASSWORD}
            yield Server(fields, f"jdbc:postgresql://127.0.0.1:{port}/shop", query)


@contextlib.contextmanager
def mariadb() -> Iterator[Server]:
    """A MariaDB server with an empty database ``shop``."""
    server, install, client = (shutil.which(n, path=f"{os.environ['PATH']}:/usr/sbin") for n in ("mariadbd", "mariadb-install-db", "mariadb"))
    assert server and install and client, "MariaDB is missing; install it with: apt-get install mariadb-server"
    with folder_for("mariadb") as folder:
        port, data, socket_file = free_port(), folder / "data", folder / "server.sock"
        account = as_user("mysql", folder)
        options = ["--no-defaults", f"--datadir={data}", f"--tmpdir={folder}"]
        made = subprocess.run(
            [install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"], capture_output=True, text=True, cwd=folder, **account,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        command = [
            server, *options, "--bind-address=127.0.0.1", f"--port={port}", f"--socket={socket_file}", f"--pid-file={folder}/pid",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--character-set-server=utf8mb4",
        ]
        with running(command, folder, port, 60, **account):

            def query(text: str, database: str = "shop") -> list[tuple[Any, ...]]:
                call = [client, "--no-defaults", f"--socket={socket_file}", "--user=root", "--batch", "--skip-column-names", "--raw", database, "--execute", text]
                done = subprocess.run(call, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
                return [tuple(None if v == "NULL" else v for v in line.split("\t")) for line in done.stdout.splitlines()]

            quoted = PASSWORD.replace("'", "''")
            query(f"CREATE DATABASE shop; CREATE USER tester@'%' IDENTIFIED BY '{quoted}'; GRANT ALL ON shop.* TO tester@'%'", "mysql")
            fields = {"conn_type": "mariadb", "host": "127.0.0.1", "port": port, "schema": "shop", "login": "tester", "password": PASSWORD}
            yield Server(fields, f"jdbc:mariadb://127.0.0.1:{port}/shop", query)


#: The broker that the tests start; the clients are those that Spark brings along.
KAFKA_BROKER = "org.apache.kafka:kafka_2.13:4.1.1"

_KAFKA_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=CLIENTS://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=CLIENTS://127.0.0.1:{port}
listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENTS
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.clients.plain.sasl.jaas.config={jaas}
log.dirs={folder}/logs
num.partitions=2
log.cleaner.enable=false
log.cleaner.dedupe.buffer.size=4194304
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""


@contextlib.contextmanager
def kafka() -> Iterator[Server]:
    """A single Kafka node in KRaft mode, which asks its clients for user and password; topics are made when they are first used."""
    import pyspark

    from sparquet_provider.core.jars import resolve

    # Spark's jars first: theirs is the one logger. Then the whole folder: resolve leaves out jars whose names Spark has, too,
    # and one of them (metrics-core) is another thing of the same name.
    path = f"{Path(pyspark.__file__).parent}/jars/*:{Path(resolve([KAFKA_BROKER])[0]).parent}/*"
    java = [shutil.which("java") or "java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path]
    with folder_for("kafka") as folder:
        port, controller = free_port(), free_port()
        password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
        jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="tester" password="{password}" user_tester="{password}";'
        file = folder / "server.properties"
        file.write_text(_KAFKA_PROPERTIES.format(port=port, controller=controller, folder=folder, jaas=jaas), encoding="utf-8")
        made = subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg", "--config", str(file)], capture_output=True, text=True, check=False,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        with running([*java, "kafka.Kafka", str(file)], folder, port, 60):
            extra = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
            yield Server({"conn_type": "kafka", "login": "tester", "password": PASSWORD, "extra": extra}, f"127.0.0.1:{port}", lambda *_: [])


@contextlib.contextmanager
def s3() -> Iterator[Server]:
    """An S3 endpoint (moto) with an empty bucket ``lake``."""
    import sys
    import urllib.request

    with folder_for("s3") as folder:
        port = free_port()
        with running([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], folder, port, 60):
            endpoint = f"http://127.0.0.1:{port}"
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/lake", method="PUT"), timeout=20).close()
            extra = {"endpoint_url": endpoint, "region_name": "us-east-1"}
            yield Server({"conn_type": "aws", "login": "AKIATESTER", "password": PASSWORD, "extra": extra}, endpoint, lambda *_: [])
