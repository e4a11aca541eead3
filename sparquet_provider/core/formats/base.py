"""What a format is: how its path is read, which modes it has, and how it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ..document import Output, Source
from ..errors import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


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
    notes: ClassVar[tuple[str, ...]] = ()

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
