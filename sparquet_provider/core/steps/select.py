"""The ``select`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import pointer
from ..parts import at_once
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Select(Step):
    """Keep and compute the listed columns, in their order."""

    type: ClassVar[str] = "select"
    notes: ClassVar[tuple[str, ...]] = (
        "Every entry is an SQL expression, also a bare name: a column whose name has blanks, dots or is a reserved word needs backticks (`my column`).",
        "a.b is the field b of the struct a, never a column called a.b; write `a.b` in backticks for that one.",
        "A * stands for every column.",
    )

    columns: Annotated[
        tuple[str, ...],
        Field("Column names or SQL expressions with aliases.", example=["id", "customer", "to_json(payload) AS value"], sql=True, nonempty=True),
    ]

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        probes = [(pointer("columns", i), lambda frame, c=c: frame.selectExpr(c)) for i, c in enumerate(self.columns)]
        return at_once(df, run, lambda: df.selectExpr(*self.columns), probes)
