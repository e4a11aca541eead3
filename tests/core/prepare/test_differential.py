"""Shapes against the oracle: random nested documents and random blocks that fit them, many in one job.

``SPARQUET_CAMPAIGN=2000`` tries that many blocks with a new seed (printed; ``SPARQUET_SEED`` repeats it).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sparquet_provider.core.context import Run
from sparquet_provider.core.engine import Engine
from sparquet_provider.core.prepare.shape import Shape
from sparquet_provider.core.registry import Registry
from sparquet_provider.core.spec import Parse
from tests.core.prepare import oracle
from tests.core.prepare.oracle import Collision, Frame, Type, ddl, is_array, is_struct, paths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CAMPAIGN = int(os.environ.get("SPARQUET_CAMPAIGN", "0"))
EXAMPLES = CAMPAIGN or 60
SEED = int(os.environ.get("SPARQUET_SEED", "0")) or (random.SystemRandom().randrange(1, 10**9) if CAMPAIGN else 1)
TOGETHER = 20
SHOWN = 3

NAMES = ["a", "b", "Order Id", "preço", "select", "a.b", "items", "É", "x~/y", "tag_1", "it's", "order"]
TEXTS = ["", "7", " 8 ", "x", "1.5", "É", "99999999999", "-3", "true", 'q"\\']
SIMPLE = ["int", "string", "boolean"]


class Example(NamedTuple):
    """Rows, a block, the types behind its schemas, and what should come out."""

    given: Frame
    block: dict[str, Any]
    expected: Frame


# --- drawing ------------------------------------------------------------------------------------------------------------
def _types(depth: int, kinds: str = "sax") -> st.SearchStrategy[Type]:
    options: list[st.SearchStrategy[Type]] = [st.sampled_from(SIMPLE)] if "x" in kinds else []
    if depth and "s" in kinds:
        options.append(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.casefold).flatmap(
            lambda names: st.tuples(*[_types(depth - 1) for _ in names]).map(lambda inner: {"struct": dict(zip(names, inner, strict=True))})
        ))
    if depth and "a" in kinds:
        options.append(_types(depth - 1, "ssx" if depth > 1 else "x").map(lambda inner: {"array": inner}))
    return st.one_of(options)


def _values(kind: Type) -> st.SearchStrategy[Any]:
    if is_array(kind):
        found: st.SearchStrategy[Any] = st.lists(_values(kind["array"]), max_size=3)
    elif is_struct(kind):
        found = st.fixed_dictionaries({name: _values(inner) for name, inner in kind["struct"].items()})
    else:
        found = {"int": st.integers(-3, 300), "string": st.sampled_from(TEXTS), "boolean": st.booleans()}[kind]
    return st.integers(0, 6).flatmap(lambda n: found if n else st.none())


@st.composite
def _json(draw: Any, kind: Type) -> str | None:
    """A text for parse_json: mostly right, sometimes not JSON, of another type, or with one value of a wrong type."""
    special = draw(st.integers(0, 12))
    if special < 6:
        return [None, "", "  ", "null", "{bad", "[1]"][special]
    value = draw(_values(kind).filter(lambda v: v is not None))
    if special < 8:
        _spoil(value, kind)
    if special == 8 and isinstance(value, dict):
        value = {"unknown": [1], **{k: v for k, v in list(value.items())[1:]}}
    if special == 9 and isinstance(value, list) and value and value[0] is not None:
        value = value[0]
    return json.dumps(value, ensure_ascii=False)


def _spoil(value: Any, kind: Type) -> bool:
    """Put a text where the first number or truth value is; only below structs, for that is where a part stays readable."""
    if is_struct(kind) and isinstance(value, dict):
        for name, inner in kind["struct"].items():
            if inner in ("int", "boolean"):
                value[name] = "zz"
                return True
            if _spoil(value[name], inner):
                return True
    return is_array(kind) and isinstance(value, list) and is_struct(kind["array"]) and any(_spoil(v, kind["array"]) for v in value)


@st.composite
def _examples(draw: Any) -> Example:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.casefold))
    schema = {name: draw(_types(4, "ssaax")) for name in names}
    columns = {name: _values(kind) for name, kind in schema.items()}
    block: dict[str, Any] = {}
    kinds: dict[str, Type] = {}
    if draw(st.booleans()):
        kind = draw(_types(3, "s").flatmap(lambda t: st.sampled_from([t, t, {"array": t}])))
        schema["raw"], columns["raw"] = "string", _json(kind)
        entry = {"column": "raw", "schema": ddl(kind), **draw(st.sampled_from([{}, {"alias": "payload"}, {"alias": "payload", "drop_source": True}]))}
        block["parse_json"], kinds[entry["schema"]] = [entry], kind
    rows = draw(st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=4))
    given_frame = Frame(schema, rows)
    frame = oracle.shaped(given_frame, block, kinds)
    for part in (_flatten, _zip, _arrays, _columns):
        frame = part(draw, frame, block)
    arrays = draw(st.permutations(block["arrays"])) if "arrays" in block else None
    return Example(given_frame, {**block, **({"arrays": list(arrays)} if arrays else {})}, frame)


def _flatten(draw: Any, frame: Frame, block: dict[str, Any]) -> Frame:
    structs = [name for name, kind in frame.schema.items() if is_struct(kind)]
    if not structs or draw(st.booleans()):
        return frame
    entry: dict[str, Any] = {"separator": draw(st.sampled_from(["_", "__", " - "])), "max_depth": draw(st.integers(1, 4))}
    if draw(st.booleans()):
        entry["include"] = draw(st.lists(st.sampled_from(structs), min_size=1, max_size=2, unique=True))
    inner = [path for path, kind in paths(frame.schema) if is_struct(kind)]
    if inner and draw(st.booleans()):
        entry["exclude"] = [draw(st.sampled_from(inner))]
    return _added(frame, block, lambda: oracle.flatten(frame, entry), flatten=entry)


def _zip(draw: Any, frame: Frame, block: dict[str, Any]) -> Frame:
    arrays = [path for path, kind in paths(frame.schema) if is_array(kind)]
    if len(arrays) < 2 or draw(st.booleans()):
        return frame
    chosen = draw(st.lists(st.sampled_from(arrays), min_size=2, max_size=3, unique=True))
    entry = {"alias": "zipped", "columns": {path: f"{NAMES[i]}" for i, path in enumerate(chosen)}}
    return _added(frame, block, lambda: oracle.zip_arrays(frame, entry), zip_arrays=[entry])


def _arrays(draw: Any, frame: Frame, block: dict[str, Any]) -> Frame:
    for number in range(draw(st.integers(0, 4))):
        found = [(path, kind) for path, kind in paths(frame.schema) if is_array(kind)]
        if not found or len(frame.rows) > 60:
            break
        path, kind = draw(st.sampled_from(found))
        entry: dict[str, Any] = {"path": path, "mode": draw(st.sampled_from(["explode", "explode_outer", "explode_outer", "first", "size", "to_json", "keep"]))}
        # An array that is replaced by an array would be another one for whoever reads it later.
        if draw(st.integers(0, 3)) or is_array(kind["array"]) or entry["mode"] == "keep" or "." in path:
            entry["alias"] = f"r{number}"
        elif any(e["path"].startswith(path) for e in block.get("arrays", [])):
            continue
        if entry["mode"].startswith("explode"):
            entry["allow_cartesian"] = True
        frame = _added(frame, block, lambda entry=entry, frame=frame: oracle.array(frame, entry), arrays=[*block.get("arrays", []), entry])
    return frame


def _columns(draw: Any, frame: Frame, block: dict[str, Any]) -> Frame:
    found = list(paths(frame.schema, indices=True))
    if draw(st.integers(0, 3)) == 0:
        return frame
    chosen: dict[str, dict[str, Any]] = {}
    for number, (path, kind) in enumerate(draw(st.lists(st.sampled_from(found), min_size=1, max_size=5, unique_by=lambda f: f[0]))):
        how: dict[str, Any] = {"alias": f"c {number}"} if draw(st.booleans()) else {}
        if kind in SIMPLE and draw(st.booleans()):
            how["cast"] = draw(st.sampled_from(SIMPLE))
        chosen[path] = how
    return _added(frame, block, lambda: oracle.project(frame, chosen), columns=chosen)


def _added(frame: Frame, block: dict[str, Any], step: Any, **parts: Any) -> Frame:
    """The frame after one more part; a part that would give a name twice is left out."""
    try:
        out: Frame = step()
    except Collision:
        return frame
    block.update(parts)
    return out


def drawn(number: int) -> Example:
    """The example of that number."""
    found: list[Example] = []

    @seed(number)
    @settings(max_examples=2, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(_examples())
    def draw(example: Example) -> None:
        found.append(example)

    draw()
    return found[-1]  # the first is the simplest there is


# --- Spark's side -------------------------------------------------------------------------------------------------------
def to_spark(spark: SparkSession, frame: Frame) -> DataFrame:
    """The rows as a frame."""
    from pyspark.sql import functions as F

    texts = [(json.dumps(row, ensure_ascii=False),) for row in frame.rows]
    schema = ddl({"struct": frame.schema})
    made = spark.createDataFrame(texts, "value string").coalesce(1).select(F.from_json("value", schema, {"mode": "FAILFAST"}).alias("r"))
    return made.select("r.*")


def shaped(df: DataFrame, block: dict[str, Any], run: Run) -> DataFrame:
    """The frame after a block, read as a document's."""
    parse = Parse(Registry())
    shape = Shape.parse(block, "", parse)
    assert shape is not None and not [p for p in parse.problems if p.severity == "error"], parse.problems
    return shape.apply(df, run)


def _differences(spark: SparkSession, examples: list[Example]) -> list[str]:
    """What is wrong with those examples, all of which run in one job."""
    from pyspark.sql import functions as F

    engine, frames, runs, wrong = Engine(spark), [], [], []
    for number, example in enumerate(examples):
        run = Run(spark, engine, dt.datetime.now(dt.timezone.utc), None, None)  # type: ignore[arg-type] - a shape reads nothing else
        runs.append(run)
        try:
            df = shaped(to_spark(spark, example.given), example.block, run)
            row = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
            frames.append(df.select(F.lit(number).alias("number"), row.alias("row"), F.lit(json.dumps(df.columns)).alias("columns")))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
            wrong.append(f"{example}\n   raised {type(error).__name__}: {str(error)[:500]}")
            runs[-1] = None  # type: ignore[call-overload]
    if not frames:
        return wrong
    together = frames[0]
    for df in frames[1:]:
        together = together.unionAll(df)
    found: dict[int, list[str]] = {}
    for number, text, _ in together.collect():
        found.setdefault(number, []).append(_canonical(json.loads(text)))
    for number, (example, run) in enumerate(zip(examples, runs, strict=True)):
        if run is None:
            continue
        for ask in run.deferred:
            ask(True)
        here, there = Counter(map(_canonical, example.expected.rows)), Counter(found.get(number, []))
        lost = {w.at: w.facts["count"] for w in run.warnings if w.code in ("JSON_NOT_PARSED", "VALUES_LOST")}
        if here != there or lost != example.expected.lost:
            wrong.append(f"{example.block}\n   given {example.given}\n   expected and not found {here - there}\n   found and not expected {there - here}\n   lost {lost}, expected {example.expected.lost}")
    return wrong


def _canonical(row: Any) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


@pytest.mark.slow
def test_shapes_do_what_the_oracle_says(spark: SparkSession) -> None:
    print(f"\nSPARQUET_CAMPAIGN={CAMPAIGN} SPARQUET_SEED={SEED}")
    wrong: list[str] = []
    for first in range(SEED, SEED + EXAMPLES, TOGETHER):
        wrong += _differences(spark, [drawn(number) for number in range(first, min(first + TOGETHER, SEED + EXAMPLES))])
    if wrong:
        shortest = sorted(wrong, key=len)[:SHOWN]
        pytest.fail("\n\n".join([f"{len(wrong)} of {EXAMPLES} differ", *shortest]), pytrace=False)
