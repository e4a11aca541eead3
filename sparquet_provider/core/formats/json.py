"""The ``json`` format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..document import Source
from .files import MALFORMED, FileFormat
from .malformed import COLUMN, counted, observe, wants_count
from .options import texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


class Json(FileFormat):
    """One JSON object a line; a document that spans lines needs ``multiLine=true``.

    Columns come from the data, in alphabetical order, unless the block has a ``schema``.
    """

    name = "json"
    keeps_schema = False
    notes: ClassVar[tuple[str, ...]] = (
        "Finding out the columns reads every file once more; a schema in the block saves that.",
        "Lines that are no JSON become rows of nulls; they are counted during the run's first job and the result warns. mode=FAILFAST refuses them.",
        "A frame without rows leaves nothing that says its columns: reading it back needs a schema.",
    )

    def read(self, source: Source, run: Run) -> DataFrame:
        options = texts({}, source.options)
        if not wants_count(source):
            return super().read(source, run)
        if source.schema:
            return counted(self, source, run, options, self.load(source, run, options, source.schema).schema)
        df = self.load(source, run, {**options, COLUMN: MALFORMED}, None)
        if not df.columns:
            raise run.fault("SOURCE_EMPTY", "/path", format=self.name, found=", ".join(source.paths))
        if df.columns == [MALFORMED]:
            reason = "no line is a JSON object; is multiLine=true missing?"
            raise run.fault("SOURCE_NOT_READABLE", "/path", format=self.name, found=", ".join(source.paths), reason=reason)
        return observe(df, source, run) if MALFORMED in df.columns else df
