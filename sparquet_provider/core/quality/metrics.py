"""What can be measured: frozen values, so that equal ones merge and are measured once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Aggregate:
    """One SQL aggregate over the frame; all of them share one pass. ``filter`` narrows the rows."""

    sql: str
    filter: str | None = None

    def expression(self) -> str:
        """The aggregate with its filter, as SQL."""
        return f"{self.sql} FILTER (WHERE {self.filter})" if self.filter else self.sql


@dataclass(frozen=True)
class RepeatedRows:
    """The number of rows whose key stands more than once; nulls compare equal. ``columns`` are SQL references."""

    columns: tuple[str, ...]
    filter: str | None = None


@dataclass(frozen=True)
class Query:
    """One SQL query over the view ``_validation_df``: its first value, or the number of its rows."""

    sql: str
    counts_rows: bool
    filter: str | None = None


Metric = Aggregate | RepeatedRows | Query
Values = Mapping[Metric, Any]

#: The number of rows; every suite measures it.
ROWS = Aggregate("count(1)")


def count_if(predicate: str, filter: str | None = None) -> Aggregate:
    """The number of rows for which a predicate is true."""
    return Aggregate(f"count_if({predicate})", filter)


@dataclass(frozen=True)
class Verdict:
    """The judgement of one rule; ``failed_count`` counts rows."""

    passed: bool
    message: str
    failed_count: int = 0
    metric_value: Any = None
    warned: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
