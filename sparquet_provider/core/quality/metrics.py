"""What can be measured: frozen values, so that equal ones merge and are measured once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..document import Source


@dataclass(frozen=True)
class Aggregate:
    """One SQL aggregate over the frame; all of them share one pass.

    ``filter`` narrows the rows; ``within`` is an SQL expression around the aggregate, which stands at its ``{}``.
    """

    sql: str
    filter: str | None = None
    within: str = "{}"

    def expression(self) -> str:
        """The whole as SQL."""
        # On a line of its own: the filter may end in a comment.
        filtered = f"{self.sql} FILTER (WHERE {self.filter}\n)" if self.filter else self.sql
        return self.within.replace("{}", filtered)


@dataclass(frozen=True)
class Keys:
    """How often the values of a key occur, as :class:`KeyCounts`. ``columns`` are SQL references, ``types`` what they hold.

    All rules over one key share this measurement: it asks for everything that any of them needs.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    filter: str | None = None


@dataclass(frozen=True)
class KeyCounts:
    """``rows`` and ``distinct`` count keys without a null; ``repeated`` the rows whose key stands more than once (nulls compare equal).

    Keys of nulls alone are in none of them. ``exact`` is False for counts by 64-bit hashes that were not verified.
    """

    rows: int
    distinct: int
    repeated: int
    exact: bool = True


@dataclass(frozen=True)
class Query:
    """One SQL query over the view ``_validation_df``: its first row as a tuple, or the number of its rows."""

    sql: str
    counts_rows: bool
    filter: str | None = None


@dataclass(frozen=True)
class Partnerless:
    """The number of rows whose key, when it has no null, stands nowhere in another source. ``families`` are those of the columns' types."""

    columns: tuple[str, ...]
    families: tuple[str, ...]
    source_columns: tuple[str, ...]
    place: str
    source: Source = field(compare=False)
    filter: str | None = None


@dataclass(frozen=True)
class Elsewhere:
    """One SQL aggregate over another source. ``place`` tells sources apart."""

    sql: str
    place: str
    source: Source = field(compare=False)


@dataclass(frozen=True)
class History:
    """The figures that a rule had in earlier runs, newest first, at most ``last``; from a report that was written before."""

    place: str
    rule_uid: str
    previous_name: str | None
    last: int
    source: Source = field(compare=False)


@dataclass(frozen=True)
class Clock:
    """The time by which freshness is judged: the run's, or ``as_of``."""

    as_of: str | None = None


@dataclass(frozen=True)
class Known:
    """What the schema tells without a job."""

    value: Any


Metric = Aggregate | Keys | Query | Partnerless | Elsewhere | History | Clock | Known
Values = Mapping[Metric, Any]

#: The number of rows; every suite measures it.
ROWS = Aggregate("count(1)")


def count_if(predicate: str, filter: str | None = None) -> Aggregate:
    """The number of rows for which a predicate is true."""
    return Aggregate(f"count_if({predicate})", filter)


def rows_of(filter: str | None) -> Aggregate:
    """The number of rows that a rule with this filter measures."""
    return Aggregate(ROWS.sql, filter)


@dataclass(frozen=True)
class Verdict:
    """The judgement of one rule; ``failed_count`` counts rows."""

    passed: bool
    message: str
    failed_count: int = 0
    metric_value: Any = None
    warned: bool = False
