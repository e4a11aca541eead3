"""DQX by Databricks Labs: splits only. Its core works on any Spark; the client of a workspace is a stand-in that is never asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from databricks.labs.dqx.engine import DQEngineCore
from databricks.sdk import WorkspaceClient

from .. import orders, split
from .measure import measure


def _check(name: str, function: str, **arguments: Any) -> dict[str, Any]:
    return {"criticality": "error", "name": name, "check": {"function": function, "arguments": arguments}}


CHECKS = [
    *(_check(f"null_{c}", "is_not_null", column=c) for c in ("email", "amount", "status")),
    _check("amount", "is_in_range", column="amount", min_limit=0, max_limit=10_000),
    _check("email", "regex_match", column="email", regex=orders.EMAIL),
    # Its range takes whole numbers and dates only.
    _check("discount", "sql_expression", expression=f"discount BETWEEN 0 AND {split.DISCOUNT}"),
]


def sides(spark: Any, place: Path, valid: Path, invalid: Path) -> None:
    """Two frames, written one after the other."""
    engine = DQEngineCore(MagicMock(spec=WorkspaceClient), spark)
    good, bad = engine.apply_checks_by_metadata_and_split(orders.read(spark, place), CHECKS)
    good.write.mode("overwrite").parquet(str(valid))
    bad.write.mode("overwrite").parquet(str(invalid))


if __name__ == "__main__":
    measure(splits={"dqx": sides})
