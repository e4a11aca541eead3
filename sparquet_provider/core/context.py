"""What a step, a format or a rule may use while it runs: one object, passed in."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from .connections import Connection, Connections
from .errors import Problem, SparquetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .document import Source, Step
    from .engine import Engine

log = logging.getLogger("sparquet")


class Following(Protocol):
    """What comes after a step: another step, or an operation of a preparation."""

    @property
    def type(self) -> str:
        """Its name in documents."""


class Stopped(Exception):
    """A stop_if_empty step found nothing to do; not a fault."""


@dataclass
class Run:
    """One run of one document.

    ``at`` is the place of the part that is running, so that faults and warnings carry it. ``variables`` are the
    collected runtime values. ``literals`` are the columns that the run adds to its input. ``deferred`` holds
    questions that can be answered only after an action: each is called once at the end, with the success of the run, and may warn. ``following``
    are the steps after this one in its chain. ``origins`` says, by lower-case name, from where a join brought the two
    columns of one name. ``uncounted`` is the reason why no figures may be taken here (a throwaway copy, a join's side).
    ``name`` and ``run_id`` tell this run from others in a history. ``as_of`` is the clock of freshness, the start of the
    run when absent. ``sample_rows`` is how many rows of data a message may show. ``schemas`` are the document's named
    schemas. ``watermark`` is the mark of the previous run, ``mark`` the one of this run. ``connections`` are the servers that
    blocks name. ``valid_texts`` are columns whose texts are known to be UTF-8.
    """

    spark: SparkSession
    engine: Engine
    ingestion_ts: dt.datetime
    read_source: Callable[[Source, Run], DataFrame]
    run_chain: Callable[[DataFrame, tuple[Step, ...], Run], DataFrame]
    literals: Mapping[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    deferred: list[Callable[[bool], None]] = field(default_factory=list)
    following: tuple[Following, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)
    uncounted: str = ""
    at: str = ""
    name: str = ""
    run_id: str = ""
    as_of: str | None = None
    schemas: Mapping[str, str] = field(default_factory=dict)
    watermark: Mapping[str, Any] = field(default_factory=dict)
    mark: dict[str, Any] = field(default_factory=dict)
    sample_rows: int = 0
    connections: Connections = field(default_factory=Connections)
    valid_texts: set[str] = field(default_factory=set)

    def placed(self, at: str) -> Run:
        """The same run, standing at another place of the document."""
        return replace(self, at=at)

    def warn(self, code: str, at: str = "", **facts: Any) -> None:
        """Record a warning at this place (``at`` is relative to it)."""
        problem = Problem(code, self.at + at, facts, "warning")
        if problem not in self.warnings:
            self.warnings.append(problem)
            log.warning("%s", problem)

    def fault(self, code: str, at: str = "", *, cause: BaseException | None = None, **facts: Any) -> SparquetError:
        """An error at this place, to be raised by the caller."""
        return SparquetError(code, self.at + at, cause=cause, **facts)

    def connection(self, name: str | None) -> Connection | None:
        """The connection that the block at this place names; None when it names none."""
        return self.connections.find(name, self.at + "/connection") if name else None

    def read(self, source: Source, at: str) -> DataFrame:
        """Read another source (the right side of a join)."""
        return self.read_source(source, self.placed(self.at + at))

    def chain(self, df: DataFrame, steps: tuple[Step, ...], at: str) -> DataFrame:
        """Apply a nested list of steps."""
        return self.run_chain(df, steps, self.placed(self.at + at))
