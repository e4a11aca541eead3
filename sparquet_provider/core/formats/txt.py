"""The ``txt`` format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .files import FileFormat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from ..context import Run
    from ..document import Output


class Txt(FileFormat):
    """Plain text: one row a line, in the column ``value``.

    Options are Spark's: ``wholetext`` (one row a file), ``lineSep``, ``compression``. A frame that is written must have
    one text column beside those in ``partition_by``.
    """

    name = "txt"
    spark_name = "text"
    keeps_schema = False
    notes: ClassVar[tuple[str, ...]] = ("To write several columns, make one text of them first: to_json(struct(*)) AS value.",)

    def holds(self, kind: DataType) -> bool:
        return kind.typeName() in ("string", "char", "varchar")

    def _check_columns(self, df: DataFrame, output: Output, run: Run) -> None:
        super()._check_columns(df, output, run)
        by = {name.casefold() for name in output.partition_by}
        lines = [name for name in df.columns if name.casefold() not in by]
        if len(lines) > 1:
            reason = f"txt writes one column, found {len(lines)}: {', '.join(lines)}"
            raise run.fault("INVALID_COMBINATION", reason=reason, remedy="Select one column, or make one text of them (to_json).")


class Text(Txt):
    """The same as ``txt``, by Spark's name."""

    name = "text"
