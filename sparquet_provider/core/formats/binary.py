"""The ``binary`` format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..document import Source
from ..errors import Problem
from .files import FileFormat
from .options import does_nothing


class Binary(FileFormat):
    """Whole files, one a row: ``path``, ``modificationTime``, ``length`` and ``content`` (bytes). For reading only.

    Options are Spark's: ``pathGlobFilter`` (``*.pdf``), ``recursiveFileLookup``, ``modifiedAfter``. Filters on path, time and
    length are done before a file is opened, and without ``content`` none is opened at all.
    """

    name = "binary"
    spark_name = "binaryFile"
    writable = False
    modes: ClassVar[tuple[str, ...] | None] = ()
    notes: ClassVar[tuple[str, ...]] = (
        "A file is one value in memory: for files of more than some hundred megabytes leave content out.",
        "Spark skips files without content: they give no row.",
    )

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from super().check_source(source, at)
        if source.schema:
            yield does_nothing(at + "/schema", "schema", "for binary: the columns are always the same", "cast the columns in a step")
