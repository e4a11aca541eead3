"""The ``schema`` rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...casting import check_type
from ...document import Rule
from ...errors import Problem, nearest, pointer
from ...spec import Field, spec
from ..metrics import Known, Metric, Values, Verdict

if TYPE_CHECKING:
    from ...columns import Columns, Reference

#: Other names of Spark's types.
_ALIASES = {
    "long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "bool": "boolean", "str": "string", "text": "string",
    "real": "float", "numeric": "decimal", "number": "decimal", "dec": "decimal", "timestamp_ltz": "timestamp",
}
_NOT_NULL = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)


@spec
class Schema(Rule):
    """Fail when columns are missing, forbidden or of another type; the data is not read."""

    type: ClassVar[str] = "schema"
    dimension: ClassVar[str] = "consistency"
    measured_in: ClassVar[str] = "schema"
    notes: ClassVar[tuple[str, ...]] = (
        "Types are compared without case, by any of their names (long is bigint), decimals without precision and scale.",
        "With strict_types decimals are compared as a whole, and a type that ends in NOT NULL needs a column that is never null.",
        "A nested field is named by its path, such as address.city.",
    )

    required_columns: Annotated[tuple[str, ...], Field("Columns that must be there.", example=["id", "amount"])] = ()
    forbidden_columns: Annotated[tuple[str, ...], Field("Columns that must not be there.", example=["_debug"])] = ()
    column_types: Annotated[dict[str, str], Field("The type of each column.", example={"id": "bigint", "amount": "decimal(18,2)"})] = field(
        default_factory=dict
    )
    strict_types: Annotated[bool, Field("Compare precision, scale and nullability, too.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if not (self.required_columns or self.forbidden_columns or self.column_types):
            yield Problem("MISSING_KEY", at, {"expected": "required_columns", "hint": ", forbidden_columns or column_types"})
        if both := sorted(set(self.forbidden_columns) & {*self.required_columns, *self.column_types}):
            reason = f"{', '.join(both)} cannot be required and forbidden"
            yield Problem("INVALID_COMBINATION", at + "/forbidden_columns", {"reason": reason, "remedy": "Name it once."})
        for name, kind in self.column_types.items():
            simple = _NOT_NULL.sub("", kind).strip().lower()
            yield from check_type(_ALIASES.get(simple, simple), at + pointer("column_types", name))

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        return (Known(tuple(self._violations(columns))),)

    def _violations(self, columns: Columns) -> Iterator[str]:
        for name in dict.fromkeys([*self.required_columns, *self.column_types]):
            if name not in columns:
                near = nearest(name, columns.names)
                yield f"{name} is missing" + (f" (nearest: {near})" if near else "")
        yield from (f"{name} is forbidden" for name in self.forbidden_columns if name in columns)
        for name, expected in self.column_types.items():
            if name in columns:
                yield from self._type_violations(columns.find(name), expected)

    def _type_violations(self, column: Reference, expected: str) -> Iterator[str]:
        wanted, found = _NOT_NULL.sub("", expected), column.type_name
        if canonical(wanted, strict=self.strict_types) != canonical(found, strict=self.strict_types):
            yield f"{column.name} is {found}, expected {wanted}"
        elif self.strict_types and wanted != expected and column.nullable:
            yield f"{column.name} may be null, expected {expected}"

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        violations = values[metrics[0]]
        return Verdict(not violations, "; ".join(violations) or "the columns are as expected", len(violations), len(violations))


def canonical(text: str, *, strict: bool) -> str:
    """A type in Spark's own words: aliases replaced, no blanks; without strict, decimals by their base type and text without length."""
    text = re.sub(r"\bdouble\s+precision\b", "double", text.strip().lower())
    text = re.sub(r"\s+", "", re.sub(r"\s*([<>(),:])\s*", r"\1", text))
    # A word before a colon is the name of a field, not a type.
    text = re.sub(r"[a-z_]+(?![\w]*:)\b", lambda m: _ALIASES.get(m[0], m[0]), text)
    if strict:
        return re.sub(r"\bdecimal(?!\()", "decimal(10,0)", text)
    return re.sub(r"\b(?:varchar|char)\(\d+\)", "string", re.sub(r"\bdecimal\([\d,]*\)", "decimal", text))
