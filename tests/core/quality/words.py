"""The small languages inside a rule, read anew for the oracle: thresholds, predicates, literals, and Spark's order of values.

Nothing here comes from the package: what it says stands in the language's text.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

Value = Any
Row = Mapping[str, Value]
Schema = Mapping[str, str]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}


class CannotRun(Exception):
    """The rule names a column that is not there, or one of a type that it can do nothing with."""


# --- columns and their types --------------------------------------------------------------------------------------------
def is_text(kind: str) -> bool:
    return kind == "string"


def is_floating(kind: str) -> bool:
    return kind in ("double", "float")


def is_numeric(kind: str) -> bool:
    return is_floating(kind) or kind in ("tinyint", "smallint", "int", "bigint") or kind.startswith("decimal")


def lookup(schema: Schema, name: str) -> tuple[str, Callable[[Row], Value]]:
    """The type of a column and how to get its value: the exact name, then another case, then a path into structs."""
    if name in schema:
        return schema[name], lambda row: row[name]
    same = [c for c in schema if c.lower() == name.lower()]
    if len(same) == 1:
        return lookup(schema, same[0])
    head, _, field = name.rpartition(".")
    if head in schema and (inner := re.search(rf"[<,]\s*{re.escape(field)}:([a-z]+(?:\([\d,]+\))?)", schema[head])):
        return inner[1], lambda row: None if row[head] is None else row[head][field]
    raise CannotRun(name)


# --- order and equality -------------------------------------------------------------------------------------------------
def is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def key(value: Value) -> Any:
    """What two values have in common when grouping calls them equal: NaN equals itself, and -0.0 equals 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def rank(value: Value) -> Any:
    """For sorting: NaN is greater than any other number."""
    return (is_nan(value), 0.0 if is_nan(value) else value) if isinstance(value, float) else value


def compare(left: Value, sign: str, right: Value, zone: str) -> bool:
    """Two present values; a date beside an instant counts from its start, a number beside a floating one is floating."""
    if isinstance(left, dt.datetime) != isinstance(right, dt.datetime):
        left, right = instant(left, zone), instant(right, zone)
    elif isinstance(left, float) or isinstance(right, float):
        left, right = rank(float(left)), rank(float(right))
    elif isinstance(left, Decimal) or isinstance(right, Decimal):
        left, right = exact(left), exact(right)
    return COMPARISONS[sign](left, right)


def exact(value: Any) -> Fraction:
    """A number without rounding; a floating literal of a rule means its digits."""
    return Fraction(Decimal(repr(value)) if isinstance(value, float) else value)


def instant(value: Any, zone: str) -> dt.datetime:
    """A moment: a text or date without an offset is local to the session's time zone."""
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value.strip())
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.timezone.utc) if value.tzinfo is None else value.astimezone(dt.timezone.utc)


def matches(value: Value, kind: str, literal: Any, zone: str) -> bool:
    """A present value is this entry of a rule's list. Null matches nothing."""
    if literal is None:
        return False
    if is_floating(kind):
        return is_nan(value) if literal == "NaN" else _number(literal) and float(literal) == value
    if is_numeric(kind):
        return _number(literal) and exact(literal) == exact(value)
    if kind == "date":
        return not isinstance(literal, bool | int | float) and _day(literal) == value
    if kind == "timestamp":
        return not isinstance(literal, bool | int | float) and instant(literal, zone) == value
    return type(literal) is type(value) and literal == value


def _number(literal: Any) -> bool:
    return isinstance(literal, int | float) and not isinstance(literal, bool)


def _day(literal: Any) -> dt.date | None:
    try:
        return dt.date.fromisoformat(literal) if isinstance(literal, str) else literal
    except ValueError:
        return None


def outside(value: Value, kind: str, low: Any, high: Any) -> bool:
    """A present value is not within the bounds: NaN, and text that is no number, never are."""
    if is_text(kind):
        if not re.fullmatch(rf"\s*{NUMBER}\s*", value):
            return True
        value = Fraction(value.strip())
    if is_nan(value):
        return True
    bound = float if isinstance(value, float) else exact
    value = bound(value)
    return (low is not None and value < bound(low)) or (high is not None and value > bound(high))


# --- thresholds ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Threshold:
    """A comparison with one operand, or an interval with two (both ends belong to it)."""

    sign: str
    operands: tuple[str, ...]

    @property
    def is_share(self) -> bool:
        return any(o.endswith("%") for o in self.operands)


def threshold(text: str) -> Threshold:
    """The comparison that a text describes."""
    text = text.strip()
    if found := re.fullmatch(r"(?is)(not\s+)?between\s+(.+?)\s+and\s+(.+)", text):
        return Threshold("not between" if found[1] else "between", (found[2].strip(), found[3].strip()))
    found = re.fullmatch(r"(?s)(>=|<=|!=|>|<|=)\s*(.+)", text)
    assert found is not None, text
    return Threshold(found[1], (found[2].strip(),))


def holds(metric: Any, text: str, zone: str = "UTC") -> bool:
    """A value that was measured satisfies a threshold. NaN satisfies none."""
    if is_nan(metric):
        return False
    wanted = threshold(text)
    bounds = [_operand(o, metric, zone) for o in wanted.operands]
    metric = exact(metric) if isinstance(metric, Decimal) else metric
    if wanted.sign in COMPARISONS:
        return COMPARISONS[wanted.sign](metric, bounds[0])
    return (bounds[0] <= metric <= bounds[1]) == (wanted.sign == "between")


def _operand(text: str, metric: Any, zone: str) -> Any:
    if text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    if isinstance(metric, bool):
        return text.lower() == "true"
    if isinstance(metric, str):
        return text
    if isinstance(metric, dt.datetime):
        return instant(text, zone)
    if isinstance(metric, dt.date):
        return dt.date.fromisoformat(text)
    if re.fullmatch(r"(?i)(?:\d+(?:\.\d+)?\s*[wdhms]\s*)+", text):
        return sum(Fraction(n) * SECONDS[unit.lower()] for n, unit in re.findall(r"(?i)(\d+(?:\.\d+)?)\s*([wdhms])", text))
    digits = text.rstrip("% ")
    assert re.fullmatch(NUMBER, digits), text
    return float(digits) if isinstance(metric, float) else Fraction(digits)


# --- predicates ---------------------------------------------------------------------------------------------------------
ATOM = re.compile(r"(?s)`((?:[^`]|``)+)` (?:(IS NULL|IS NOT NULL)|(>=|<=|<>|>|<|=) (.+))")


def predicate(text: str, schema: Schema, zone: str) -> Callable[[Row], bool]:
    """Whether a SQL predicate is true for a row. Of SQL it knows: TRUE, FALSE, `c` IS [NOT] NULL, `c` <sign> literal, joined by AND."""
    atoms = [_atom(part, schema, zone) for part in text.split(" AND ")]
    return lambda row: all(atom(row) for atom in atoms)


def _atom(text: str, schema: Schema, zone: str) -> Callable[[Row], bool]:
    if text in ("TRUE", "FALSE"):
        return lambda row: text == "TRUE"
    found = ATOM.fullmatch(text)
    assert found is not None, text
    kind, get = lookup(schema, found[1].replace("``", "`"))
    if found[2]:
        return lambda row: (get(row) is None) == (found[2] == "IS NULL")
    literal = _literal(found[4], kind, zone)
    return lambda row: get(row) is not None and compare(get(row), found[3], literal, zone)


def _literal(text: str, kind: str, zone: str) -> Any:
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    if text.startswith("DATE "):
        return dt.date.fromisoformat(text[6:-1])
    if text.startswith("TIMESTAMP "):
        return instant(text[11:-1], zone)
    if text.startswith("'"):
        return text[1:-1]
    return float(text) if is_floating(kind) else Fraction(text)
