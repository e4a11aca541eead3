"""The quality engine against the oracle: small random frames, many rules each, one measurement and one split a frame.

``SPARQUET_CAMPAIGN=500`` runs that many frames with a new seed (printed; ``SPARQUET_SEED`` repeats it). All differences of
a run are collected; one of each type is then repeated alone with ever fewer rows, and shown.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sparquet_provider.core.cola import Cola
from sparquet_provider.core.errors import SparquetError
from tests.core.quality.frames import OTHER, ROW_LEVEL, Frame, Rule, frames, suites
from tests.core.quality.oracle import ANY, CLOCK, Expected, agrees, invalid_rows, judge
from tests.core.quality.words import key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparquet_provider.core.result import CheckResult

CAMPAIGN = int(os.environ.get("SPARQUET_CAMPAIGN", "0"))
EXAMPLES = CAMPAIGN or 20
SEED = int(os.environ.get("SPARQUET_SEED", "0")) or (random.SystemRandom().randrange(1, 10**9) if CAMPAIGN else 1)
SHOWN = 4

AVAILABLE = set(Cola().available)


@st.composite
def _examples(draw: Any) -> tuple[Frame, list[Rule]]:
    frame = draw(frames())
    return frame, [rule for rule in draw(suites(frame)) if rule["type"] in AVAILABLE]


@pytest.mark.slow
def test_the_engine_says_what_the_oracle_says(spark: SparkSession) -> None:
    print(f"\nSPARQUET_CAMPAIGN={CAMPAIGN} SPARQUET_SEED={SEED}")
    found: dict[str, list[tuple[Frame, Rule, str]]] = {}
    splits: list[str] = []
    for number in range(SEED, SEED + EXAMPLES):
        frame, rules = drawn(number)
        for rule, text in differences(spark, frame, rules):
            found.setdefault(rule["type"], []).append((frame, rule, text))
        splits += split_differences(spark, frame, rules)
    if not found and not splits:
        return
    lines = [f"{len(few)} × {kind}\n{shortest(spark, *few[0][:2])}\nbefore it was cut short: {few[0][1]}\n   {few[0][2]}" for kind, few in found.items()]
    pytest.fail("\n\n".join([*lines, f"{len(splits)} splits", *splits[:SHOWN]]), pytrace=False)


def drawn(number: int) -> tuple[Frame, list[Rule]]:
    """The frame and rules of that number. Each is drawn afresh: within one test Hypothesis would vary what it drew before."""
    found: list[tuple[Frame, list[Rule]]] = []

    @seed(number)
    @settings(max_examples=2, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(_examples())
    def draw(example: tuple[Frame, list[Rule]]) -> None:
        found.append(example)

    draw()
    return found[-1]  # the first is the simplest there is


# --- Spark's side -------------------------------------------------------------------------------------------------------
def to_spark(spark: SparkSession, rows: Sequence[Any], schema: dict[str, str]) -> DataFrame:
    """The rows as a frame; every column takes nulls."""
    from pyspark.sql import types as t

    ddl = ", ".join(f"c{i} {kind}" for i, kind in enumerate(schema.values()))
    fields = [t.StructField(name, field.dataType) for name, field in zip(schema, t.StructType.fromDDL(ddl), strict=True)]
    return spark.createDataFrame([tuple(row[c] for c in schema) for row in rows], t.StructType(fields))


class _Session:
    """The frame in a session of its time zone, with its other table as a view."""

    def __init__(self, spark: SparkSession, frame: Frame) -> None:
        self.spark, self.frame = spark, frame

    def __enter__(self) -> DataFrame:
        self.before = self.spark.conf.get("spark.sql.session.timeZone")
        self.spark.conf.set("spark.sql.session.timeZone", self.frame.world.zone)
        schema, rows = self.frame.world.tables[OTHER]
        to_spark(self.spark, rows, dict(schema)).createOrReplaceTempView(OTHER)
        return to_spark(self.spark, self.frame.rows, self.frame.schema)

    def __exit__(self, *_: object) -> None:
        self.spark.conf.set("spark.sql.session.timeZone", self.before)
        self.spark.catalog.dropTempView(OTHER)


# --- comparison ---------------------------------------------------------------------------------------------------------
def differences(spark: SparkSession, frame: Frame, rules: list[Rule]) -> list[tuple[Rule, str]]:
    """The rules whose results are not what the oracle expects, and how."""
    rules, wrong = parsed(rules)
    with _Session(spark, frame) as df:
        results = Cola().run(df, rules, as_of=CLOCK.isoformat())
    assert [r.code for r in results] == [rule["code"] for rule in rules]
    for rule, result in zip(rules, results, strict=True):
        expected = judge(frame.rows, frame.schema, rule, frame.world)
        if (text := difference(result, expected, frame.world.zone)) is not None:
            wrong.append((rule, text))
    return wrong


def parsed(rules: list[Rule]) -> tuple[list[Rule], list[tuple[Rule, str]]]:
    """The rules that can be read; the others, with what the parser says of them, are differences."""
    good, wrong = [], []
    for rule in rules:
        try:
            Cola().explain([rule])
            good.append(rule)
        except SparquetError as error:
            wrong.append((rule, f"cannot be read: {error}"))
    return good, wrong


def difference(found: CheckResult, expected: Expected, zone: str) -> str | None:
    """How a result is not the expected one, None when it is."""
    same = (
        (found.error is not None) == expected.error
        and found.passed == expected.passed
        and found.severity == expected.severity
        and expected.failed_count in (ANY, found.failed_count)
        and agrees(found.metric_value, expected.metric_value, expected.tolerance, zone)
    )
    if same:
        return None
    return f"expected {expected}\n   found passed={found.passed} severity={found.severity} failed_count={found.failed_count} metric_value={found.metric_value!r} error={found.error} {found.message!r}"


def split_differences(spark: SparkSession, frame: Frame, rules: list[Rule]) -> list[str]:
    """What is wrong with the two sides that the row-level rules part the rows into, and with the codes of the broken rules."""
    usable = [rule for rule in parsed(rules)[0] if rule["type"] in ROW_LEVEL and not judge(frame.rows, frame.schema, rule, frame.world).error]
    with _Session(spark, frame) as df:
        split = Cola().split(df, usable, annotate="broken rules")
        valid, invalid = split.valid.collect(), split.invalid.collect()
        columns = (split.valid.columns, split.invalid.columns)
    wrong = [] if columns == (list(frame.schema), [*frame.schema, "broken rules"]) else [f"columns {columns}"]
    broken: dict[int, list[str]] = {}
    for rule in usable:
        for i in invalid_rows(frame.rows, frame.schema, [rule], frame.world):
            broken.setdefault(i, []).append(rule["code"])
    plain = [_plain(tuple(row[c] for c in frame.schema)) for row in frame.rows]
    here = Counter((plain[i], tuple(broken.get(i, ()))) for i in range(len(plain)))
    there = Counter([(_plain(row[:]), ()) for row in valid] + [(_plain(row[:-1]), tuple(row[-1])) for row in invalid])
    if here != there:
        codes = {rule["code"]: rule for rule in usable}
        wrong.append(f"split of {frame}\nby {codes}\nexpected and not found: {here - there}\n found and not expected: {there - here}")
    return wrong


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row that can be counted: Spark's instants are in the process's time zone, its structs are rows."""
    import datetime as dt

    def one(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            return value.astimezone(dt.timezone.utc)
        return key(value.asDict() if hasattr(value, "asDict") else value)

    return tuple(one(v) for v in row)


# --- the shortest example -----------------------------------------------------------------------------------------------
def shortest(spark: SparkSession, frame: Frame, rule: Rule) -> str:
    """The rule alone, over as few rows as still differ."""
    found = differences(spark, frame, [rule])
    if not found:
        return f"only together with other rules: {rule}"
    i = 0
    while i < len(frame.rows):
        fewer = replace(frame, rows=[*frame.rows[:i], *frame.rows[i + 1 :]])
        if again := differences(spark, fewer, [rule]):
            frame, found = fewer, again
        else:
            i += 1
    named = [c for c in frame.schema if f"'{c}'" in repr(rule) or f"`{c}`" in repr(rule)]
    rows = [{c: row[c] for c in named} for row in frame.rows]
    other = frame.world.tables[OTHER][1] if "source" in rule else ""
    return f"{rule}\n   rows {rows} {other}\n   types { {c: frame.schema[c] for c in named} } zone {frame.world.zone}\n   {found[0][1]}"
