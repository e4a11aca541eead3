"""The ``with_column`` step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import Problem, pointer
from ..parts import in_turn
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..parts import Change

#: A star that stands for columns (not a multiplication), or a comment that could hide one.
_STAR = re.compile(r"(?:^|[(,.])\s*\*|/\*|--")


@spec
class WithColumn(Step):
    """Add or replace computed columns."""

    type: ClassVar[str] = "with_column"
    notes: ClassVar[tuple[str, ...]] = (
        "The columns are made in the order of the keys; a later expression sees the earlier ones.",
        "When columns is there, column and expression are ignored.",
        "Overflow and division by zero are errors under Spark's ANSI mode; try_add, try_divide and try_cast give null instead.",
    )

    column: Annotated[str | None, Field("The name of the column.", example="revenue", aliases=("name",))] = None
    expression: Annotated[str | None, Field("Its SQL expression.", example="quantity * unit_price", sql=True)] = None
    columns: Annotated[
        dict[str, str] | None,
        Field("Name to SQL expression, in order.", example={"revenue": "quantity * unit_price", "revenue_brl": "revenue * fx_rate"}, sql=True),
    ] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.columns is not None:
            if not self.columns:
                yield Problem("EMPTY_VALUE", at + "/columns", {"expected": "an object with at least one column", "hint": ""})
            for name, expression in self.columns.items():
                if not name.strip() or not expression.strip():
                    yield Problem("EMPTY_VALUE", at + pointer("columns", name), {"expected": "a name and an SQL expression", "hint": ""})
            return
        for key, value in (("column", self.column), ("expression", self.expression)):
            if value is None:
                yield Problem("MISSING_KEY", at, {"expected": key, "hint": ", or columns with several"})
            elif not value.strip():
                yield Problem("EMPTY_VALUE", at + pointer(key), {"expected": "a text", "hint": ""})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        if self.columns is None:
            return in_turn(df, run, [_change(str(self.column), str(self.expression), "/expression")])
        try:
            out = df
            for batch in batches(self.columns):
                out = out.withColumns({name: F.expr(e) for name, e in batch.items()})
            return run.engine.check_analysis(out)
        except PySparkException:
            # One by one it may work after all (two generators), and otherwise it shows which entry is to blame.
            return in_turn(df, run, [_change(name, e, pointer("columns", name)) for name, e in self.columns.items()])


def _change(name: str, expression: str, at: str) -> Change:
    from pyspark.sql import functions as F

    return at, lambda frame: frame.withColumn(name, F.expr(expression))


def batches(columns: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The columns in groups that can be made at once, since no expression mentions a name made in its own group.

    A plan with one level for each of a hundred columns takes Spark seconds to analyse. The test is by text, so it may
    split more than is needed, never less.
    """
    batch: dict[str, str] = {}
    for name, expression in columns.items():
        text = expression.casefold()
        names = [n.casefold() for n in batch]
        if batch and (name.casefold() in names or _STAR.search(text) or any(n in text or "`" in n for n in names)):
            yield batch
            batch = {}
        batch[name] = expression
    if batch:
        yield batch
