"""Which settings a submission gets, layer by layer."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core.jars import DELTA, ICEBERG
from sparquet_provider.hooks.settings import QUICK_START, cores, formats, is_local, settle

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG = "spark.sql.catalog.spark_catalog"


def document(format: str = "parquet", **spark: Any) -> dict[str, Any]:
    return {"name": "orders", "spark": spark, "input": {"format": "csv", "path": "/in"}, "output": {"format": format, "path": "/out"}}


def test_a_local_master_gets_small_defaults() -> None:
    assert settle(document(), master="local[2]").conf == {
        "spark.ui.enabled": "false", "spark.log.level": "WARN", "spark.databricks.delta.snapshotPartitions": "2", "spark.sql.shuffle.partitions": "4",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    }
    assert settle(document(), master="local[16]").conf["spark.sql.shuffle.partitions"] == "16"
    assert settle(document(), master="yarn").conf == {}


def test_the_operator_wins_over_the_document_and_that_over_defaults() -> None:
    tree = document(configs={"spark.sql.shuffle.partitions": 9, "spark.x": "doc", "spark.y": "doc"})
    conf = settle(tree, master="local", conf={"spark.x": "own", "spark.ui.enabled": True}).conf
    assert (conf["spark.sql.shuffle.partitions"], conf["spark.x"], conf["spark.y"], conf["spark.ui.enabled"]) == ("9", "own", "doc", "true")


def test_the_clusters_own_files_win_over_defaults_only() -> None:
    base = {"spark.sql.shuffle.partitions": "50", "spark.x": "base"}
    conf = settle(document(configs={"spark.x": "doc"}), master="local", base=base).conf
    assert "spark.sql.shuffle.partitions" not in conf
    assert conf["spark.x"] == "doc"


def test_none_removes_a_setting_also_a_default() -> None:
    conf = settle(document(configs={"spark.x": 1}), master="local", conf={"spark.x": None, "spark.ui.enabled": None}).conf
    assert "spark.x" not in conf
    assert "spark.ui.enabled" not in conf


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), (8, "8"), (0.5, "0.5"), (["a", 1], "a,1"), ("x=y", "x=y"), ("", "")])
def test_every_value_becomes_text(value: Any, text: str) -> None:
    assert settle(document(), master="yarn", conf={"spark.v": value}).conf == {"spark.v": text}


def test_a_value_without_text_form_is_named() -> None:
    with pytest.raises(ValueError, match="spark.v has the value"):
        settle(document(), master="yarn", conf={"spark.v": {"a": 1}})


@pytest.mark.parametrize(("own", "spark", "name"), [
    (None, {}, "orders"), (None, {"app_name": "Doc"}, "Doc"), ("Own", {"app_name": "Doc"}, "Own"),
])
def test_the_name(own: str | None, spark: dict[str, Any], name: str) -> None:
    assert settle(document(**spark), master="yarn", name=own).name == name


def test_delta_on_a_local_master_brings_the_tested_package_and_its_settings() -> None:
    found = settle(document("DELTA"), master="local[2]")
    assert found.packages == [DELTA]
    assert found.conf["spark.sql.extensions"] == DELTA_EXTENSION
    assert found.conf[CATALOG] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_iceberg_gets_no_catalog_since_its_name_is_the_users() -> None:
    found = settle(document("iceberg"), master="local[2]")
    assert found.packages == [ICEBERG]
    assert found.conf["spark.sql.extensions"] == ICEBERG_EXTENSION
    assert not any(".catalog." in key for key in found.conf)


def test_a_cluster_keeps_its_own_packages() -> None:
    found = settle(document("delta"), master="spark://m:7077")
    assert found.packages == []
    assert found.conf == {"spark.sql.extensions": DELTA_EXTENSION, CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog"}


@pytest.mark.parametrize("given", [
    {"packages": "io.delta:delta-spark_4.1_2.13:4.9.9"},
    {"conf": {"spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.9.9"}},
])
def test_a_package_of_the_user_is_used_alone(given: dict[str, Any]) -> None:
    found = settle(document("delta"), master="local", **given)
    assert found.packages == ["io.delta:delta-spark_4.1_2.13:4.9.9"]
    assert "spark.jars.packages" not in found.conf


@pytest.mark.parametrize("given", [
    {"auto_packages": False}, {"installed": ["delta-spark_4.1_2.13-4.3.1.jar"]}, {"base": {"spark.jars": "/x/delta-spark_2.13.jar"}},
    {"conf": {"spark.driver.extraClassPath": "/opt/delta-spark_4.1_2.13-4.3.1.jar"}},
])
def test_no_package_is_added_when_the_connector_is_there_or_not_wanted(given: dict[str, Any]) -> None:
    assert settle(document("delta"), master="local", **given).packages == []


def test_packages_of_all_places_meet() -> None:
    tree = document(configs={"spark.jars.packages": "g:b:1, g:c:1"})
    assert settle(tree, master="yarn", packages="g:d:1,g:b:1", base={"spark.jars.packages": "g:a:1"}).packages == ["g:a:1", "g:b:1", "g:c:1", "g:d:1"]


def test_a_users_extensions_and_catalog_stay() -> None:
    found = settle(document("delta", configs={"spark.sql.extensions": "my.Ext"}), master="local", conf={CATALOG: "my.Catalog"})
    assert (found.conf["spark.sql.extensions"], found.conf[CATALOG]) == ("my.Ext", "my.Catalog")


def test_both_formats_share_the_extensions() -> None:
    tree = {**document("delta"), "input": {"format": "iceberg", "path": "lake.db.t"}}
    assert settle(tree, master="local").conf["spark.sql.extensions"] == f"{DELTA_EXTENSION},{ICEBERG_EXTENSION}"


def test_quick_start_adds_to_the_users_options() -> None:
    conf = settle(document(), master="local", conf={"spark.driver.extraJavaOptions": "-Xmx1g"}, quick_start=True).conf
    assert conf["spark.driver.extraJavaOptions"] == f"-Xmx1g {QUICK_START}"
    assert "spark.driver.extraJavaOptions" not in settle(document(), master="local").conf


def test_formats_are_found_everywhere() -> None:
    tree = {"input": {"format": "CSV"}, "transformations": [{"type": "join", "with": {"format": "delta"}}], "validations": {"report": {"format": "json"}}}
    assert formats(tree) == {"csv", "delta", "json"}


def test_masters() -> None:
    assert [is_local(m) for m in ("local", "local[2]", "local[*]", "yarn", "spark://local:7077", "localhost:7077")] == [True] * 3 + [False] * 3
    assert (cores("local"), cores("local[3]"), cores("local[3,2]")) == (1, 3, 3)


# --- packages of every format ----------------------------------------------------------------------------------------
def test_packages_of_formats_and_drivers_by_the_type_of_a_connection() -> None:
    tree = {
        "name": "x", "input": {"format": "avro", "path": "/a"},
        "outputs": [{"format": "jdbc", "connection": "shop", "path": "t"}, {"format": "jdbc", "options": {"url": "jdbc:sqlserver://h"}, "path": "t"}],
    }

    def artifacts(**more: Any) -> list[str]:
        return [p.split(":")[1] for p in settle(tree, **{"master": "local[2]", "kind_of": {"shop": "postgres"}.get, **more}).packages]

    assert artifacts() == ["spark-avro_2.13", "postgresql", "mssql-jdbc"]
    assert artifacts(installed=["postgresql-42.7.8.jar", "spark-avro_2.13-4.1.1.jar"]) == ["mssql-jdbc"], "what is there is not fetched"
    assert artifacts(master="yarn") == artifacts(auto_packages=False) == []
