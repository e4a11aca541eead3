"""Shared fixtures: one Spark session for the whole run, with Delta and Iceberg."""

from __future__ import annotations

import atexit
import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.servers import free_port, wait_for_port

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


@pytest.fixture(scope="session")
def jars() -> list[str]:
    """The connector jars, from the cache or fetched once: all that any test needs, since there is one session."""
    from sparquet_provider.core.formats.dialects import MariaDB, PostgreSQL
    from sparquet_provider.core.jars import AVRO, DELTA, HADOOP_AWS, ICEBERG, KAFKA, resolve

    # hadoop-aws asks for all of AWS in one jar of 640 MB; these three modules are what S3 needs.
    aws = [HADOOP_AWS, *(f"software.amazon.awssdk:{module}:2.29.52" for module in ("s3", "s3-transfer-manager", "sts"))]
    connectors = resolve([DELTA, ICEBERG, AVRO, KAFKA, str(PostgreSQL.package), str(MariaDB.package)])
    return [*connectors, *resolve(aws, exclude=["software.amazon.awssdk:bundle", "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3"])]


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Server]:
    """A PostgreSQL server for all tests of this run."""
    with servers.postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[servers.Server]:
    """A MariaDB server for all tests of this run."""
    with servers.mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the session's tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def session_conf(jars: list[str], warehouse: Path) -> dict[str, str]:
    """The settings of the shared session (and of the Connect server)."""
    from sparquet_provider.hooks.settings import QUICK_START

    return {
        # The quick compiler's own share of memory for code is for short jobs: a run of all tests would fill it.
        "spark.driver.extraJavaOptions": f"{QUICK_START} -XX:ReservedCodeCacheSize=240m",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(jars),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(warehouse / "lake"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
    }


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=("classic", "connect"), default="classic", help="the kind of Spark session that the fixture `spark` gives")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "classic_only(reason): needs what only a classic session has; not run with --engine connect")
    if config.getoption("--engine") == "connect":
        # pyspark decides by this variable, once for the process, which kind of column `F.col` makes.
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--engine") == "connect":
        left = [i for i in items if i.get_closest_marker("classic_only")]
        config.hook.pytest_deselected(items=left)
        items[:] = [i for i in items if not i.get_closest_marker("classic_only")]


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, session_conf: dict[str, str], tmp_path_factory: pytest.TempPathFactory):
    """The Spark session of this test run: classic, or with ``--engine connect`` one on a server started here."""
    if request.config.getoption("--engine") == "connect":
        yield from _connect_session(session_conf, tmp_path_factory.mktemp("connect"))
        return
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sparquet-tests")
    for key, value in session_conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def _connect_session(conf: dict[str, str], folder: Path):
    import pyspark
    from pyspark.sql import SparkSession

    port = free_port()
    settings = {**conf, "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    command = [f"{Path(pyspark.__file__).parent}/bin/spark-submit", "--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")] + ["spark-internal"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_CONNECT")}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        wait_for_port(port, 120, server)
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        yield session
        session.stop()
    finally:
        server.terminate()
        server.wait(30)


# --- Airflow -------------------------------------------------------------------------------------------------------
# Set before anything imports airflow: its own home, no examples, no plugins of this machine.
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="sparquet-airflow-"))
atexit.register(shutil.rmtree, AIRFLOW_HOME, ignore_errors=True)
for _folder in ("dags", "plugins", "logs"):
    (AIRFLOW_HOME / _folder).mkdir()
os.environ.update({
    "AIRFLOW_HOME": str(AIRFLOW_HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
    "AIRFLOW__CORE__DAGS_FOLDER": str(AIRFLOW_HOME / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(AIRFLOW_HOME / "plugins"),
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{AIRFLOW_HOME}/airflow.db",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    # Otherwise each process makes a key of its own, and none can read the connections that another one stored.
    "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(b"one key for every process here!!").decode(),
    "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
})


@pytest.fixture(scope="session")
def airflow_db() -> Path:
    """Airflow's metadata database, made once; needed by ``dag.test()``."""
    from airflow.utils.db import initdb

    initdb()
    return AIRFLOW_HOME
