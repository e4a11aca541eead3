"""The oracle itself, without Spark: every frame that can be drawn has rules, and every rule a verdict; known values."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.quality.frames import MAKERS, ROW_LEVEL, frames, suites
from tests.core.quality.oracle import Expected, invalid_rows, judge
from tests.core.quality.words import holds, outside, predicate


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_rule_has_a_verdict(data: st.DataObject) -> None:
    frame = data.draw(frames())
    rules = data.draw(suites(frame))
    assert {r["type"] for r in rules} <= set(MAKERS)
    verdicts = [judge(frame.rows, frame.schema, rule, frame.world) for rule in rules]
    assert sum(v.error for v in verdicts) >= 2
    for rule, verdict in zip(rules, verdicts, strict=True):
        assert verdict.passed == (verdict.severity != "fail")
        if rule["type"] in ROW_LEVEL and not verdict.error:
            assert len(invalid_rows(frame.rows, frame.schema, [rule], frame.world)) == verdict.failed_count


@pytest.mark.parametrize(
    ("metric", "text", "expected"),
    [
        (3, "> 2", True),
        (3, ">=3", True),
        (3, "!= 3", False),
        (3, "BETWEEN 3 AND 4", True),
        (3, "not  between 3 and 4", False),
        (-1500.0, "> -1.6E3", True),
        (Decimal("0.1"), "= 0.1", True),
        (0.1, "= 0.1", True),
        (math.nan, "!= 1", False),
        (90061, "= 1d 1h 1m 1s", True),
        (7200, "< 1.5h", False),
        ("b", "> 'a'", True),
    ],
)
def test_thresholds(metric: Any, text: str, expected: bool) -> None:
    assert holds(metric, text) is expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("abc", "string", True),
        ("1e1", "string", False),
        ("11", "string", True),
        (math.nan, "double", True),
        (Decimal("10.000000000000000001"), "decimal(38,18)", True),
    ],
)
def test_bounds(value: Any, kind: str, expected: bool) -> None:
    assert outside(value, kind, 0, 10) is expected


def test_a_predicate_is_true_or_not() -> None:
    schema = {"a b": "int", "x": "double"}
    keep = predicate("`a b` >= 2 AND `x` IS NOT NULL", schema, "UTC")
    assert [keep(r) for r in ({"a b": 2, "x": math.nan}, {"a b": None, "x": 1.0}, {"a b": 3, "x": None})] == [True, False, False]


def test_a_rule_on_a_missing_column_cannot_run() -> None:
    verdict = judge([], {"a": "int"}, {"type": "max", "column": "b", "must_be": "> 0"})
    assert verdict == Expected(False, "fail", verdict.failed_count, None, error=True)
