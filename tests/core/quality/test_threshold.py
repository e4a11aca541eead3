"""Conditions: how they are read, and which values satisfy them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from sparquet_provider.core.quality.threshold import parse

NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=-3)))


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("> 0", 1, True), ("> 0", 0, False), (">0", Decimal("0.1"), True), ("<= -1.5e2", -150.0, True), ("= 0.1", 0.1, True), ("!= .5", 0.5, False),
        ("  BETWEEN 1 AND 2  ", 2, True), ("between 1 and 2", 2.0000001, False), ("not between 1 and 2", 3, True), ("Not Between 1 and 2", 1, False),
        ("< 5%", 4.999, True), ("= 100 %", 100.0, True), ("between 1% and 2%", 3.0, False),
        ("< 1d", 86399.0, True), ("< 1d", 86400.0, False), ("<= 1d 12h", 129600, True), ("< 1.5h", 5399, True), (">= -30m", -1800, True), ("< 2w", 1209599, True),
        ("> 9007199254740992", 9007199254740993, True), ("= 99999999999999999999999999999999999999", Decimal("9" * 38), True),
        (">= 2026-01-31", dt.date(2026, 1, 31), True), ("< 2026-01-31", dt.date(2026, 1, 31), False),
        (">= 2026-01-31 12:00", NOON, True), ("= 2026-01-31T15:00:00Z", NOON, True), ("> 2026-01-31T15:00:00Z", NOON, False),
        ("= 'it''s'", "it's", True), ("> 'a'", "B", False), ('!= "x"', "y", True), ("= true", True, True), ("= false", True, False),
        ("> 0", float("nan"), False), ("!= 3", float("nan"), False), ("!= 3", None, False), ("> 0", float("inf"), True),
    ],
)  # fmt: skip
def test_which_values_satisfy_a_condition(text: str, value: Any, holds: bool) -> None:
    assert parse(text).holds(value) is holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a condition begins with"), ("5", "a condition begins with"), ("=> 3", "write >="), ("=< 3", "write <="), ("== 3", "no number"), ("> x", "'x' is no number"),
        ("between 3 and 1", "nothing lies between"), ("between 1 and 5%", "of different kinds"), ("between 1", "a condition begins with"),
        ("> 2026-13-01", "is no date or timestamp"), ("> 5 apples", "no number"), ("< 1y", "no number"),
    ],
)  # fmt: skip
def test_what_is_no_condition(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


@pytest.mark.parametrize(("text", "value"), [("> 0", "a"), ("= 'a'", 1), ("= true", 1), ("> 1", True), (">= 2026-01-31", 5), ("> 'abc'", NOON), ("> 'abc'", NOON.date())])
def test_values_and_operands_of_different_kinds_do_not_compare(text: str, value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be compared|is no date"):
        parse(text).holds(value)


@pytest.mark.parametrize(("text", "unit"), [("> 5", "number"), ("> 5%", "percent"), ("> 5m", "duration"), ("> 2026-01-01", "text"), ("= 'm'", "text")])
def test_the_kind_of_the_operands(text: str, unit: str) -> None:
    assert parse(text).unit == unit
