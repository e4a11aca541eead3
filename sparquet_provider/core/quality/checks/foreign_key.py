"""The ``foreign_key`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Source
from ...errors import Problem
from ...spec import Field, spec
from ..kinds import ColumnsRule
from ..metrics import Metric, Partnerless, Values, Verdict
from ..wording import joined, listed, rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class ForeignKey(ColumnsRule):
    """Fail for keys that stand nowhere in another source; a key with a null passes."""

    type: ClassVar[str] = "foreign_key"
    dimension: ClassVar[str] = "consistency"
    measured_in: ClassVar[str] = "source"
    blames_rows: ClassVar[bool] = True

    source: Annotated[Source, Field("The source that holds the keys.", example={"format": "delta", "path": "sales.customers"})]
    source_columns: Annotated[tuple[str, ...], Field("The key's columns there; the same names when absent.", example=["id"], one_or_more=True)] = ()

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.source_columns and len(self.source_columns) != len(self.columns):
            reason = f"columns names {len(self.columns)}, source_columns {len(self.source_columns)}"
            yield Problem("INVALID_COMBINATION", at + "/source_columns", {"reason": reason, "remedy": "Name as many on both sides."})

    def sources(self) -> Iterator[tuple[str, Source]]:
        yield "source", self.source

    def expression(self) -> str:
        return f"foreign_key({joined(self.columns)})"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        families = tuple(c.family for c in self.found(columns))
        return (Partnerless(self.key(columns), families, self.source_columns or self.columns, repr(self.source), self.source, self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        return Verdict(failed == 0, f"{rows(failed)} {self.wrong()}", failed, failed)

    def wrong(self) -> str:
        """What is wrong with a bad row."""
        return f"with {listed(self.columns)} not in {', '.join(self.source.paths)}"

    def reason(self) -> str:
        return self.error_message or self.wrong()
