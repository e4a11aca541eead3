"""What a rule should say of some rows, in plain Python: the other opinion that the engine is compared with.

Written from the language's text, not from the package. Whole numbers, decimals, counts and shares are exact (``Fraction``);
floating columns are floating, and ``Expected.tolerance`` says how far a sum in another order may be off.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.core.quality.words import (
    CannotRun,
    Row,
    Schema,
    compare,
    holds,
    instant,
    is_floating,
    is_nan,
    is_numeric,
    key,
    lookup,
    matches,
    outside,
    predicate,
    rank,
    threshold,
)

Rule = Mapping[str, Any]
#: What the text leaves open, so that nothing is compared.
ANY: Any = type("Any", (), {"__repr__": lambda self: "(anything)"})()

#: Now, where a rule does not say when.
CLOCK = dt.datetime(2024, 6, 1, tzinfo=dt.timezone.utc)
FUTURE = 300  # seconds that a value may lie in the future
FORMATS = {
    "integer": r"[+-]?[0-9]+",
    "boolean": r"(?i:true|false|t|f|yes|no|1|0)",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
}
ALIASES = {"long": "bigint", "integer": "int", "str": "string"}


@dataclass(frozen=True)
class Expected:
    """The verdict. ``error``: the rule could not run."""

    passed: bool
    severity: str
    failed_count: Any
    metric_value: Any
    error: bool = False
    tolerance: Fraction = Fraction(0)


@dataclass(frozen=True)
class World:
    """What surrounds a measurement: the clock, the session's time zone, other tables by view name."""

    clock: dt.datetime = CLOCK
    zone: str = "UTC"
    tables: Mapping[str, tuple[Schema, Sequence[Row]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """The value of a metric, None when there is none; ``failed`` where the rule counts rows."""

    value: Any
    failed: int | None = None
    tolerance: Fraction = Fraction(0)


# --- the doors ----------------------------------------------------------------------------------------------------------
def judge(rows: Sequence[Row], schema: Schema, rule: Rule, world: World | None = None) -> Expected:
    """What the result of this rule should be."""
    world = world or World()
    try:
        return _judge(rows, schema, rule, world)
    except CannotRun:
        return Expected(False, "fail", ANY, None, error=True)


def _judge(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Expected:
    kind = rule["type"]
    if kind in ROW_LEVEL and kind not in THRESHOLD_OF_ROWS:
        count = len(invalid_rows(rows, schema, [rule], world))
        return Expected(count == 0, "fail" if count else "pass", count, count)
    found = measure(rows, schema, rule, world)
    severity = _severity(rule, found.value, world)
    failed = found.failed if found.failed is not None else int(severity == "fail")
    return Expected(severity != "fail", severity, failed, found.value, tolerance=found.tolerance)


def measure(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    """The value of a rule that is no plain row-level rule, before any threshold."""
    return METRICS[rule["type"]](_filtered(rows, schema, rule, world), schema, rule, world)


def invalid_rows(rows: Sequence[Row], schema: Schema, rules: Iterable[Rule], world: World | None = None) -> set[int]:
    """The numbers of the rows that break any of the row-level rules; others take no part."""
    world = world or World()
    bad: set[int] = set()
    for rule in rules:
        if rule["type"] not in ROW_LEVEL:
            continue
        kept = predicate(rule.get("filter", "TRUE"), schema, world.zone)
        numbers = [i for i, row in enumerate(rows) if kept(row)]
        flags = ROW_LEVEL[rule["type"]]([rows[i] for i in numbers], schema, rule, world)
        bad |= {i for i, flag in zip(numbers, flags, strict=True) if flag}
    return bad


def _filtered(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[Row]:
    kept = predicate(rule.get("filter", "TRUE"), schema, world.zone)
    return [row for row in rows if kept(row)]


def _severity(rule: Rule, value: Any, world: World) -> str:
    if rule["type"] == "sql":
        return "pass" if value is True or ("failed_rows" in rule and value == 0) else "fail"
    if rule["type"] == "schema":
        return "fail" if value else "pass"
    if value is None:
        # No group, so none that breaks the condition.
        return "pass" if rule["type"] == "completeness" else rule.get("on_empty", "fail")
    must = rule.get("must_be", "= 0" if rule["type"] == "reconciliation" else None)
    if rule["type"] == "row_count" and not rule.get("min", value) <= value <= rule.get("max", value):
        return "fail"
    if rule["type"] == "freshness" and value < -FUTURE and not rule.get("allow_future", False):
        return "fail"
    if rule["type"] == "completeness":
        return _severity_of_groups(rule, value)
    if must is not None and not holds(value, must, world.zone):
        return "fail"
    return "warn" if "warn" in rule and not holds(value, rule["warn"], world.zone) else "pass"


def _severity_of_groups(rule: Rule, worst: Any) -> str:
    # Thresholds of completeness are lower bounds here, so that the worst group stands for all.
    for name, severity in (("must_be", "fail"), ("warn", "warn")):
        if name in rule and not holds(worst, rule[name]):
            return severity
    return "pass"


# --- row-level rules: one flag a row ------------------------------------------------------------------------------------
def columns_of(rule: Rule) -> list[str]:
    """``column`` or ``columns``, one text or a list."""
    found = rule["columns"] if "columns" in rule else rule["column"]
    return [found] if isinstance(found, str) else list(found)


def _cells(rows: Sequence[Row], schema: Schema, rule: Rule) -> list[list[tuple[Any, str]]]:
    found = [lookup(schema, c) for c in columns_of(rule)]
    return [[(get(row), kind) for kind, get in found] for row in rows]


def _not_null(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    return [any(v is None for v, _ in cells) for cells in _cells(rows, schema, rule)]


def _unique(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    keys = [tuple(key(v) for v, _ in cells) for cells in _cells(rows, schema, rule)]
    times = Counter(keys)
    return [times[k] > 1 for k in keys]


def _range(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    low, high = rule.get("min"), rule.get("max")
    return [any(v is not None and outside(v, kind, low, high) for v, kind in cells) for cells in _cells(rows, schema, rule)]


def _regex(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    pattern = re.compile(rule["pattern"], re.ASCII)
    return [any(v is None or not pattern.search(v) for v, _ in cells) for cells in _cells(rows, schema, rule)]


def _is_missing(value: Any, kind: str, rule: Rule, world: World) -> bool:
    return value is None or any(matches(value, kind, m, world.zone) for m in rule.get("missing_values", []))


def _missing(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    return [any(_is_missing(v, kind, rule, world) for v, kind in cells) for cells in _cells(rows, schema, rule)]


def _invalid(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    return [any(not _is_missing(v, kind, rule, world) and not _is_valid(v, kind, rule, world) for v, kind in cells) for cells in _cells(rows, schema, rule)]


def _is_valid(value: Any, kind: str, rule: Rule, world: World) -> bool:
    """A present value satisfies every validity key."""
    size = len(value) if isinstance(value, str) else 0
    return all(
        (
            "valid_values" not in rule or any(matches(value, kind, v, world.zone) for v in rule["valid_values"]),
            not any(matches(value, kind, v, world.zone) for v in rule.get("invalid_values", [])),
            "valid_format" not in rule or re.fullmatch(FORMATS[rule["valid_format"]], value) is not None,
            "valid_regex" not in rule or re.search(rule["valid_regex"], value, re.ASCII) is not None,
            not ("valid_min" in rule or "valid_max" in rule) or not outside(value, kind, rule.get("valid_min"), rule.get("valid_max")),
            rule.get("valid_length", size) == size,
            rule.get("valid_min_length", size) <= size <= rule.get("valid_max_length", size),
        )
    )


def _accepted(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    wanted = rule["values"]
    return [any(v is not None and not any(matches(v, kind, w, world.zone) for w in wanted) for v, kind in cells) for cells in _cells(rows, schema, rule)]


def _comparison(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    (_, left), (_, right) = lookup(schema, rule["column"]), lookup(schema, rule["other"])
    pairs = [(left(row), right(row)) for row in rows]
    return [a is not None and b is not None and not compare(a, rule["operator"], b, world.zone) for a, b in pairs]


def _conditional(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    when = predicate(rule["when"], schema, world.zone)
    return [flag and when(row) for flag, row in zip(_not_null(rows, schema, rule, world), rows, strict=True)]


def _exclusive(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    counts = [sum(v is not None for v, _ in cells) for cells in _cells(rows, schema, rule)]
    return [c > 1 or (c == 0 and rule.get("exactly_one", False)) for c in counts]


def _foreign(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> list[bool]:
    other, theirs = world.tables[rule["source"]["path"]]
    wanted = {"columns": rule.get("source_columns", columns_of(rule))}
    partners = {tuple(key(v) for v, _ in cells) for cells in _cells(theirs, other, wanted)}
    keys = [tuple(key(v) for v, _ in cells) for cells in _cells(rows, schema, rule)]
    return [None not in k and k not in partners for k in keys]


ROW_LEVEL: dict[str, Callable[[Sequence[Row], Schema, Rule, World], list[bool]]] = {
    "not_null": _not_null,
    "unique": _unique,
    "range": _range,
    "regex": _regex,
    "missing_count": _missing,
    "missing_percent": _missing,
    "invalid_count": _invalid,
    "invalid_percent": _invalid,
    "accepted_values": _accepted,
    "column_comparison": _comparison,
    "conditional_not_null": _conditional,
    "mutually_exclusive": _exclusive,
    "foreign_key": _foreign,
}
#: Row-level rules whose verdict is a threshold's.
THRESHOLD_OF_ROWS = ("missing_count", "missing_percent", "invalid_count", "invalid_percent")


# --- metrics ------------------------------------------------------------------------------------------------------------
def share(part: int, whole: int) -> Fraction:
    """Percent; of nothing it is 0."""
    return Fraction(100 * part, whole) if whole else Fraction(0)


def _row_count(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    return Measured(len(rows))


def _of_rows(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    count = sum(ROW_LEVEL[rule["type"]](rows, schema, rule, world))
    return _counted(count, len(rows), rule)


def _counted(count: int, whole: int, rule: Rule) -> Measured:
    if not rule["type"].endswith("percent"):
        return Measured(count, count)
    return Measured(share(count, whole), count, share(count, whole) / 10**9)


def _keys(rows: Sequence[Row], schema: Schema, rule: Rule) -> list[tuple[Any, ...]]:
    found = [tuple(key(v) for v, _ in cells) for cells in _cells(rows, schema, rule)]
    return [k for k in found if None not in k]


def _duplicates(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    keys = _keys(rows, schema, rule)
    count = len(keys) - len(set(keys))
    return _counted(count, len(keys), rule)


def _distinct(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    return Measured(len(set(_keys(rows, schema, rule))))


def _values(rows: Sequence[Row], schema: Schema, rule: Rule) -> tuple[str, list[Any]]:
    kind, get = lookup(schema, columns_of(rule)[0])
    if rule["type"] not in ("min", "max", "freshness") and not is_numeric(kind):
        raise CannotRun(kind)
    found = [get(row) for row in rows]
    return kind, [v for v in found if v is not None]


def _extreme(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    _, values = _values(rows, schema, rule)
    return Measured((min if rule["type"] == "min" else max)(values, key=rank) if values else None)


def _sum(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    kind, values = _values(rows, schema, rule)
    return _total(kind, values, 1) if values else Measured(None)


def _avg(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    kind, values = _values(rows, schema, rule)
    if not values:
        return Measured(None)
    found = _total(kind, values, len(values))
    # The mean of decimals is rounded to a scale of its own, four digits beyond the column's at best.
    least = Fraction(1, 10**18) if kind.startswith("decimal") else Fraction(0)
    return found if is_floating(kind) else Measured(found.value, tolerance=abs(found.value) / 10**9 + least)


def _total(kind: str, values: list[Any], count: int) -> Measured:
    if not is_floating(kind):
        return Measured(sum(Fraction(v) for v in values) / count)
    if not all(map(math.isfinite, values)):
        return Measured(sum(values) / count)
    return Measured(math.fsum(values) / count, tolerance=sum(abs(Fraction(v)) for v in values) / 10**9)


def _stddev(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    _, values = _values(rows, schema, rule)
    if len(values) < 2:
        return Measured(None)
    if not all(math.isfinite(v) for v in values):
        return Measured(math.nan)
    exactly = [Fraction(v) for v in values]
    return Measured(float(statistics.stdev(exactly)), tolerance=max(abs(v) for v in exactly) / 10**7)


def _freshness(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    _, values = _values(rows, schema, rule)
    if not values:
        return Measured(None)
    now = instant(rule["as_of"], world.zone) if "as_of" in rule else world.clock
    age = now - instant(max(values), world.zone)
    return Measured(Fraction(age // dt.timedelta(microseconds=1), 10**6), tolerance=Fraction(1, 10**6))


def _quantile(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    kind, values = _values(rows, schema, rule)
    if not values:
        return Measured(None)
    values.sort(key=rank)
    q, size = rule["quantile"], len(values)
    if rule.get("exact", False):
        place = Fraction(repr(q)) * (size - 1)
        low, high = values[math.floor(place)], values[math.ceil(place)]
        part = place - math.floor(place)
        if is_nan(low) or (part and is_nan(high)):
            return Measured(math.nan)
        value = Fraction(low) * (1 - part) + Fraction(high) * part
    else:
        value = values[max(math.ceil(q * size), 1) - 1]
        if is_nan(value):
            return Measured(math.nan)
        value = Fraction(value)
    return Measured(float(value) if is_floating(kind) else value, tolerance=abs(value) / 10**9)


def _completeness(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    by = [lookup(schema, c)[1] for c in rule.get("by", [])]
    absent = _not_null(rows, schema, rule, world)
    groups: dict[tuple[Any, ...], list[bool]] = {}
    for row, gone in zip(rows, absent, strict=True):
        groups.setdefault(tuple(key(get(row)) for get in by), []).append(gone)
    worst = min((share(len(g) - sum(g), len(g)) for g in groups.values()), default=None)
    return Measured(worst, tolerance=(worst or Fraction(0)) / 10**9)


def _reconciliation(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    other, theirs = world.tables[rule["source"]["path"]]
    here = _aggregate(rule["expression"], rows, schema)
    there = _aggregate(rule.get("source_expression", rule["expression"]), theirs, other)
    if here is None or there is None:
        return Measured(None)
    apart = abs(here - there)
    if not threshold(rule.get("must_be", "= 0")).is_share:
        return Measured(apart)
    if not there:
        return Measured(math.inf if apart else Fraction(0))
    relative = apart * 100 / abs(there)
    return Measured(relative, tolerance=relative / 10**9)


def _aggregate(text: str, rows: Sequence[Row], schema: Schema) -> Fraction | None:
    """``count(*)``, ``count(`c`)``, ``sum(`c`)``, ``max(`c`)`` over numbers."""
    found = re.fullmatch(r"(count|sum|max)\((?:\*|`([^`]+)`)\)", text)
    assert found is not None, text
    values = [1 if found[2] is None else lookup(schema, found[2])[1](row) for row in rows]
    present = [Fraction(v) for v in values if v is not None]
    if found[1] == "count":
        return Fraction(len(present))
    return (max(present) if found[1] == "max" else sum(present, Fraction(0))) if present else None


def _schema(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    absent = [c for c in rule.get("required_columns", []) if c not in schema]
    present = [c for c in rule.get("forbidden_columns", []) if c in schema]
    strict = rule.get("strict_types", False)
    types = [c for c, wanted in rule.get("column_types", {}).items() if c not in schema or _type(schema[c], strict) != _type(wanted, strict)]
    count = len(absent) + len(present) + len(types)
    return Measured(count, count)


def _type(name: str, strict: bool) -> str:
    name = re.sub(r"\s", "", name.lower())
    name = ALIASES.get(name, name)
    return name if strict or not name.startswith("decimal") else "decimal"


def _sql(rows: Sequence[Row], schema: Schema, rule: Rule, world: World) -> Measured:
    """Queries of four forms: all that is asked for."""
    if "failed_rows" in rule:
        found = re.fullmatch(r"(?s)SELECT \* FROM _validation_df WHERE (.+)", rule["failed_rows"])
        assert found is not None
        count = sum(map(predicate(found[1], schema, world.zone), rows))
        return Measured(count, count)
    query = rule["query"]
    if query in ("SELECT CAST(NULL AS BOOLEAN)", "SELECT TRUE WHERE FALSE"):
        return Measured(None)
    found = re.fullmatch(r"(?s)SELECT COUNT\(\*\) (=|>=) (\d+) FROM _validation_df(?: WHERE (.+))?", query)
    assert found is not None, query
    count = sum(map(predicate(found[3] or "TRUE", schema, world.zone), rows))
    return Measured(count == int(found[2]) if found[1] == "=" else count >= int(found[2]))


METRICS: dict[str, Callable[[Sequence[Row], Schema, Rule, World], Measured]] = {
    "row_count": _row_count,
    **dict.fromkeys(THRESHOLD_OF_ROWS, _of_rows),
    "duplicate_count": _duplicates,
    "duplicate_percent": _duplicates,
    "distinct_count": _distinct,
    "min": _extreme,
    "max": _extreme,
    "sum": _sum,
    "avg": _avg,
    "stddev": _stddev,
    "freshness": _freshness,
    "quantile": _quantile,
    "completeness": _completeness,
    "reconciliation": _reconciliation,
    "schema": _schema,
    "sql": _sql,
}


# --- comparison ---------------------------------------------------------------------------------------------------------
def agrees(found: Any, expected: Any, tolerance: Fraction, zone: str = "UTC") -> bool:
    """A metric's value, as the engine gives it, is the expected one: whole numbers and decimals to the last digit."""
    if expected is ANY:
        return True
    if expected is None or isinstance(expected, bool) or found is None or isinstance(found, bool):
        return found is expected
    if isinstance(expected, dt.datetime):
        return isinstance(found, str | dt.datetime) and _moment(found, zone) == expected
    if isinstance(expected, dt.date):
        return str(found) == expected.isoformat()
    if isinstance(expected, str):
        return bool(found == expected)
    if not isinstance(found, int | float | Decimal | Fraction):
        return False
    if not math.isfinite(found) or not math.isfinite(expected):
        return (math.isnan(found) and math.isnan(expected)) or float(found) == expected
    slack = max(tolerance, abs(Fraction(expected)) / 10**9 if isinstance(expected, float) else Fraction(0))
    return abs(Fraction(found) - Fraction(expected)) <= slack


def _moment(found: str | dt.datetime, zone: str) -> dt.datetime:
    if isinstance(found, dt.datetime) and found.tzinfo is None:
        return found.astimezone(dt.timezone.utc)  # PySpark gives instants in the process's own time zone
    return instant(found, zone)
