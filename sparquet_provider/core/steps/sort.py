"""The ``sort`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import Problem
from ..parts import references
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Sort(Step):
    """Order the rows."""

    type: ClassVar[str] = "sort"
    notes: ClassVar[tuple[str, ...]] = (
        "Nulls come first when ascending and last when descending.",
        "A later step that shuffles (join, group_by, repartition) loses the order; put the sort last.",
    )

    columns: Annotated[tuple[str, ...], Field("The names of the columns, most significant first.", example=["ordered_at", "id"], nonempty=True)]
    ascending: Annotated[bool | tuple[bool, ...], Field("One direction for all, or a list with one for each column.", example=[False, True])] = True

    def check(self, at: str) -> Iterator[Problem]:
        if isinstance(self.ascending, tuple) and len(self.ascending) != len(self.columns):
            reason = f"ascending has {len(self.ascending)} directions for {len(self.columns)} columns"
            remedy = "Give one direction for each column, or a single true or false."
            yield Problem("INVALID_COMBINATION", at + "/ascending", {"reason": reason, "remedy": remedy})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        found = references(df, self.columns, run, "/columns")
        directions = self.ascending if isinstance(self.ascending, tuple) else (self.ascending,) * len(found)
        return df.sort(*[F.col(c.sql).asc() if up else F.col(c.sql).desc() for c, up in zip(found, directions, strict=True)])
