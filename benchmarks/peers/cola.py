"""sparquet-cola: the rules have the shape of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparquet_cola import Cola

from .. import orders, split, suite
from .measure import measure


def rules(spark: Any, place: Path) -> dict[str, float]:
    """The suite. Its unique counts the rows beyond the distinct keys, and its duplicate_percent takes null for a value."""
    return suite.by_rules(Cola(), spark, place, unique="surplus", duplicate_percent="surplus percent, null as a value,")


def sides(spark: Any, place: Path, valid: Path, invalid: Path) -> None:
    """Two frames, written one after the other."""
    both = Cola().split(orders.read(spark, place), list(split.RULES.values()), annotate="reasons")
    both.valid.write.mode("overwrite").parquet(str(valid))
    both.invalid.write.mode("overwrite").parquet(str(invalid))


if __name__ == "__main__":
    measure({"sparquet-cola": rules}, {"sparquet-cola": sides})
