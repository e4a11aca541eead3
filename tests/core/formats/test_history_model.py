"""Random batches in the modes ``historical`` and ``snapshot_soft_delete``, against a model of a few lines."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparquet_provider.core import Sparquet

SCHEMA = "id INT, name STRING, at TIMESTAMP"
START = dt.datetime(2026, 1, 1)

keys = st.one_of(st.none(), st.integers(1, 3))
names = st.one_of(st.none(), st.sampled_from(["", "a", "b"]))
versions = st.dictionaries(st.tuples(keys, st.integers(0, 5)), names, max_size=6)
snapshots = st.dictionaries(keys, names, min_size=1, max_size=4)
few = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


class History:
    """The versions of each key, in order: (start, name); a row that is late is counted."""

    def __init__(self) -> None:
        self.kept: dict[Any, list[tuple[int, Any]]] = {}
        self.late = 0

    def take(self, batch: dict[tuple[Any, int], Any]) -> None:
        newest = {key: kept[-1][0] for key, kept in self.kept.items()}
        self.late = 0
        for (key, start), name in sorted(batch.items(), key=lambda item: item[0][1]):
            held = [n for s, n in self.kept.setdefault(key, []) if s <= start]
            if held and held[-1] == name:
                continue
            if key in newest and start <= newest[key]:
                self.late += 1
            else:
                self.kept[key].append((start, name))

    def rows(self) -> list[tuple[Any, ...]]:
        found = []
        for key, kept in self.kept.items():
            ends = [*(s for s, _ in kept[1:]), None]
            found += [(key, name, s, end, end is None) for (s, name), end in zip(kept, ends, strict=True)]
        return sorted(found, key=str)


def write(spark: Any, format: str, mode: str, rows: list[tuple[Any, ...]], place: str, **options: Any) -> Any:
    output = {"format": format, "path": place, "mode": mode, "options": {"merge_keys": ["id"], **options}}
    document = {"name": "p", "input": {"format": "view", "path": "unused"}, "output": output}
    result = Sparquet(spark).run_from_dict(document, input_df=spark.createDataFrame(rows, SCHEMA))
    assert result.success, result.message
    return result


def place_of(format: str, folder: Any) -> str:
    name = f"t{uuid.uuid4().hex[:12]}"
    return f"lake.db.{name}" if format == "iceberg" else str(folder / name)


def table(spark: Any, format: str, place: str) -> Any:
    return spark.table(place) if format == "iceberg" else spark.read.format("delta").load(place)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@given(batches=st.lists(versions, min_size=2, max_size=3))
@few
def test_history_is_what_the_model_says(spark, tmp_path_factory, format: str, batches: list[Any]) -> None:
    place, model = place_of(format, tmp_path_factory.mktemp("model")), History()
    for batch in [*batches, batches[-1]]:
        rows = [(key, name, START + dt.timedelta(days=day)) for (key, day), name in batch.items()]
        result = write(spark, format, "historical", rows, place, effective_from="at")
        model.take(batch)
        assert result.outputs[0].details.get("rows_late", 0) == model.late
        found = table(spark, format, place).select("id", "name", "valid_from", "valid_to", "is_current").collect()
        days = [(r[0], r[1], (r[2] - START).days, (r[3] - START).days if r[3] else None, r[4]) for r in found]
        assert sorted(days, key=str) == model.rows()
    assert result.rows_written == 0


@pytest.mark.slow
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@given(batches=st.lists(snapshots, min_size=2, max_size=3))
@few
def test_snapshots_are_what_the_model_says(spark, tmp_path_factory, format: str, batches: list[Any]) -> None:
    place = place_of(format, tmp_path_factory.mktemp("model"))
    model: dict[Any, tuple[Any, bool]] = {}
    for batch in [*batches, batches[-1]]:
        result = write(spark, format, "snapshot_soft_delete", [(key, name, START) for key, name in batch.items()], place)
        model = {key: (name, True) for key, (name, _) in model.items()} | {key: (name, False) for key, name in batch.items()}
        found = table(spark, format, place).select("id", "name", "is_deleted", "deleted_at").collect()
        assert sorted(((r[0], r[1], r[2]) for r in found), key=str) == sorted(((k, n, d) for k, (n, d) in model.items()), key=str)
        assert all((r[3] is not None) == r[2] for r in found)
    assert result.rows_written == 0
