"""Files and Delta tables on an S3 endpoint (moto), by ``s3a://`` and a connection.

The whole AWS bundle that hadoop-aws asks for has 640 MB; the three modules that S3 needs do the same here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from tests import servers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(jars: list[str]) -> Iterator[servers.Server]:
    with servers.s3() as server:
        yield server


class Lake:
    def __init__(self, house: Any, store: servers.Server) -> None:
        self.house = house
        self.sparquet = Sparquet(house.spark, connections={"lake": store.connection, "other": {**store.connection, "login": "AKIAOTHER"}, "pg": {"conn_type": "postgres"}})

    def write(self, rows: list[tuple[Any, ...]], output: dict[str, Any]) -> Any:
        frame = self.house.spark.createDataFrame(rows, "id INT, name STRING")
        document = {"name": "w", "input": {"format": "view", "path": "x"}, "output": {"connection": "lake", **output}}
        return self.sparquet.run_from_dict(document, input_df=frame)

    def copy(self, source: dict[str, Any], output: dict[str, Any]) -> Any:
        steps = [{"type": "drop", "columns": ["ingestion_ts"]}]
        return self.sparquet.run_from_dict({"name": "c", "input": source, "transformations": steps, "output": output})


@pytest.fixture
def lake(house: Any, store: servers.Server) -> Lake:
    return Lake(house, store)


@pytest.mark.parametrize("format", ["parquet", "csv", "delta"])
def test_rows_go_there_and_come_back(lake: Lake, format: str) -> None:
    place = {"format": format, "path": f"s3a://lake/{format}/orders"}
    assert lake.write([(1, "old")], {**place, "mode": "overwrite"}).success
    written = lake.write([(1, "a"), (2, "b")], {**place, "mode": "overwrite"})
    assert (written.success, written.rows_written) == (True, 2), written.message
    out = lake.house.path(f"{format}_back")
    read = lake.copy({**place, "connection": "lake"}, {"format": "parquet", "path": out})
    assert read.rows_written == 2, read.message
    assert sorted(tuple(r) for r in lake.house.spark.read.parquet(out).collect()) == [(1, "a"), (2, "b")]


def test_a_driver_puts_its_result_there(lake: Lake, store: servers.Server) -> None:
    from sparquet_provider.core.__main__ import write_once
    from sparquet_provider.core.connections import Connection
    from sparquet_provider.core.formats.logins import aws_login

    settings = lake.house.spark._jsc.hadoopConfiguration()
    login = {f"fs.s3a.{key}": value for key, value in aws_login(Connection.of("lake", store.connection)).items()}
    for key, value in {**login, "fs.s3a.path.style.access": "true"}.items():
        settings.set(key, value)
    try:
        write_once({"attempt": "one", "nan": float("nan"), "name": "preço"}, "s3a://lake/exchange/one/result.json")
        found = lake.house.spark.read.json("s3a://lake/exchange/one").collect()
    finally:
        for key in (*login, "fs.s3a.path.style.access"):
            settings.unset(key)
    assert [(r.attempt, r.nan, r.name) for r in found] == [("one", None, "preço")]


def test_the_login_ends_with_the_run_and_is_not_shown(lake: Lake) -> None:
    result = lake.write([(1, "a")], {"format": "parquet", "path": "s3a://lake/hidden", "mode": "append"})
    assert result.success and servers.PASSWORD not in str(result.to_dict())
    settings = lake.house.spark.sql("SET").collect()
    assert not [row for row in settings if "fs.s3a.bucket" in row[0] or servers.PASSWORD in str(row[1])]


def test_a_missing_place_and_one_that_is_overwritten_from_itself(lake: Lake) -> None:
    missing = lake.copy({"format": "parquet", "path": "s3a://lake/nowhere", "connection": "lake"}, {"format": "parquet", "path": lake.house.path("x")})
    assert [p.code for p in missing.problems] == ["SOURCE_NOT_FOUND"], missing.message
    lake.write([(1, "a")], {"format": "parquet", "path": "s3a://lake/self", "mode": "append"})
    block = {"format": "parquet", "path": "s3a://lake/self", "connection": "lake"}
    assert [p.code for p in lake.copy(block, block).problems] == ["SOURCE_OVERWRITTEN"]


def test_what_the_connection_cannot_do(lake: Lake) -> None:
    faults = {
        ("CONNECTION_TYPE", "/output/connection"): {"format": "parquet", "path": "s3a://lake/t", "connection": "pg"},
        ("INVALID_COMBINATION", "/output/path"): {"format": "parquet", "path": lake.house.path("t")},
    }
    for expected, output in faults.items():
        assert [(p.code, p.at) for p in lake.write([(1, "a")], output).problems] == [expected]
    two = {"name": "x", "input": {"format": "parquet", "path": "s3a://lake/self", "connection": "lake"}, "output": {"format": "csv", "path": "s3a://lake/t", "connection": "other"}}
    assert [(p.code, p.at) for p in lake.sparquet.run_from_dict(two).problems] == [("INVALID_COMBINATION", "/output/connection")]
