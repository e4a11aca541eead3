"""``shape.flatten``: fields of structs become top-level columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ..columns import Columns, quoted
from ..errors import Problem, SparquetError, pointer
from ..parts import references
from ..spec import Field, spec
from .part import CONTROL, Part
from .paths import check_path, find

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Flatten(Part):
    """Turn the fields of structs into columns of their own, named by their path."""

    enabled: Annotated[bool, Field("False leaves the structs as they are.")] = True
    separator: Annotated[str, Field("What stands between the parts of a name.", example="__", runtime=False, nonempty=True)] = "_"
    max_depth: Annotated[int, Field("How many levels are flattened; deeper structs stay structs.", example=2, minimum=1)] = 10
    include: Annotated[tuple[str, ...], Field("Only these top-level struct columns.", example=["payload"], runtime=False)] = ()
    exclude: Annotated[tuple[str, ...], Field("Paths that stay as they are.", example=["payload.raw"], runtime=False)] = ()

    def check(self, at: str) -> Iterator[Problem]:
        for i, path in enumerate(self.exclude):
            yield from check_path(path, at + pointer("exclude", i))
        if "." in self.separator or "`" in self.separator:
            yield Problem("WRONG_TYPE", at + "/separator", {"found": repr(self.separator), "expected": "a text without dots and backticks", "hint": ""})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The frame with flat columns, each struct's fields where it stood."""
        if not self.enabled:
            return df
        columns = Columns.of(df)
        chosen = {r.name for r in self._included(df, run)}
        kept = self._excluded(columns, run)
        made: list[tuple[str, str, str]] = []
        for field in df.schema.fields:
            address = quoted(field.name)
            if _has_fields(field.dataType) and field.name in chosen and address not in kept:
                made += self._fields((field.name,), address, field.dataType, kept, 1)
            else:
                made.append((field.name, field.name, address))
        self._refuse_collisions(made, run)
        return df.selectExpr(*[f"{sql} AS {quoted(name)}" for name, _, sql in made])

    def _included(self, df: DataFrame, run: Run) -> Iterator[Any]:
        found = references(df, self.include or df.columns, run, "/include", top_level=True)
        for i, column in enumerate(found):
            if self.include and column.type.typeName() != "struct":
                remedy = "Name columns that hold fields."
                raise run.fault("COLUMN_TYPE", pointer("include", i), found=column.name, type=column.type_name, expected="a struct", remedy=remedy)
        return iter(found)

    def _excluded(self, columns: Columns, run: Run) -> set[str]:
        """The addresses of what stays as it is."""
        found: set[str] = set()
        problems: list[Problem] = []
        for i, path in enumerate(self.exclude):
            try:
                found.add(find(columns, path, run, pointer("exclude", i)).sql)
            except SparquetError as error:
                problems += error.problems
        if problems:
            raise SparquetError.of(problems)
        return found

    def _fields(self, path: tuple[str, ...], sql: str, kind: Any, kept: set[str], depth: int) -> Iterator[tuple[str, str, str]]:
        """Name, path and address of every column that a struct becomes."""
        for field in kind.fields:
            inner, address = (*path, field.name), f"{sql}.{quoted(field.name)}"
            if _has_fields(field.dataType) and depth < self.max_depth and address not in kept:
                yield from self._fields(inner, address, field.dataType, kept, depth + 1)
            else:
                yield self.separator.join(inner), ".".join(inner), address

    def _refuse_collisions(self, made: list[tuple[str, str, str]], run: Run) -> None:
        seen: dict[str, str] = {}
        problems = []
        for name, path, _ in made:
            if (other := seen.setdefault(name.casefold(), path)) != path or (name.casefold() in CONTROL and name != path):
                paths = f"{other} and {path}" if other != path else f"{path} and the run's control column"
                problems.append(Problem("FLATTEN_COLLISION", run.at, {"found": name, "expected": paths}))
        if problems:
            raise SparquetError.of(problems)


def _has_fields(kind: Any) -> bool:
    """True for a struct, unless it is empty: there is nothing that could stand for it."""
    return kind.typeName() == "struct" and bool(kind.fields)
