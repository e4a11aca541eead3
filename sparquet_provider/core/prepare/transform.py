"""The ``transform`` namespace: shape, cast, standardize, derive, deduplicate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Annotated, ClassVar

from ..casting import check_type, try_casts
from ..errors import Problem, pointer
from ..spec import Field, spec
from .deduplicate import Deduplicate
from .part import Operation, Part, reserved, same_names
from .selection import Selection, derive
from .shape import Shape
from .standardize import Standardize, standardize

#: Keys that stand beside transform, and those that stand in its shape.
_BESIDE = {
    **dict.fromkeys(
        ("select_columns", "column_mapping", "filter_expression", "custom_keys", "watermark_columns", "schemas", "layer"), "the top of the document"
    ),
    **dict.fromkeys(("parse_json", "flatten", "zip_arrays", "arrays", "columns"), "shape"),
}


@spec
class Transform(Part):
    """Make the frame usable before rules and write modes see it; the parts run in the order of this page, whatever the order of the keys."""

    ELSEWHERE: ClassVar = {**Part.ELSEWHERE, **_BESIDE}

    shape: Annotated[Shape | None, Field("Nested records become flat rows and columns.", example={"flatten": {"enabled": True}})] = None
    cast: Annotated[
        dict[str, str], Field("Column to type; what does not convert becomes null and is counted.", example={"amount": "decimal(18,2)"}, runtime=False)
    ] = field(default_factory=dict)
    standardize: Annotated[
        dict[str, Standardize], Field("Cleaning of text columns.", example={"email": {"trim": True, "lower": True, "empty_as_null": True}})
    ] = field(default_factory=dict)
    derive: Annotated[
        dict[str, str], Field("Column to SQL expression, in order; a later one sees the earlier ones.", example={"day": "to_date(updated_at)"}, sql=True)
    ] = field(default_factory=dict)
    deduplicate: Annotated[
        Deduplicate | None, Field("One row for each key.", example={"keys": ["order_id"], "order_by": [{"column": "updated_at", "direction": "desc"}]})
    ] = None

    def check(self, at: str) -> Iterator[Problem]:
        for key in ("cast", "standardize"):
            yield from same_names([(at + pointer(key, name), name) for name in getattr(self, key)])
        for name, kind in self.cast.items():
            yield from check_type(kind, at + pointer("cast", name))
        yield from reserved([(at + pointer("derive", name), name) for name in self.derive])
        for name, expression in self.derive.items():
            if not name.strip() or not expression.strip():
                yield Problem("EMPTY_VALUE", at + pointer("derive", name), {"expected": "a name and an SQL expression", "hint": ""})

    def values(self, at: str, at_shape: str) -> Iterator[Operation]:
        """The operations that shape the frame and change its values; ``at_shape`` is where the shape stands."""
        if self.shape is not None:
            yield Operation(at_shape, "shape", "struct", self.shape.apply)
        if self.cast:
            casts = [(pointer(name), name, kind) for name, kind in self.cast.items()]
            yield Operation(at + "/cast", "cast", "cast", lambda df, run: try_casts(df, casts, run))
        if self.standardize:
            yield Operation(at + "/standardize", "standardize", "with_column", lambda df, run: standardize(self.standardize, df, run))
        if self.derive:
            yield Operation(at + "/derive", "derive", "with_column", lambda df, run: derive(self.derive, df, run))

    def one_per_key(self, at: str) -> Iterator[Operation]:
        """The last operation."""
        if self.deduplicate is not None:
            yield Operation(at + "/deduplicate", "deduplicate", "drop_duplicates", self.deduplicate.apply)


def in_order(
    selection: Selection, transform: Transform, at: str = "", at_shape: str = "/shape", mark: Iterable[Operation] = ()
) -> list[Operation]:
    """All operations in their fixed order; ``at`` and ``at_shape`` are the places of ``transform`` and of its shape."""
    return [*selection.before(), *transform.values(at, at_shape), *selection.after(), *mark, *transform.one_per_key(at)]
