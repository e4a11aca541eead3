"""The ``fill_na`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..columns import Columns, Reference
from ..document import Step
from ..errors import Problem, SparquetError, nearest, pointer
from ..parts import with_origins
from ..spec import Field, shown, spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

Fill = str | bool | int | float


@spec
class FillNa(Step):
    """Replace nulls by a value."""

    type: ClassVar[str] = "fill_na"
    notes: ClassVar[tuple[str, ...]] = (
        "A number fills numeric columns, a text text columns, true or false boolean columns; NaN counts as null, as in Spark's own fill.",
        "A value of another type, and a name that is not there, change nothing; the result carries a warning. "
        "For dates and structs use with_column and coalesce.",
        "A fraction is cut when it fills a whole-number column.",
    )

    value: Annotated[
        bool | int | float | str | dict[str, bool | int | float | str],
        Field("The value for every column of its type, or an object with one value for each column.", example={"quantity": 0, "segment": "UNKNOWN"}),
    ]
    columns: Annotated[tuple[str, ...] | None, Field("Only these columns, when value is a single one.", example=["quantity"])] = None

    def check(self, at: str) -> Iterator[Problem]:
        if isinstance(self.value, dict):
            if not self.value:
                yield Problem("EMPTY_VALUE", at + "/value", {"expected": "a value, or an object with one value for each column", "hint": ""})
            if self.columns is not None:
                yield Problem("NOTHING_CHANGED", at + "/columns", {"reason": "columns counts only beside a single value; the names in value decide"}, "warning")

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        columns = Columns.of(df)
        if isinstance(self.value, dict):
            wanted = [(pointer("value", name), name, value) for name, value in self.value.items()]
        elif self.columns:
            wanted = [(pointer("columns", i), name, self.value) for i, name in enumerate(self.columns)]
        else:
            return self._everywhere(df, columns, self.value, run)
        fills: dict[str, Column] = {}
        for at, name, value in wanted:
            found = self._find(columns, name, run, at)
            if found is None:
                near = nearest(name, columns.names)
                run.warn("NOTHING_CHANGED", at, reason=f"there is no column {name!r} to fill" + (f"; nearest: {near!r}" if near else ""))
            elif not _fits(value, found):
                run.warn("NOTHING_CHANGED", at, reason=f"{shown(value)} does not fit the column {name!r} of type {found.type_name}")
            else:
                fills[found.name] = _filled(found, value)
        return df.withColumns(fills) if fills else df

    def _everywhere(self, df: DataFrame, columns: Columns, value: Fill, run: Run) -> DataFrame:
        found = [columns.find(name) for name in columns.names if columns.names.count(name) == 1]
        fills = {c.name: _filled(c, value) for c in found if _fits(value, c)}
        if not fills:
            run.warn("NOTHING_CHANGED", "/value", reason=f"no column has a type that {shown(value)} fits")
            return df
        return df.withColumns(fills)

    @staticmethod
    def _find(columns: Columns, name: str, run: Run, at: str) -> Reference | None:
        try:
            found = columns.find(name)
        except SparquetError as error:
            if error.code == "COLUMN_NOT_FOUND":
                return None
            raise with_origins(error, run).located(run.at + at) from error
        return found if found.name in columns.names else None


def _fits(value: Fill, column: Reference) -> bool:
    if isinstance(value, bool):
        return column.type.typeName() == "boolean"
    return column.is_text if isinstance(value, str) else column.is_numeric


def _filled(column: Reference, value: Fill) -> Column:
    from pyspark.sql import functions as F

    present = F.col(column.sql)
    if column.is_floating:
        present = F.nanvl(present, F.lit(None))
    return F.coalesce(present, F.lit(value).cast(column.type))
