"""The ``parquet`` format."""

from __future__ import annotations

from typing import ClassVar

from .files import FileFormat


class Parquet(FileFormat):
    """Columnar files with their own schema; the default choice for plain files.

    Options are Spark's: ``mergeSchema`` and ``basePath`` when reading, ``compression`` when writing. A ``schema`` in the
    block names the columns to read, which saves looking into a file.
    """

    name = "parquet"
    notes: ClassVar[tuple[str, ...]] = (
        "An overwrite is written beside the old data and then takes its place; on object stores Spark removes the old data first: "
        "use delta or iceberg there.",
        "Overwrite one day: partition_by with the option partitionOverwriteMode=dynamic; running it twice leaves the same data.",
    )
