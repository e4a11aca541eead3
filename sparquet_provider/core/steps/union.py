"""The ``union`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..columns import quoted
from ..document import Source, Step
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run


@spec
class Union(Step):
    """Append the rows of another source."""

    type: ClassVar[str] = "union"
    notes: ClassVar[tuple[str, ...]] = (
        "Columns are matched by position, not by name. When both sides have the same names in another order the result warns; "
        "allow_missing_columns matches by name.",
        "The second source is read as it is. Only ingestion_ts and the columns that the run adds are put in their place when it lacks them.",
        "Text beside another type at one position is an error: Spark would turn all of the text into numbers or dates.",
        "Duplicates stay; add distinct when they should not.",
    )

    with_: Annotated[
        Source, Field("The second source, in any readable format.", example={"format": "parquet", "path": "/data/orders_archive"}, aliases=("input",))
    ]
    allow_missing_columns: Annotated[bool, Field("Match columns by name, and fill what one side lacks with null.", example=True)] = False

    def sources(self) -> Iterator[tuple[str, Source]]:
        yield "with", self.with_

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.errors import AnalysisException

        right = self._completed(df, run.read(self.with_, "/with"), run)
        left_schema, right_schema = df.schema, right.schema
        mismatch = run.fault("UNION_MISMATCH", left=_ddl(left_schema), right=_ddl(right_schema))
        if self.allow_missing_columns:
            pairs = [(f.name, g.name) for f in left_schema for g in right_schema if f.name.casefold() == g.name.casefold()]
        else:
            if len(left_schema) != len(right_schema):
                raise mismatch
            pairs = list(zip(left_schema.names, right_schema.names, strict=True))
        if any(_text_beside_other(left_schema[a].dataType.typeName(), right_schema[b].dataType.typeName()) for a, b in pairs):
            raise mismatch
        try:
            out = run.engine.check_analysis(df.unionByName(right, allowMissingColumns=True) if self.allow_missing_columns else df.union(right))
        except AnalysisException as error:
            raise run.fault("UNION_MISMATCH", cause=error, left=_ddl(left_schema), right=_ddl(right_schema)) from error
        left_names, right_names = ([n.casefold() for n in s.names] for s in (left_schema, right_schema))
        if not self.allow_missing_columns and left_names != right_names and sorted(left_names) == sorted(right_names):
            run.warn("SAME_NAMES_OTHER_ORDER")
        return out

    @staticmethod
    def _completed(df: DataFrame, right: DataFrame, run: Run) -> DataFrame:
        """The right side with the columns that the run itself added to the left."""
        from pyspark.sql import functions as F

        own = {"ingestion_ts": run.ingestion_ts, **run.literals}
        present = {n.casefold() for n in right.columns}
        columns = [F.col(quoted(n)) for n in right.columns]
        missing = [(i, f) for i, f in enumerate(df.schema) if f.name in own and f.name.casefold() not in present]
        for position, field in missing:
            columns.insert(position, F.lit(own[field.name]).cast(field.dataType).alias(field.name))
        return right.select(*columns) if missing else right


def _text_beside_other(left: str, right: str) -> bool:
    text = ("string", "char", "varchar")
    return (left in text) != (right in text) and "void" not in (left, right)


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
