"""The kinds of rules: those that blame rows, and those that compare a figure with a threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..document import Rule
from ..errors import Problem, SparquetError
from ..spec import Field, spec
from . import threshold
from .metrics import Keys, Metric, Values, Verdict, count_if, rows_of
from .wording import figure, joined, listed, rows

if TYPE_CHECKING:
    from ..columns import Columns, Reference


@spec
class ColumnsRule(Rule):
    """A rule over one or more columns."""

    columns: Annotated[tuple[str, ...], Field("The columns.", example=["id", "customer_id"], aliases=("column",), nonempty=True, one_or_more=True)]

    def expression(self) -> str:
        return f"{self.type}({joined(self.columns)})"

    def target(self) -> str:
        return listed(self.columns)

    def shown(self) -> tuple[str, ...]:
        return self.columns

    def found(self, columns: Columns) -> list[Reference]:
        """The columns in the frame. Raises SparquetError COLUMN_NOT_FOUND."""
        return [columns.find(name) for name in self.columns]

    def key(self, columns: Columns) -> tuple[str, ...]:
        """The columns as a key, in SQL. Raises SparquetError COLUMN_NOT_FOUND, or WRONG_TYPE for values that have no equality."""
        found = self.found(columns)
        for column in found:
            if column.type.typeName() in ("interval", "map", "variant"):
                found_type = f"{column.name}, which is {column.type_name}"
                raise SparquetError("WRONG_TYPE", "/columns", found=found_type, expected="a column whose values compare", hint="")
        return tuple(column.sql for column in found)

    def counts(self, columns: Columns) -> Keys:
        """How often the key occurs, as a metric. Raises as :meth:`key`."""
        return Keys(self.key(columns), tuple(column.type_name for column in self.found(columns)), self.filter)


@spec
class ColumnRule(Rule):
    """A rule over one column."""

    column: Annotated[str, Field("The column.", example="amount", aliases=("columns",), nonempty=True)]

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Any) -> Any:
        """Read the rule; ``columns`` with a single name is as good as ``column``."""
        if isinstance(raw, Mapping) and "column" not in raw and isinstance(raw.get("columns"), list) and len(raw["columns"]) == 1:
            raw = {**raw, "columns": raw["columns"][0]}
        return super().parse(raw, at, parse)

    def shown(self) -> tuple[str, ...]:
        return (self.column,)

    def expression(self) -> str:
        return f"{self.type}({self.column})"

    def target(self) -> str:
        return self.column


@spec
class RowRule(Rule):
    """A rule that blames single rows: subclasses give ``violation`` and the words."""

    blames_rows: ClassVar[bool] = True

    def wrong(self) -> str:
        """What is wrong with a bad row, after its number: ``with age outside [1, 99]``."""
        raise NotImplementedError

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (count_if(self.violation(columns) or "false", self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        failed = int(values[metrics[0]])
        return Verdict(failed == 0, f"{rows(failed)} {self.wrong()}", failed, failed)

    def reason(self) -> str:
        return self.error_message or self.wrong()


@spec
class MetricRule(Rule):
    """A rule that measures a figure and compares it with thresholds."""

    #: What the operands of the thresholds may be.
    units: ClassVar[tuple[threshold.Unit, ...]] = ("number",)
    #: Keys that judge and do not change what is measured.
    judging: ClassVar[tuple[str, ...]] = ("must_be", "warn", "on_empty")
    #: The least and the greatest figure that can be measured, as far as there are such bounds.
    bounds: ClassVar[tuple[int | None, int | None]] = (None, None)
    #: True when every figure is a whole number.
    whole: ClassVar[bool] = False

    must_be: Annotated[
        str | None, Field("The condition that the figure must satisfy: >, >=, <, <=, =, !=, between a and b, not between a and b.", example="> 0")
    ] = None
    warn: Annotated[str | None, Field("A stricter condition: breaking it alone is a warning, never a failure.", example="> 100")] = None

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.must_be is None and self.warn is None:
            yield Problem("MISSING_KEY", at, {"expected": "must_be", "hint": ", or warn, or both"})
        for key in ("must_be", "warn"):
            if (text := getattr(self, key)) is not None and "{{" not in text:  # a runtime variable is judged when it is there
                yield from self._check_threshold(text, f"{at}/{key}")
        yield from self._check_effect(at)

    def condition(self, key: str) -> threshold.Threshold | None:
        """The condition under ``must_be`` or ``warn``. Raises SparquetError THRESHOLD_INVALID."""
        text = getattr(self, key)
        if text is None:
            return None
        if problem := next(self._check_threshold(text, f"/{key}"), None):
            raise SparquetError.of([problem])
        return threshold.parse(text)

    def _check_threshold(self, text: str, at: str) -> Iterator[Problem]:
        try:
            unit = threshold.parse(text).unit
        except ValueError as error:
            yield Problem("THRESHOLD_INVALID", at, {"found": text, "reason": str(error), "expected": EXAMPLES[self.units[0]]})
            return
        if unit not in self.units:
            facts = {"found": text, "reason": f"{self.type} is measured as {UNITS[self.units[0]]}, not as {UNITS[unit]}", "expected": EXAMPLES[self.units[0]]}
            yield Problem("THRESHOLD_INVALID", at, facts)

    def _check_effect(self, at: str) -> Iterator[Problem]:
        """Conditions that decide nothing: every figure turns out the same, or what breaks warn breaks must_be as well."""
        given = {}
        for key in ("must_be", "warn"):
            try:
                given[key] = threshold.parse(getattr(self, key) or "")
            except ValueError:  # no condition, or one with a runtime variable
                continue
        if any(c.unit not in ("number", "percent") or c.unit not in self.units for c in given.values()):
            return
        low, high = self.bounds
        for key, condition in given.items():
            outcomes = {condition.holds(f) for f in threshold.figures([condition], low, high, whole=self.whole)}
            if len(outcomes) == 1:
                reason = f"{'every' if outcomes.pop() else 'no'} figure from {low} {'up' if high is None else f'to {high}'} satisfies it"
                yield Problem("THRESHOLD_IDLE", f"{at}/{key}", {"found": str(condition), "reason": reason}, "warning")
                return
        if len(given) == 2:
            must_be, warn = given.values()
            if not any(must_be.holds(f) and not warn.holds(f) for f in threshold.figures([must_be, warn], low, high, whole=self.whole)):
                reason = f"what breaks it breaks must_be ({must_be}), too"
                yield Problem("THRESHOLD_IDLE", f"{at}/warn", {"found": str(warn), "reason": reason}, "warning")

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        """The figure, None when there is nothing to measure."""
        return values[metrics[0]]

    def bad_rows(self, metrics: tuple[Metric, ...], values: Values) -> int | None:
        """How many rows are to blame; None for figures that blame no rows."""
        return None

    def nothing(self) -> str:
        """What happens when there is nothing to measure: pass, warn or fail."""
        return "fail"

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        value, blamed = self.measured(metrics, values), self.bad_rows(metrics, values)
        if value is None:
            passed = self.nothing() != "fail"
            return Verdict(passed, f"{self.expression()}: no value to measure", 0 if passed else 1, None, self.nothing() == "warn")
        passed, warned = self._holds("must_be", value), not self._holds("warn", value)
        return Verdict(passed, self._message(value, passed, warned), (0 if passed else 1) if blamed is None else blamed, value, passed and warned)

    def _holds(self, key: str, value: Any) -> bool:
        condition = self.condition(key)
        try:
            return condition is None or condition.holds(value)
        except TypeError as error:
            expected = "> 0 for numbers, >= 2026-01-31 for dates, = 'x' for text"
            raise SparquetError("THRESHOLD_INVALID", f"/{key}", found=str(condition), reason=str(error), expected=expected) from error

    def worded(self, value: Any) -> str:
        """The figure as the message shows it."""
        return figure(value)

    def _message(self, value: Any, passed: bool, warned: bool) -> str:
        says = f"{self.expression()} = {self.worded(value)}"
        if not passed:
            return f"{says} breaks must_be ({self.must_be})"
        if warned:
            return f"{says} {f'satisfies must_be ({self.must_be}) but ' if self.must_be else ''}breaks warn ({self.warn})"
        return f"{says} satisfies {f'must_be ({self.must_be})' if self.must_be else f'warn ({self.warn})'}"


UNITS = {"number": "a number", "percent": "a percentage", "duration": "a time span", "text": "a date or text"}
EXAMPLES = {"number": "> 0", "percent": "< 5%", "duration": "< 1d 12h", "text": ">= 2026-01-31"}

OnEmpty = Annotated[str, Field("What happens when there is nothing to measure.", choices=("fail", "warn", "pass"), runtime=False)]


@spec
class CountRule(MetricRule):
    """A metric rule over the number of rows that break something; its percentage is of the rows that the filter leaves."""

    percent: ClassVar[bool] = False
    bounds: ClassVar[tuple[int | None, int | None]] = (0, None)
    whole: ClassVar[bool] = True

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        count, total = self.bad_rows(metrics, values) or 0, self.total(metrics, values)
        return count if not self.percent else 100 * count / total if total else 0.0

    def total(self, metrics: tuple[Metric, ...], values: Values) -> int:
        """The number of rows that a percentage refers to."""
        return int(values[metrics[1]])

    def bad_rows(self, metrics: tuple[Metric, ...], values: Values) -> int | None:
        return int(values[metrics[0]])

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (count_if(self.violation(columns) or "false", self.filter), rows_of(self.filter))

    def worded(self, value: Any) -> str:
        return f"{figure(value)}%" if self.percent else figure(value)


@spec
class ValueRule(MetricRule, ColumnRule):
    """A metric rule over the values of one column."""

    on_empty: OnEmpty = "fail"

    def nothing(self) -> str:
        return self.on_empty

    def numeric(self, columns: Columns) -> Reference:
        """The column, which must be numeric. Raises SparquetError COLUMN_NOT_FOUND or WRONG_TYPE."""
        column = columns.find(self.column)
        if not column.is_numeric:
            hint = "; convert it by a cast step, or use invalid_count with valid_format"
            raise SparquetError("WRONG_TYPE", "/column", found=f"{column.name}, which is {column.type_name}", expected="a numeric column", hint=hint)
        return column

