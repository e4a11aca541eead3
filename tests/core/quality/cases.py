"""Cases of quality rules as data: a YAML document holds a frame and what each of several rules says of it.

Several documents may stand in one file, parted by ``---``. The keys:

    why      one sentence, the name of the case
    schema   Spark DDL;  rows  lists of values; dates, decimals, NaN are written as text, instants with their offset
    zone     the session's time zone (UTC);  conf  more settings of the session
    tables   other tables, as views: {name: {schema, rows}}
    as_of    the clock of freshness rules
    checks   what is measured, all in one run: [{rule, severity, failed, metric, error, bad, near, oracle}]

A check: ``severity`` pass, warn or fail; ``failed`` the count; ``metric`` the value (``near`` says how far a floating one may be off);
``error`` the code of the fault that kept the rule from running (severity and failed need not be said then); ``bad`` the numbers
of the rows that the split puts aside, from 0. What is not said is not compared, save that an ``error`` must be expected.
``oracle: false`` where the oracle does not know the rule.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from tests.core.quality.oracle import World
from tests.core.quality.words import instant, is_floating

FOLDER = Path(__file__).parents[2] / "cases" / "quality"


def all_cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every document of the folder, named by its file and what it says."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for case in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield f"{path.stem}: {case['why']}", case


def rules_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules of a case, each with a code of its own."""
    return [{"code": f"c{i}", **check["rule"]} for i, check in enumerate(case["checks"])]


def kinds_of(ddl: str) -> dict[str, str]:
    """Columns and types of a DDL text."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(ddl):
        depth += (c in "<(") - (c in ">)")
        if c == "," and not depth:
            found.append(ddl[start:i])
            start = i + 1
    parts = [p.strip() for p in [*found, ddl[start:]]]
    cut = [p[1:].partition("` ") if p.startswith("`") else p.partition(" ") for p in parts]
    return {name.replace("``", "`"): kind.strip() for name, _, kind in cut}


def value_of(value: Any, kind: str, zone: str) -> Any:
    """A value of YAML as the oracle reads it."""
    if value is None:
        return None
    if is_floating(kind):
        return float(value)
    if kind.startswith("decimal"):
        return Decimal(str(value))
    if kind == "date":
        return dt.date.fromisoformat(value)
    return instant(value, zone) if kind.startswith("timestamp") else value


def rows_of(table: dict[str, Any], zone: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Columns and rows for the oracle."""
    schema = kinds_of(table["schema"])
    return schema, [{c: value_of(v, kind, zone) for (c, kind), v in zip(schema.items(), row, strict=True)} for row in table["rows"]]


def world_of(case: dict[str, Any]) -> World:
    """The surroundings for the oracle."""
    zone = case.get("zone", "UTC")
    tables = {name: rows_of(table, zone) for name, table in case.get("tables", {}).items()}
    return World(instant(case["as_of"], zone) if "as_of" in case else World().clock, zone, tables)


def metric_of(check: dict[str, Any], zone: str) -> tuple[Any, Fraction]:
    """The expected value of a check's metric and how far it may be off. A text is what it looks like."""
    value = check["metric"]
    if isinstance(value, str):
        value = next(v for read in (Decimal, dt.date.fromisoformat, lambda t: instant(t, zone), str) if (v := _try(read, value)) is not None)
    value = float("nan") if isinstance(value, Decimal) and value.is_nan() else value
    return value, Fraction(str(check.get("near", 0)))


def _try(read: Any, text: str) -> Any:
    try:
        return read(text)
    except (ValueError, ArithmeticError):
        return None
