"""The ``repartition`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..columns import Columns
from ..document import Step
from ..errors import Problem, pointer
from ..parts import at_once
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run


@spec
class Repartition(Step):
    """Spread the rows anew over partitions: the cost changes, never the data."""

    type: ClassVar[str] = "repartition"
    passes_through: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "One file is written for each task and directory that holds rows: repartition by the expressions of the output's partition_by to get one file for each "
        "directory.",
        "coalesce merges partitions without a shuffle; with a very small number it also slows the steps before it.",
    )

    num_partitions: Annotated[int | None, Field("How many partitions to make.", example=64)] = None
    columns: Annotated[tuple[str, ...], Field("Column names or SQL expressions; rows with equal values share a partition.", example=["dt"], sql=True)] = ()
    coalesce: Annotated[bool, Field("Merge partitions without a shuffle; the number can only shrink.", example=True)] = False
    range: Annotated[bool, Field("Split by ranges of the values instead of their hash.", example=True)] = False

    def check(self, at: str) -> Iterator[Problem]:
        def wrong(key: str, reason: str, remedy: str) -> Problem:
            return Problem("INVALID_COMBINATION", at + key, {"reason": reason, "remedy": remedy})

        if self.num_partitions is not None and self.num_partitions < 1:
            yield Problem("TOO_SMALL", at + "/num_partitions", {"found": self.num_partitions, "expected": 1})
        if self.coalesce and self.columns:
            yield wrong("/columns", "coalesce only merges neighbours, there is no key to group by", "Remove columns, or coalesce.")
        if self.coalesce and self.range:
            yield wrong("/range", "coalesce only merges neighbours, it cannot split by ranges", "Remove range, or coalesce.")
        if self.coalesce and self.num_partitions is None:
            yield wrong("/coalesce", "coalesce needs a number to shrink to", "Add num_partitions.")
        if self.range and not self.columns:
            yield wrong("/range", "range needs columns whose values it can split", "Add columns.")
        if self.num_partitions is None and not self.columns and not self.coalesce and not self.range:
            yield wrong("", "there is neither num_partitions nor columns, so nothing says how to spread the rows", "Add one of them, or both.")

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        if self.coalesce:
            return df.coalesce(self.num_partitions or 1)
        columns = self._columns(df)
        probes = [(pointer("columns", i), lambda frame, c=c: frame.select(c)) for i, c in enumerate(columns)]
        return at_once(df, run, lambda: self._spread(df, columns), probes)

    def _spread(self, df: DataFrame, columns: list[Column]) -> DataFrame:
        spread = df.repartitionByRange if self.range else df.repartition
        if self.num_partitions is None:
            return spread(*columns)
        return spread(self.num_partitions, *columns)

    def _columns(self, df: DataFrame) -> list[Column]:
        from pyspark.sql import functions as F

        known = Columns.of(df)
        return [F.col(known.find(c).sql) if c in known.names else F.expr(c) for c in self.columns]
