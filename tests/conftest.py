"""Shared fixtures: one Spark session for the whole run, with Delta and Iceberg."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


@pytest.fixture(scope="session")
def jars() -> list[str]:
    """The connector jars, from the cache or fetched once."""
    from sparquet_provider.core.jars import DELTA, ICEBERG, resolve

    return resolve([DELTA, ICEBERG])


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the session's tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def session_conf(jars: list[str], warehouse: Path) -> dict[str, str]:
    """The settings of the shared session (and of the Connect server)."""
    return {
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


@pytest.fixture(scope="session")
def spark(session_conf: dict[str, str], tmp_path_factory: pytest.TempPathFactory):
    """The classic Spark session of this test run."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sparquet-tests")
    for key, value in session_conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
