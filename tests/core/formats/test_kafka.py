"""Kafka against a real broker in KRaft mode, with user and password."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from tests import servers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker(jars: list[str]) -> Iterator[servers.Server]:
    with servers.kafka() as server:
        yield server


class Topics:
    def __init__(self, house: Any, broker: servers.Server) -> None:
        self.house = house
        self.sparquet = Sparquet(house.spark, connections={"k": broker.connection})

    def write(self, rows: list[tuple[Any, ...]], schema: str, topic: str, steps: Any = (), **options: Any) -> Any:
        output = {"format": "kafka", "path": topic, "mode": "append", "connection": "k", "options": options, "transformations": list(steps)}
        frame = self.house.spark.createDataFrame(rows, schema)
        return self.sparquet.run_from_dict({"name": "w", "input": {"format": "view", "path": "x"}, "output": output}, input_df=frame)

    def read(self, topic: Any, columns: tuple[str, ...] = ("key", "value"), **options: Any) -> tuple[Any, list[tuple[Any, ...]]]:
        view = f"v{uuid.uuid4().hex}"
        document = {
            "name": "r", "input": {"format": "kafka", "path": topic, "connection": "k", "options": options},
            "transformations": [{"type": "collect", "column": "offset", "as": "offsets", "max_values": 100}], "output": {"format": "view", "path": view},
        }
        result = self.sparquet.run_from_dict(document)
        return result, sorted((tuple(r) for r in self.house.spark.table(view).select(*columns).collect()), key=str) if result.success else []


@pytest.fixture
def topics(house: Any, broker: servers.Server) -> Topics:
    return Topics(house, broker)


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


def test_rows_become_json_and_come_back_as_text(topics: Topics, topic: str) -> None:
    result = topics.write([(1, "é"), (2, None)], "id INT, name STRING", topic, key="id")
    assert (result.success, result.rows_written) == (True, 2), result.message
    read, rows = topics.read(topic)
    assert [(key, json.loads(value)) for key, value in rows] == [("1", {"id": 1, "name": "é"}), ("2", {"id": 2, "name": None})]
    assert read.rows_read == 2 if topics.house.classic else read.rows_read is None


def test_a_frame_with_key_and_value_is_written_as_it_is(topics: Topics, topic: str) -> None:
    assert topics.write([("a", "x"), (None, "y")], "key STRING, value STRING", topic).rows_written == 2
    assert topics.read(topic)[1] == [("a", "x"), (None, "y")]
    raw = topics.read(topic, raw=True)[1]
    assert sorted(bytes(value) for _, value in raw) == [b"x", b"y"]


def test_columns_that_would_be_lost_are_refused(topics: Topics, topic: str) -> None:
    result = topics.write([("x", 1)], "value STRING, amount INT", topic)
    assert [p.code for p in result.problems] == ["INVALID_COMBINATION"] and "amount" in result.message
    assert [p.at for p in topics.write([(1,)], "id INT", topic, key="idd").problems] == ["/output/options/key"]


def test_offsets_bound_a_read(topics: Topics, topic: str) -> None:
    schema = "value STRING, partition INT"
    topics.write([(f"v{i}", 0) for i in range(5)], schema, topic)
    offsets = {"startingOffsets": {topic: {"0": 1, "1": 0}}, "endingOffsets": {topic: {"0": 4, "1": 0}}}
    assert [offset for offset, in topics.read(topic, ("offset",), **offsets)[1]] == [1, 2, 3]
    other = f"{topic}b"
    topics.write([("w", 0)], schema, other)
    assert len(topics.read([topic, other], ("value",))[1]) == 6


def test_a_wrong_password_is_an_error_without_it(topics: Topics, broker: servers.Server, topic: str) -> None:
    topics.sparquet = Sparquet(topics.house.spark, connections={"k": {**broker.connection, "password": "wrong-password"}})
    result = topics.write([("x",)], "value STRING", topic)
    assert result.status == "failed" and "wrong-password" not in str(result.to_dict())
    assert [p.code for p in result.problems] == ["LOGIN_REFUSED"], result.message
