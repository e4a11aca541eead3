"""The condition of a metric: ``> 0``, ``< 5%``, ``between 10 and 100``, ``< 1d``, ``>= 2026-01-01``."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from itertools import pairwise
from typing import Any, Literal

from ..text import instant

#: What the operands of a threshold may be: a plain number, a percentage, a time span, or a date, timestamp or text.
Unit = Literal["number", "percent", "duration", "text"]

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "=": lambda a, b: bool(a == b),
}
#: Digits before or after the point of the greatest and the smallest operand.
REACH = 400
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_COMPARISON = re.compile(r"\s*(<=|>=|!=|<|>|=)\s*(.+?)\s*", re.DOTALL)
_BETWEEN = re.compile(r"\s*(not\s+)?between\s+(.+?)\s+and\s+(.+?)\s*", re.IGNORECASE | re.DOTALL)
_DURATION = re.compile(r"([+-]?)\s*((?:(?:\d+(?:\.\d+)?)\s*[smhdw]\s*)+)", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}.*", re.DOTALL)


@dataclass(frozen=True)
class Operand:
    """One side of a comparison: its value and what kind it is."""

    value: Decimal | str | bool
    unit: Unit


@dataclass(frozen=True)
class Threshold:
    """A parsed condition. ``text`` is the condition as written."""

    text: str
    operator: str
    operands: tuple[Operand, ...]

    @property
    def unit(self) -> Unit:
        """The kind of its operands (they are all of one kind)."""
        return self.operands[0].unit

    def holds(self, value: Any) -> bool:
        """True when a measured value satisfies the condition; NaN and null never do.

        Raises:
            TypeError: the value can't be compared with the operands (a number with a text).
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return False
        pairs = [_pair(value, o.value) for o in self.operands]
        if self.operator in ("between", "not between"):
            inside = bool(pairs[0][1] <= pairs[0][0]) and bool(pairs[1][0] <= pairs[1][1])
            return inside if self.operator == "between" else not inside
        return _OPERATORS[self.operator](*pairs[0])

    def sql(self, expression: str) -> str:
        """The condition over an SQL expression, for numbers and percentages."""
        operands = [f"{o.value:f}D" for o in self.operands]
        if len(operands) == 2:
            return f"({expression} {self.operator.upper()} {operands[0]} AND {operands[1]})"
        return f"({expression} {self.operator} {operands[0]})"

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Threshold:
    """Read a condition; blanks and case do not matter.

    Raises:
        ValueError: with the reason, when the text is no condition.
    """
    if found := _BETWEEN.fullmatch(text):
        operands = (_operand(found[2]), _operand(found[3]))
        if operands[0].unit != operands[1].unit or type(operands[0].value) is not type(operands[1].value):
            raise ValueError(f"{found[2]} and {found[3]} are of different kinds")
        if _above(operands[0].value, operands[1].value):
            raise ValueError(f"{found[2]} is above {found[3]}: nothing lies between")
        return Threshold(" ".join(text.split()), "not between" if found[1] else "between", operands)
    if text.lstrip().startswith(("=>", "=<")):
        raise ValueError(f"{text.strip()[:2]} is no operator; write {text.strip()[1::-1]}")
    if found := _COMPARISON.fullmatch(text):
        return Threshold(" ".join(text.split()), found[1], (_operand(found[2]),))
    raise ValueError("a condition begins with one of >, >=, <, <=, =, !=, between, not between")


def _above(low: Any, high: Any) -> bool:
    """True when the lower bound is certainly above the upper one."""
    if isinstance(low, str) and _DATED.fullmatch(low) and _DATED.fullmatch(high):
        try:
            one, other = instant(low), instant(high)
        except ValueError:  # texts that only begin like dates
            return bool(low > high)
        # Where one of them has no time zone, the session's decides.
        return (one.tzinfo is None) is (other.tzinfo is None) and one > other
    return bool(low > high)


def figures(conditions: Collection[Threshold], low: int | None = None, high: int | None = None, *, whole: bool = False) -> list[Decimal]:
    """Figures within bounds among which there is one for every way in which numeric conditions can turn out together.

    Between two neighbouring operands nothing changes, so the operands and one number between each two of them are enough; of ``whole``
    numbers those beside the operands.
    """
    edges = {o.value for c in conditions for o in c.operands if isinstance(o.value, Decimal)}
    edges |= {Decimal(bound) for bound in (low, high) if bound is not None}
    with localcontext(prec=2 * REACH):  # so that a huge number and its neighbour differ
        if whole:
            below = {e.to_integral_value(ROUND_FLOOR) for e in edges}
            candidates = sorted({n + step for n in below for step in (-1, 0, 1, 2)})
        else:
            sides = sorted({min(edges) - 1, *edges, max(edges) + 1})
            candidates = [*sides, *((a + b) / 2 for a, b in pairwise(sides))]
    return [c for c in candidates if (low is None or c >= low) and (high is None or c <= high)]


def _operand(text: str) -> Operand:
    text = text.strip()
    if re.fullmatch(_NUMBER, text, re.IGNORECASE):
        return Operand(_number(text), "number")
    if re.fullmatch(rf"{_NUMBER}\s*%", text, re.IGNORECASE):
        return Operand(_number(text.rstrip("%").strip()), "percent")
    if found := _DURATION.fullmatch(text):
        parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhdw])", found[2], re.IGNORECASE)
        seconds = sum((Decimal(number) * _SECONDS[unit.lower()] for number, unit in parts), Decimal(0))
        return Operand(-seconds if found[1] == "-" else seconds, "duration")
    if _QUOTED.fullmatch(text):
        return Operand(text[1:-1].replace(text[0] * 2, text[0]), "text")
    if text.casefold() in ("true", "false"):
        return Operand(text.casefold() == "true", "text")
    if _DATED.fullmatch(text):
        instant(text)
        return Operand(text, "text")
    raise ValueError(f"{text!r} is no number, percentage (5%), time span (1d 12h), date or quoted text")


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text} is out of reach") from None
    if number and abs(number.adjusted()) > REACH:
        raise ValueError(f"{text} is out of reach")
    return number


def _compared(text: str) -> dt.datetime:
    try:
        return instant(text)
    except ValueError as error:
        raise TypeError(str(error)) from None


def _decimal(value: int | float) -> Decimal:
    # The shortest text of a float is what people write: 0.1 is 0.1, not 0.1000000000000000055.
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _pair(value: Any, given: Decimal | str | bool) -> tuple[Any, Any]:
    """The measured value and the operand as two things that compare."""
    if isinstance(value, bool) or isinstance(given, bool):
        if isinstance(value, bool) and isinstance(given, bool):
            return value, given
    elif isinstance(value, dt.datetime) and isinstance(given, str):
        bound = _compared(given)
        if bound.tzinfo is None:  # as the clock of the session shows it
            return value.replace(tzinfo=None), bound
        if value.tzinfo is not None:
            return value, bound
    elif isinstance(value, dt.date) and isinstance(given, str):
        return value, _compared(given).date()
    elif isinstance(value, str) and isinstance(given, str):
        return value, given
    elif isinstance(value, int | float | Decimal) and isinstance(given, Decimal):
        return (_decimal(value) if not isinstance(value, Decimal) else value), given
    raise TypeError(f"{type(value).__name__} {value} cannot be compared with {given}")
