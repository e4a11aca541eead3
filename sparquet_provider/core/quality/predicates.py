"""SQL predicates over one column that several rules share; each is true or false for a value that is there, never an error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from ..columns import Reference
from ..errors import SparquetError
from ..text import instant, literal

_TEMPORAL = ("date", "timestamp", "timestamp_ntz")


def text_of(column: Reference) -> str:
    """The column as text."""
    return column.sql if column.is_text else f"CAST({column.sql} AS STRING)"


def typed(value: Any, column: Reference, at: str) -> str:
    """A value of a rule as an SQL literal that compares with the column.

    Raises:
        SparquetError: WRONG_TYPE at ``at`` when no value of the column can equal it.
    """
    if column.is_text:
        return literal(value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value))
    kind = column.type.typeName()
    if kind in _TEMPORAL and isinstance(value, str) and _is_iso(value):
        return f"CAST({literal(value)} AS {column.type_name})"
    if kind == "boolean" and str(value).lower() in ("true", "false"):
        return str(value).upper()
    if column.is_numeric and not isinstance(value, bool):
        number = _number(value)
        if column.is_floating and number is not None:
            return f"CAST({literal(str(value))} AS {column.type_name})"
        if number is not None and number.is_finite():
            return literal(number)
    raise SparquetError("WRONG_TYPE", at, found=repr(value), expected=f"a value that {column.name}, which is {column.type_name}, can have", hint="")


def _number(value: Any) -> Decimal | None:
    if not isinstance(value, int | float | str | Decimal):
        return None
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None


def _is_iso(text: str) -> bool:
    try:
        instant(text)
    except ValueError:
        return False
    return True


def one_of(column: Reference, values: Iterable[Any], at: str) -> str:
    """True when the column has one of the values; nulls among them match nothing."""
    literals = [typed(v, column, at) for v in values if v is not None]
    return f"{column.sql} IN ({', '.join(literals)})" if literals else "false"


def missing(column: Reference, values: Iterable[Any], at: str) -> str:
    """True when the column is null or has one of the values that count as missing."""
    listed = [v for v in values if v is not None]
    # A list for several columns may hold texts that a numeric column can't have.
    fitting = [v for v in listed if column.is_text or not isinstance(v, str) or _fits(v, column)]
    return f"({column.sql} IS NULL OR {one_of(column, fitting, at)})" if fitting else f"{column.sql} IS NULL"


def _fits(value: Any, column: Reference) -> bool:
    try:
        typed(value, column, "")
    except SparquetError:
        return False
    return True


def outside(column: Reference, low: Any, high: Any, at: tuple[str, str]) -> str:
    """True when a value lies outside of the closed interval; NaN does, and a text that is no number in a text column; null for null."""
    value, parts = column.sql, []
    low, high = (_as_number(b) if column.is_numeric else b for b in (low, high))
    if column.is_text and all(isinstance(b, int | float) for b in (low, high) if b is not None):
        value = f"try_cast(trim({column.sql}) AS DOUBLE)"
        parts.append(f"({column.sql} IS NOT NULL AND {value} IS NULL)")
    if column.is_floating or value != column.sql:
        parts.append(f"isnan({value})")
    for bound, sign, place in ((low, "<", at[0]), (high, ">", at[1])):
        if bound is None:
            continue
        if value == column.sql:
            parts.append(f"{value} {sign} {_bound(bound, column, place)}")
        elif isinstance(bound, int) and abs(bound) >= 2**53:  # beyond what a double tells apart
            parts.append(f"coalesce(try_cast(trim({column.sql}) AS DECIMAL(38, 9)) {sign} {bound}, {value} {sign} {bound})")
        else:
            parts.append(f"{value} {sign} {literal(bound)}")
    return f"({' OR '.join(parts)})"


def _as_number(bound: Any) -> Any:
    """A number that came as text, from a parameter, as a number."""
    if not isinstance(bound, str):
        return bound
    try:
        return int(bound)
    except ValueError:
        pass
    try:
        return float(bound)
    except ValueError:
        return bound


def _bound(bound: Any, column: Reference, at: str) -> str:
    if isinstance(bound, float) and not math.isfinite(bound):
        raise SparquetError("WRONG_TYPE", at, found=str(bound), expected="a finite number", hint="; leave the bound out")
    if column.is_numeric and not isinstance(bound, str):
        # A float column is compared as it is stored: 0.1 of the rule with 0.1 of the data.
        return f"CAST({literal(bound)} AS {column.type_name})" if column.type.typeName() == "float" else literal(bound)
    if column.type.typeName() in _TEMPORAL and isinstance(bound, str) and _is_iso(bound):
        return f"CAST({literal(bound)} AS {column.type_name})"
    if column.is_text and isinstance(bound, str):
        return literal(bound)
    expected = "a number" if column.is_numeric else "a date or timestamp as text" if column.type.typeName() in _TEMPORAL else "a numeric, date or text column"
    raise SparquetError("WRONG_TYPE", at, found=repr(bound), expected=f"{expected}, as {column.name} is {column.type_name}", hint="")


def is_false_or_null(predicate: str) -> str:
    """The negation that is true for null, too."""
    return f"NOT coalesce({predicate}, false)"


def any_of(predicates: Iterable[str]) -> str:
    """True when any of them is; null counts as false."""
    return f"coalesce({' OR '.join(predicates)}, false)"
