"""The ``group_by`` step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from ..document import Step
from ..errors import Problem, pointer
from ..parts import at_once, reference, references
from ..spec import Field, Parse, Spec, spec
from ..text import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

    from ..context import Run


@spec
class Pivot(Spec):
    """The column whose values become columns."""

    column: Annotated[str, Field("The name of the column.", example="month", nonempty=True)]
    values: Annotated[
        tuple[str | bool | int | float, ...],
        Field("The values that become columns, in this order; naming them saves the job that looks for them.", example=["jan", "feb", "mar"]),
    ] = ()


@spec
class GroupBy(Step):
    """Group the rows and aggregate each group, with an optional pivot."""

    type: ClassVar[str] = "group_by"
    reduces: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Every column that is neither in by nor made by agg disappears.",
        "An empty list for by aggregates the whole frame into one row.",
        "With pivot and one aggregate the new columns are called as the values; with several, value_alias. A null value gives a column called null.",
        "Without pivot.values Spark runs a job to find them, and the columns depend on the data; an empty list counts as absent.",
    )

    by: Annotated[tuple[str, ...], Field("The names of the columns to group by.", example=["customer_id", "country"])]
    agg: Annotated[
        tuple[str, ...],
        Field("Aggregate expressions with aliases.", example=["sum(revenue) as revenue_total", "count(*) as orders"], sql=True, nonempty=True),
    ]
    pivot: Annotated[str | Pivot | None, Field("A column, or an object with column and values.", example={"column": "month", "values": ["jan", "feb"]})] = None

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read the step; an agg given as a map is refused with the reason."""
        agg = next((v for k, v in raw.items() if plain(str(k)) == "agg"), None) if isinstance(raw, Mapping) else None
        if not isinstance(agg, Mapping):
            return super().parse(raw, at, parse)
        first = [(plain(str(k)), plain(str(v))) for k, v in agg.items()][:1]
        example = "".join(f"{v} as {k}" if "(" in v else f"{v}({k}) as {k}" for k, v in first) or "sum(revenue) as revenue_total"
        parse.error(
            "WRONG_TYPE", at + "/agg", found="an object", expected="a list of texts",
            hint=f': a map cannot name its results, and holds one function for each column; write ["{example}"]',
        )
        super().parse({**raw, "agg": ["count(*)"]}, at, parse)
        return None

    def check(self, at: str) -> Iterator[Problem]:
        if self.pivot is not None and not isinstance(self.pivot, Pivot) and not self.pivot.strip():
            yield Problem("EMPTY_VALUE", at + "/pivot", {"expected": "the name of a column", "hint": ""})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        by = [F.col(c.sql) for c in references(df, self.by, run, "/by")]
        grouped: GroupedData = df.groupBy(*by)
        if self.pivot is not None:
            place, pivot = ("/pivot/column", self.pivot) if isinstance(self.pivot, Pivot) else ("/pivot", Pivot(column=self.pivot))
            grouped = grouped.pivot(reference(df, pivot.column, run, place).sql, list(pivot.values) or None)
        probes = [(pointer("agg", i), lambda frame, a=a: frame.groupBy(*by).agg(F.expr(a))) for i, a in enumerate(self.agg)]
        return at_once(df, run, lambda: grouped.agg(*[F.expr(a) for a in self.agg]), probes)
