"""The ``xml`` format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ..document import Source
from ..errors import Problem
from .files import MALFORMED, FileFormat
from .malformed import read_counted, wants_count
from .options import option

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


class Xml(FileFormat):
    """XML: every element of one name is a row.

    ``options.rowTag`` names that element (``<order>…</order>``: ``order``). Attributes become columns with ``_`` in front, the
    text of an element with attributes becomes ``_VALUE``, repeated elements become an array. Other options are Spark's:
    ``attributePrefix``, ``valueTag``, ``rowValidationXSDPath``, ``timestampFormat``; ``rootTag`` and ``declaration`` when writing.
    """

    name = "xml"
    keeps_schema = False
    notes: ClassVar[tuple[str, ...]] = (
        "Finding out the columns reads every file once more; a schema in the block saves that.",
        "Elements that do not fit become rows of nulls; they are counted during the run's first job and the result warns. mode=FAILFAST refuses them.",
        "An element that is not closed ends the file there.",
        "Written without rowTag, a row is <ROW> inside <ROWS>.",
    )

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from super().check_source(source, at)
        if not option(source.options, "rowTag"):
            yield Problem("MISSING_KEY", at + "/options", {"expected": "rowTag", "nearest": "", "hint": ", the name of the element that is a row"})

    def read(self, source: Source, run: Run) -> DataFrame:
        def refuse(names: list[str]) -> None:
            if not [name for name in names if name != MALFORMED]:
                reason = f"it has no element <{option(source.options, 'rowTag')}> with content"
                raise run.fault("SOURCE_NOT_READABLE", "/options/rowTag", format=self.name, found=", ".join(source.paths), reason=reason)

        return read_counted(self, source, run, refuse) if wants_count(source) else super().read(source, run)
