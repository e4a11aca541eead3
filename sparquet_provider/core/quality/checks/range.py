"""The ``range`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule
from ...errors import Problem, SparquetError
from ...spec import Field, spec
from ...text import literal
from ..metrics import Metric, Values, Verdict, count_if
from ..wording import rows

if TYPE_CHECKING:
    from ...columns import Columns, Reference

Bound = float | int | str | None


@spec
class Range(Rule):
    """Fail for values outside of a closed interval; null passes."""

    type: ClassVar[str] = "range"
    shares_pass: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "NaN is a violation.",
        "Text in a text column is read as a number; what is no number is a violation.",
        "Dates and timestamps take bounds as text.",
    )

    column: Annotated[str, Field("The column.", example="age", nonempty=True)]
    min: Annotated[Bound, Field("The smallest value allowed.", example=0)] = None
    max: Annotated[Bound, Field("The largest value allowed.", example=150)] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.min is None and self.max is None:
            yield Problem("MISSING_KEY", at, {"expected": "min", "hint": ", or max, or both"})
        elif type(self.min) is type(self.max) and self.min is not None and self.max is not None and self.min > self.max:  # type: ignore[operator]
            yield Problem("INVALID_COMBINATION", at, {"reason": f"min {self.min} is above max {self.max}: no value can pass", "remedy": "Exchange them."})

    def expression(self) -> str:
        return f"range({self.column},{'' if self.min is None else self.min},{'' if self.max is None else self.max})"

    def target(self) -> str:
        return self.column

    def violation(self, columns: Columns) -> str:
        column = columns.find(self.column)
        value, parts = column.sql, []
        if column.is_text and all(isinstance(b, int | float) for b in (self.min, self.max) if b is not None):
            value = f"try_cast(trim({column.sql}) AS double)"
            parts.append(f"({column.sql} IS NOT NULL AND {value} IS NULL)")
        if column.is_floating or value != column.sql:
            parts.append(f"isnan({value})")
        if self.min is not None:
            parts.append(f"{value} < {_bound(self.min, column)}")
        if self.max is not None:
            parts.append(f"{value} > {_bound(self.max, column)}")
        return f"coalesce({' OR '.join(parts)}, false)"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (count_if(self.violation(columns), self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        low, high = ("-∞" if self.min is None else self.min), ("∞" if self.max is None else self.max)
        return Verdict(failed == 0, f"{rows(failed)} with {self.column} outside [{low}, {high}]", failed, failed)


def _bound(value: float | int | str, column: Reference) -> str:
    if isinstance(value, str) and column.type.typeName() in ("date", "timestamp", "timestamp_ntz"):
        return f"CAST({literal(value)} AS {column.type_name})"
    if isinstance(value, str) and column.is_numeric:
        raise SparquetError("WRONG_TYPE", "/min", found=repr(value), expected=f"a number, as {column.name} is {column.type_name}", hint="")
    if not isinstance(value, str) and not (column.is_numeric or column.is_text):
        raise SparquetError(
            "WRONG_TYPE", "/column", found=f"a bound that is a number, and {column.name} is {column.type_name}", expected="a numeric column", hint=""
        )
    return literal(value)
