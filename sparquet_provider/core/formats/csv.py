"""The ``csv`` format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..document import Source
from .files import FileFormat
from .malformed import counted, wants_count
from .options import texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from ..context import Run


class Csv(FileFormat):
    """Comma-separated text with a header line.

    Defaults beside Spark's own: ``header=true``; ``inferSchema=true`` unless the block has a ``schema``; a quote inside
    a quoted field is doubled (RFC 4180: ``quote`` and ``escape`` are both ``"``), for reading and for writing; blanks around
    values are kept. The encoding is UTF-8 (a byte order mark is tolerated); for another say ``encoding``. Line breaks
    inside quotes need ``multiLine=true``.
    """

    name = "csv"
    read_defaults = {"header": True, "inferSchema": True, "quote": '"', "escape": '"'}
    write_defaults = {"header": True, "quote": '"', "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    notes: ClassVar[tuple[str, ...]] = (
        "Finding out the types reads every file once more; a schema in the block saves that.",
        "Rows with too few, too many or unreadable fields are cut or filled with nulls; they are counted during the run's first job, "
        "and the result warns. mode=FAILFAST refuses them.",
        "An empty text and nothing at all are both read as null.",
        "Columns are matched by position; files of one folder must have the same columns in the same order.",
    )

    def read(self, source: Source, run: Run) -> DataFrame:
        options = texts(self.read_defaults, source.options)
        if source.schema:
            options["inferSchema"] = "false"
        counts = wants_count(source)
        # The parser sees that a row is too short or too long only when it is not told to skip columns.
        exact = options if not source.schema and counts else {"columnPruning": "false", **options}
        plain = self.load(source, run, exact, source.schema)
        if not plain.columns:
            raise run.fault("SOURCE_EMPTY", "/path", format=self.name, found=", ".join(source.paths))
        if not counts:
            return plain
        return counted(self, source, run, {"columnPruning": "false", **options}, plain.schema)

    def holds(self, kind: DataType) -> bool:
        return kind.typeName() not in ("array", "map", "struct", "binary", "variant")
