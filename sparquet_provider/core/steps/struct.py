"""The ``struct`` step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..document import Step
from ..errors import Problem, SparquetError, pointer
from ..parts import at_once
from ..spec import Field, Tree, spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run


@spec
class Struct(Step):
    """Build one nested column from a map of fields."""

    type: ClassVar[str] = "struct"
    notes: ClassVar[tuple[str, ...]] = (
        "A dot in a field's name nests: issuer.name and issuer.document become one struct issuer. A field whose name holds a dot is impossible.",
        "Fields keep the order of the keys; a group stands where its first field stands.",
        "A column of that name is replaced; the expressions still see the old one.",
    )

    column: Annotated[str, Field("The name of the new column.", example="payload", nonempty=True)]
    fields: Annotated[
        Tree,
        Field(
            "Field name to SQL expression, or to an object with more fields.",
            example={"external_id": "contract_id", "issuer.name": "issuer_name", "amounts": {"principal": "principal_amount"}},
            sql=True,
            nonempty=True,
        ),
    ]

    def check(self, at: str) -> Iterator[Problem]:
        yield from _nest(self.fields)[1](at + "/fields")

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        nested, problems = _nest(self.fields)
        if found := list(problems(run.at + "/fields")):
            raise SparquetError.of(found)

        def build(level: Mapping[str, Any]) -> Column:
            return F.struct(*[(build(v) if isinstance(v, dict) else F.expr(v)).alias(k) for k, v in level.items()])

        probes = [("/fields" + at, lambda frame, e=e: frame.select(F.expr(e))) for at, e in _leaves(self.fields)]
        return at_once(df, run, lambda: df.withColumn(self.column, build(nested)), probes)


def _leaves(fields: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, at + pointer(name))
        else:
            yield at + pointer(name), value


def _nest(fields: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The fields as nested maps, and a function that gives the conflicts below a place."""
    root: dict[str, Any] = {}
    found: list[tuple[str, str, dict[str, Any]]] = []

    def add(level: dict[str, Any], name: str, value: Any, at: str, path: str) -> None:
        head, dot, rest = name.partition(".")
        path = f"{path}.{head}" if path else head
        if not head or (dot and not rest):
            found.append(("INVALID_COMBINATION", at, {"reason": f"the field {name!r} has an empty part", "remedy": "Write a name on both sides of each dot."}))
            return
        inner = bool(dot) or isinstance(value, Mapping)
        present = level.get(head)
        if present is not None and isinstance(present, dict) != inner:
            found.append(("STRUCT_CONFLICT", at, {"found": path}))
        elif present is not None and not inner:
            found.append(("STRUCT_DUPLICATE", at, {"found": path}))
        elif dot:
            add(level.setdefault(head, {}), rest, value, at, path)
        elif isinstance(value, Mapping):
            if not value:
                found.append(("EMPTY_VALUE", at, {"expected": "an object with at least one field", "hint": ""}))
            for key, item in value.items():
                add(level.setdefault(head, {}), key, item, at + pointer(key), path)
        else:
            level[head] = value

    for name, value in fields.items():
        add(root, name, value, pointer(name), "")
    return root, lambda at: (Problem(code, at + place, facts) for code, place, facts in found)
