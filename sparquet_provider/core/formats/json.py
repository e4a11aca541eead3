"""The ``json`` format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..document import Source
from .files import MALFORMED, FileFormat
from .malformed import read_counted, wants_count

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
        def refuse(names: list[str]) -> None:
            if not names:
                raise run.fault("SOURCE_EMPTY", "/path", format=self.name, found=", ".join(source.paths))
            if names == [MALFORMED]:
                reason = "no line is a JSON object; is multiLine=true missing?"
                raise run.fault("SOURCE_NOT_READABLE", "/path", format=self.name, found=", ".join(source.paths), reason=reason)

        return read_counted(self, source, run, refuse) if wants_count(source) else super().read(source, run)
