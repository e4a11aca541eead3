"""The ``cast`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..casting import check_type, try_casts
from ..document import Step
from ..errors import Problem, pointer
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Cast(Step):
    """Convert columns to other types; what cannot be converted becomes null."""

    type: ClassVar[str] = "cast"
    notes: ClassVar[tuple[str, ...]] = (
        "A value that does not convert becomes null, also under ANSI mode. The result warns with the number of values lost in each column.",
        "They are counted while the rows are written, at no extra pass; where counting would keep a filter from the source, or a later step reads only a "
        "part of the rows, the warning says that they were not counted.",
        "Pairs of types that never convert (date to int, array to int) are an error.",
        "Names are exact: a.b is the column with that name. For a field of a struct use with_column.",
    )

    columns: Annotated[dict[str, str], Field("Column name to Spark type.", example={"amount": "decimal(18,2)", "ordered_at": "date"}, nonempty=True)]

    def check(self, at: str) -> Iterator[Problem]:
        for name, kind in self.columns.items():
            yield from check_type(kind, at + pointer("columns", name))

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        return try_casts(df, ((pointer(name), name, kind) for name, kind in self.columns.items()), run.placed(run.at + "/columns"))
