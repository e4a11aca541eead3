"""No run destroys what it reads: refused before anything is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.formats.places import Place, is_location, overlap
from sparquet_provider.core.lint import lint

ROWS = [(1, "a"), (2, "b")]
SCHEMA = "id INT, name STRING"


def problems(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


def linted(input: Any, *outputs: dict[str, Any], steps: Any = ()) -> list[tuple[str, str]]:
    source = {"format": "parquet", "path": input} if isinstance(input, str | list) else input
    tree = {"name": "p", "input": source, "transformations": list(steps), "outputs": [{"format": "parquet", **o} for o in outputs]}
    return [(p.code, p.at) for p in lint(tree)[1] if p.severity == "error"]


LOST = [("SOURCE_OVERWRITTEN", "/outputs/0/path")]


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("/data/x", "/data/x"), ("/data/x/", "file:///data//x"), ("/data/x", "/data/./y/../x"), ("/data/x/day=1", "/data/x"), ("/data/x", "/data/x/day=1"),
        ("/data/*", "/data/x"), ("/data/{x,y}/z", "/data/y"), ("/data/x*", "/data/x1/y"), ("s3://b/x", "s3a://b/x"), ("hdfs://nn/x", "/x"), (["/a", "/data/x"], "/data/x"),
    ],
)
def test_a_document_that_overwrites_its_source(read: Any, written: str) -> None:
    assert linted(read, {"path": written}) == LOST


@pytest.mark.parametrize(
    ("read", "output"),
    [
        ("/data/x", {"path": "/data/xy"}), ("/data/x", {"path": "/data/x", "mode": "append"}), ("/data/x", {"path": "/data/x", "mode": "error"}),
        ("s3://a/x", {"path": "s3://b/x"}), ("/data/*.csv", {"path": "/data/out"}), ("/data/{x,y}/z", {"path": "/data/w"}),
        ({"format": "delta", "path": "/data/x"}, {"format": "delta", "path": "/data/x"}), ({"format": "delta", "path": "sales.x"}, {"format": "delta", "path": "sales.x"}),
        ({"format": "view", "path": "x"}, {"path": "x"}),
    ],
)
def test_documents_that_are_safe(read: Any, output: dict[str, Any]) -> None:
    assert linted(read, output) == []


def test_sides_of_joins_and_inner_chains_are_sources_too() -> None:
    join = {"type": "join", "with": {"format": "csv", "path": "/ref/names"}, "on": "id"}
    assert linted("/data/x", {"path": "/ref"}, steps=[join]) == LOST
    assert linted("/data/x", {"path": "/out"}, {"path": "/ref/names", "transformations": [join]}) == [("SOURCE_OVERWRITTEN", "/outputs/1/path")]
    assert linted({"format": "delta", "path": "/data/x"}, {"path": "/data/x"}) == LOST


def test_sides_of_unions_and_sources_of_rules_are_sources_too() -> None:
    union = {"type": "union", "with": {"format": "csv", "path": "/ref/more"}}
    assert linted("/data/x", {"path": "/ref/more"}, steps=[union]) == LOST
    rule = {"type": "foreign_key", "column": "id", "source": {"format": "csv", "path": "/ref/names"}, "source_columns": ["id"]}
    document = {
        "name": "p", "input": {"format": "csv", "path": "/data/x"}, "validations": {"rules": [rule]}, "output": {"format": "csv", "path": "/ref/names"},
    }
    assert [(p.code, p.at) for p in lint(document)[1]] == [("SOURCE_OVERWRITTEN", "/output/path")]


def test_dynamic_overwrite_of_the_source_is_refused_too() -> None:
    assert linted("/data/x", {"path": "/data/x", "partition_by": ["k"], "options": {"partitionOverwriteMode": "dynamic"}}) == LOST


def test_destinations_that_collide() -> None:
    hit = [("OUTPUTS_COLLIDE", "/outputs/1/path")]
    assert linted("/in", {"path": "/a"}, {"path": "/a"}) == hit
    assert linted("/in", {"path": "/a/b"}, {"path": "/a", "format": "csv"}) == hit
    assert linted("/in", {"path": "/a"}, {"path": "/a", "mode": "append"}) == []
    assert linted("/in", {"path": "s.t", "format": "delta"}, {"path": "S.T", "format": "delta"}) == hit
    assert linted("/in", {"path": "s.t", "format": "delta"}, {"path": "s.u", "format": "delta"}) == []
    part = {"path": "/a", "partition_by": ["k"], "options": {"partitionOverwriteMode": "dynamic"}}
    assert linted("/in", part, part) == []


# --- while running -------------------------------------------------------------------------------------------------
def _untouched(house) -> None:
    assert sorted((tuple(r) for r in house.spark.read.parquet(house.path("in")).collect()), key=str) == ROWS


@pytest.fixture
def filled(house):
    house.spark.createDataFrame(ROWS, SCHEMA).write.parquet(house.path("in"))
    return house


def test_through_an_injected_frame(filled) -> None:
    document = {"name": "p", "input": {"format": "view", "path": "x"}, "output": {"format": "parquet", "path": filled.path("in")}}
    result = Sparquet(filled.spark).run_from_dict(document, input_df=filled.spark.read.parquet(filled.path("in")))
    assert problems(result) == [("SOURCE_OVERWRITTEN", "/output/path")]
    _untouched(filled)


def test_through_a_view_a_join_and_a_subquery(filled) -> None:
    spark = filled.spark
    spark.read.parquet(filled.path("in")).createOrReplaceTempView("seen_elsewhere")
    other = {"format": "csv", "path": filled.text("b.csv", "id\n1\n")}
    out = {"format": "parquet", "path": filled.path("in")}
    first = {"format": "parquet", "path": filled.path("first")}
    assert problems(filled.copy({"format": "view", "path": "seen_elsewhere"}, out)) == [("SOURCE_OVERWRITTEN", "/output/path")]
    joined = [{"type": "join", "with": {"format": "view", "path": "seen_elsewhere"}, "on": "id"}]
    result = Sparquet(spark).run_from_dict({"name": "p", "input": other, "transformations": joined, "outputs": [first, out]})
    assert problems(result) == [("SOURCE_OVERWRITTEN", "/outputs/1/path")]
    assert not Path(filled.path("first")).exists()  # refused before the first is written
    if filled.classic:
        inner = [{"type": "filter", "condition": "id IN (SELECT id FROM seen_elsewhere)"}]
        assert problems(filled.copy(other, out, inner)) == [("SOURCE_OVERWRITTEN", "/output/path")]
    _untouched(filled)


def test_by_another_spelling_of_the_path(filled) -> None:
    if filled.classic:
        result = filled.copy({"format": "parquet", "path": filled.path("in")}, {"format": "parquet", "path": os.path.relpath(filled.path("in"))})
        assert problems(result) == [("SOURCE_OVERWRITTEN", "/output/path")]
    result = filled.copy({"format": "parquet", "path": filled.path("in") + "/part-*"}, {"format": "parquet", "path": "file://" + filled.path("in")})
    assert problems(result) == [("SOURCE_OVERWRITTEN", "/output/path")]
    _untouched(filled)


# --- places --------------------------------------------------------------------------------------------------------
def test_what_is_a_location_and_what_a_table() -> None:
    assert [p for p in ("/a", "a/b", "s3a://b/x", "dbfs:/x", "delta.`/a b`") if not is_location(p)] == []
    assert [p for p in ("a", "a.b", "a.b.c", "`a b`.c") if is_location(p)] == []
    assert Place.of("sales.`or.ders`").sql == "`sales`.`or.ders`" and Place.of("/a`b").sql == "delta.`/a``b`" and Place.of("delta.`/a b`").location == "/a b"
    for wrong in ("a.", ".a", "a..b", " "):
        with pytest.raises(ValueError, match="neither a location nor a table name"):
            Place.of(wrong)


def test_relative_and_absolute_paths_are_left_to_the_run() -> None:
    assert not overlap("a/b", "/a/b") and overlap("a/b", "./a/b/c")


@pytest.mark.classic_only("Connect does not reach the disks of the server")
@pytest.mark.parametrize(("read", "written"), [("link", "real"), ("real", "link"), ("link", "real/part"), ("above/real", "real")])
def test_a_symbolic_link_hides_no_source(house, read: str, written: str) -> None:
    house.write(ROWS, SCHEMA, {"format": "parquet", "path": house.path("real")})
    Path(house.path("link")).symlink_to(house.path("real"))
    Path(house.path("above")).symlink_to(Path(house.path("real")).parent)
    result = house.copy({"format": "parquet", "path": house.path(read)}, {"format": "parquet", "path": house.path(written)}, [{"type": "filter", "condition": "id < 2"}])
    assert problems(result) == [("SOURCE_OVERWRITTEN", "/output/path")]
    assert house.rows("parquet", house.path("real")) == ROWS and Path(house.path("link")).is_symlink()
