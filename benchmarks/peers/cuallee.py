"""cuallee: exact and approximate uniqueness. It has no rule on the number of rows, so a predicate that always holds stands in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuallee import Check, CheckLevel

from .. import orders
from .measure import measure

_LATEST = "created_at > '2000-01-01'"


def rules(spark: Any, place: Path, approximate: bool) -> dict[str, float]:
    """The suite. Minimum, maximum and mean can only be compared with one value, so they say nothing of what they found."""
    true = orders.facts(place)
    check = Check(CheckLevel.WARNING, "orders")
    for column in ("id", "order_code", "email", "status", "amount"):
        check.is_complete(column)
    for column in ("id", "order_code"):
        check.is_unique(column, approximate=approximate)
    for column, bounds in orders.BOUNDS.items():
        check.is_between(column, bounds)
    check.has_pattern("email", orders.EMAIL)
    check.has_pattern("phone", orders.PHONE)
    check.is_contained_in("country", orders.COUNTRIES)
    check.is_contained_in("status", orders.STATUSES)
    check.satisfies("qty", "qty >= 0")
    check.is_complete("discount", 0.94)
    check.is_unique("email", 0.1, approximate=approximate)
    check.has_min("amount", true["min amount"])
    check.has_max("qty", true["max qty"])
    check.has_mean("discount", true["avg discount"])
    check.satisfies("created_at", _LATEST)
    kinds = {"is_complete": "null", "is_between": "outside or null", "has_pattern": "mismatched or null", "is_contained_in": "other or null"}
    found: dict[str, float] = {}
    for row in check.validate(orders.read(spark, place)).collect():
        found["rows"] = row.rows
        if row.rule in kinds:
            found[f"{kinds[row.rule]} {row.column}"] = row.violations
        elif row.rule == "is_unique" and not approximate:
            found[f"surplus {row.column}"] = row.violations - true[f"null {row.column}"]
    return found


if __name__ == "__main__":
    measure({"cuallee": lambda s, p: rules(s, p, False), "cuallee, approximate uniqueness": lambda s, p: rules(s, p, True)})
