"""What a format is: how its path is read, which modes it has, and how it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ..document import Output, Source
from ..errors import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..engine import Engine, Node


@dataclass(frozen=True)
class Written:
    """What a write did. ``rows`` is None, with ``reason``, when neither engine nor table can tell."""

    rows: int | None = None
    reason: str | None = None
    version: int | str | None = None
    files: int | None = None
    bytes: int | None = None
    #: False when mode ignore found something and kept it.
    wrote: bool = True
    details: dict[str, Any] = field(default_factory=dict)


class Format:
    """A storage format. The docstring of a subclass is its reference page; the first line is for users."""

    name: ClassVar[str] = ""
    readable: ClassVar[bool] = False
    writable: ClassVar[bool] = False
    #: The modes that the writer knows; None leaves the mode to a custom writer, as written.
    modes: ClassVar[tuple[str, ...] | None] = ("overwrite", "append", "ignore", "error")
    #: True when a read sees one version while the same run overwrites it (table formats).
    versioned: ClassVar[bool] = False
    #: True when ``path`` names directories and files, so that reading and overwriting one place destroys it.
    path_based: ClassVar[bool] = False
    #: Maven coordinates of the connector, when Spark does not bring it.
    package: ClassVar[str | None] = None
    #: True when a block of this format may name a connection.
    takes_connection: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    def packages_for(self, options: Mapping[str, Any], kind: str | None) -> tuple[str, ...]:
        """The packages that a block with those options needs; ``kind`` is the type of its connection, when that is known."""
        return (self.package,) if self.package else ()

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        """Defects of an input block that this format can see without Spark."""
        yield from ()

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        """Defects of an output block that this format can see without Spark."""
        yield from ()

    def read(self, source: Source, run: Run) -> DataFrame:
        """The rows of a source, lazily."""
        raise NotImplementedError

    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        """Write the frame whole or not at all, and say what was written."""
        raise NotImplementedError

    def prepare_target(self, output: Output, run: Run) -> None:
        """Make what the target lies in, when the document names the table by catalog and layer."""

    def comment(self, output: Output, table: str | None, columns: Mapping[str, str], run: Run) -> None:
        """Write descriptions as comments of the table and its columns; formats without a catalogue have none."""

    def writes_sides(self, sides: Mapping[str, Output], engine: Engine) -> bool:
        """True when :meth:`write_sides` can write those sides of a split in one job."""
        return False

    def write_sides(self, df: DataFrame, flag: str, sides: Mapping[str, Output], run: Run) -> dict[str, Written]:
        """Write a frame in two parts: rows whose ``flag`` is true to the side ``invalid``, the others to ``valid``; neither has that column."""
        raise NotImplementedError

    def rows_read(self, source: Source, engine: Engine, before: int) -> tuple[int | None, str | None]:
        """Rows that the source's scan gave since that execution, at no extra job; None and the reason when unknown.

        An execution may read a part only (a look for one row), so the largest figure of all executions counts.
        """
        if engine.connect:
            return None, "Spark Connect does not tell what a scan returned"
        most: int | None = None
        for execution in engine.executions_after(before):
            counts = [n.metrics["number of output rows"] for n in execution.scans() if "number of output rows" in n.metrics and self.is_scan(n, source)]
            if counts and execution.samples:
                return None, "a sort read a sample of the rows first, and the engine counts both reads as one"
            if len(set(counts)) > 1:
                return None, "one job read the source more than once, with different filters"
            most = max(most or 0, *counts) if counts else most
        return (most, None) if most is not None else (None, "no job read the source, or its scan keeps no figures")

    def is_scan(self, node: Node, source: Source) -> bool:
        """True when a node of an executed plan reads that source."""
        return False
