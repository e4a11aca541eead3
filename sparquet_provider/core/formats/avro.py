"""The ``avro`` format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..jars import AVRO
from .files import FileFormat

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


class Avro(FileFormat):
    """Row files with their own schema, as streaming systems write them.

    Options are Spark's: ``avroSchema`` (an Avro schema as JSON, for columns in another order, with defaults or fewer of them),
    ``recursiveFileLookup`` and ``pathGlobFilter`` when reading; ``recordName``, ``recordNamespace`` and ``compression`` (snappy by
    default) when writing. A ``schema`` in the block names the columns to read, by name.
    """

    name = "avro"
    package = AVRO
    notes: ClassVar[tuple[str, ...]] = (
        "Column names that Avro does not allow (blanks, accents) are an error when writing: rename them first.",
        "Every column is read back as one that may be null.",
    )

    def holds(self, kind: DataType) -> bool:
        return kind.typeName() not in ("void", "variant") and "interval" not in kind.typeName()
