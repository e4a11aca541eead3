"""The ``orc`` format."""

from __future__ import annotations

from typing import ClassVar

from .files import FileFormat


class Orc(FileFormat):
    """Columnar files of the Hive world, with their own schema.

    Options are Spark's: ``mergeSchema`` when reading, ``compression`` when writing.
    """

    name = "orc"
    notes: ClassVar[tuple[str, ...]] = (
        "An overwrite is written beside the old data and then takes its place; on object stores Spark removes the old data first.",
    )
