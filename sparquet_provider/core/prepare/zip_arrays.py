"""``shape.zip_arrays``: parallel arrays become one array of structs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ..columns import Columns
from ..errors import Problem, SparquetError, pointer
from ..spec import Field, spec
from .part import Part, reserved, same_names
from .paths import check_path, find

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class ZipArrays(Part):
    """Combine arrays whose items belong together by position; shorter ones are filled with nulls, a null array counts as empty."""

    alias: Annotated[str, Field("The column of the array of structs.", example="hourly_observation", nonempty=True, runtime=False)]
    columns: Annotated[
        dict[str, str], Field("Path of each array to the name of its field.", example={"hourly.time": "time", "hourly.rain": "rain"}, runtime=False)
    ]

    def check(self, at: str) -> Iterator[Problem]:
        if len(self.columns) < 2:
            facts = {"found": f"{len(self.columns)} arrays", "expected": "at least two", "hint": "; a single array needs no zip"}
            yield Problem("WRONG_TYPE", at + "/columns", facts)
        for path, name in self.columns.items():
            yield from check_path(path, at + pointer("columns", path))
            if not name.strip():
                yield Problem("EMPTY_VALUE", at + pointer("columns", path), {"expected": "the name of a field", "hint": ""})
        yield from same_names([(at + pointer("columns", path), name) for path, name in self.columns.items()])
        yield from reserved([(at + "/alias", self.alias)])

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The frame with the combined array; its sources stay."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import ArrayType, StructField, StructType

        columns = Columns.of(df)
        arrays: list[Any] = []
        problems: list[Problem] = []
        for path in self.columns:
            try:
                found = find(columns, path, run, pointer("columns", path))
            except SparquetError as error:
                problems += error.problems
                continue
            if found.type.typeName() != "array":
                remedy = "Name arrays only; a single value can become one by an expression in transformations."
                facts = {"found": path, "type": found.type_name, "expected": "an array", "remedy": remedy}
                problems.append(Problem("COLUMN_TYPE", run.at + pointer("columns", path), facts))
            arrays.append(found)
        if self.alias in columns:
            problems.append(Problem("COLUMN_COLLISION", run.at + "/alias", {"found": self.alias}))
        if problems:
            raise SparquetError.of(problems)
        fields = [StructField(name, a.type.elementType) for name, a in zip(self.columns.values(), arrays, strict=True)]
        zipped = F.arrays_zip(*[F.coalesce(F.expr(a.sql), F.array().cast(a.type)) for a in arrays])
        return df.withColumn(self.alias, zipped.cast(ArrayType(StructType(fields))))
