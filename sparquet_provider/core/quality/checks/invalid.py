"""The rules ``invalid_count`` and ``invalid_percent``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...errors import Problem
from ...spec import Field, spec
from ...text import literal
from .. import named_formats
from ..kinds import ColumnsRule, CountRule
from ..predicates import any_of, is_false_or_null, missing, one_of, outside, text_of
from ..threshold import Unit

if TYPE_CHECKING:
    from ...columns import Columns, Reference

Bound = float | int | str | None

_KEYS = (
    "valid_values", "invalid_values", "valid_format", "valid_regex", "valid_min", "valid_max", "valid_length", "valid_min_length", "valid_max_length",
)


@spec
class InvalidCount(CountRule, ColumnsRule):
    """Compare the number of rows in which any of the columns has a value that is not valid; what is missing is not invalid."""

    type: ClassVar[str] = "invalid_count"
    blames_rows: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "A value must satisfy every key of validity that is given.",
        "A null in valid_values matches nothing.",
        "NaN, and text that is no number in a text column, break valid_min and valid_max.",
    )

    valid_values: Annotated[tuple[Any, ...] | None, Field("The accepted values.", example=["new", "paid"])] = None
    invalid_values: Annotated[tuple[Any, ...] | None, Field("The forbidden values.", example=["test"])] = None
    valid_format: Annotated[str | None, Field("A named format; the whole value must have it.", example="email", choices=named_formats.NAMES)] = None
    valid_regex: Annotated[str | None, Field("A regular expression (Java) that must be found in the value.", example="^[A-Z]{2}$", nonempty=True)] = None
    valid_min: Annotated[Bound, Field("The smallest value allowed.", example=0)] = None
    valid_max: Annotated[Bound, Field("The largest value allowed.", example=100)] = None
    valid_length: Annotated[int | None, Field("The exact number of characters.", example=11, minimum=0)] = None
    valid_min_length: Annotated[int | None, Field("The smallest number of characters.", example=1, minimum=0)] = None
    valid_max_length: Annotated[int | None, Field("The largest number of characters.", example=80, minimum=0)] = None
    missing_values: Annotated[tuple[Any, ...], Field("Values that count as missing, beside null.", example=["", "n/a"])] = ()

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if all(getattr(self, key) is None for key in _KEYS):
            yield Problem("MISSING_KEY", at, {"expected": "valid_values", "hint": f", or another of {', '.join(_KEYS)}"})
        if self.valid_values is not None and all(v is None for v in self.valid_values):
            yield Problem("EMPTY_VALUE", at + "/valid_values", {"expected": "a list of values", "hint": ""})
        for low, high in (("valid_min", "valid_max"), ("valid_min_length", "valid_max_length")):
            a, b = getattr(self, low), getattr(self, high)
            if a is not None and b is not None and isinstance(a, str) == isinstance(b, str) and a > b:
                yield Problem("INVALID_COMBINATION", f"{at}/{low}", {"reason": f"{low} {a} is above {high} {b}: no value is valid", "remedy": "Exchange them."})

    def violation(self, columns: Columns) -> str:
        return any_of(self._wrong(c) for c in self.found(columns))

    def _wrong(self, column: Reference) -> str:
        text, parts = text_of(column), []
        if self.valid_values is not None:
            parts.append(f"NOT {one_of(column, self.valid_values, '/valid_values')}")
        if self.invalid_values is not None:
            parts.append(one_of(column, self.invalid_values, "/invalid_values"))
        if self.valid_format is not None:
            parts.append(is_false_or_null(named_formats.predicate(self.valid_format, text)))
        if self.valid_regex is not None:
            parts.append(f"NOT {text} RLIKE {literal(self.valid_regex)}")
        if self.valid_min is not None or self.valid_max is not None:
            parts.append(outside(column, self.valid_min, self.valid_max, ("/valid_min", "/valid_max")))
        for sign, length in (("!=", self.valid_length), ("<", self.valid_min_length), (">", self.valid_max_length)):
            if length is not None:
                parts.append(f"char_length({text}) {sign} {length}")
        return f"NOT {missing(column, self.missing_values, '/missing_values')} AND ({' OR '.join(parts)})"

    def reason(self) -> str:
        return self.error_message or f"with an invalid {self.target()}"


@spec
class InvalidPercent(InvalidCount):
    """Compare the share of rows, from 0 to 100, in which any of the columns has a value that is not valid."""

    type: ClassVar[str] = "invalid_percent"
    percent: ClassVar[bool] = True
    bounds: ClassVar[tuple[int | None, int | None]] = (0, 100)
    whole: ClassVar[bool] = False
    units: ClassVar[tuple[Unit, ...]] = ("percent", "number")
