"""``shape.arrays``: arrays are kept, written as JSON, counted, cut to their first item, or become rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from ..columns import Columns, Reference
from ..errors import Problem, SparquetError, pointer
from ..spec import Field, spec
from .part import Part, reserved, same_names
from .paths import check_alias, check_path, default_alias, find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

_POSITION, _ITEM = "__sparquet_position", "__sparquet_item"
MODES = ("keep", "to_json", "size", "first", "explode", "explode_outer")


@spec
class ArrayStep(Part):
    """What happens to one array."""

    path: Annotated[str, Field("The array: a column, or a path with dots; the alias of another entry may begin it.", example="payload.events", runtime=False)]
    mode: Annotated[
        str,
        Field(
            "keep copies it, to_json makes a text, size counts, first takes one item; explode makes a row for each item and drops rows without items, "
            "explode_outer keeps those.",
            choices=MODES,
            runtime=False,
        ),
    ] = "keep"
    alias: Annotated[str | None, Field("The column of the result; by default the path with _ for dots.", example="event", runtime=False)] = None
    allow_cartesian: Annotated[bool, Field("Allow this explode beside another one of the same parent: every item meets every other.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from check_path(self.path, at + "/path")
        if self.alias is not None:
            yield from check_alias(self.alias, at + "/alias")
        yield from reserved([(at + "/alias", self.name)])

    @property
    def name(self) -> str:
        """The column of the result."""
        return self.alias or default_alias(self.path)

    @property
    def explodes(self) -> bool:
        """True when it makes rows."""
        return self.mode.startswith("explode")

    def value(self, array: Reference) -> Column:
        """The result, from the array."""
        from pyspark.sql import functions as F

        column = F.expr(array.sql)
        return {
            "keep": lambda: column,
            "to_json": lambda: F.to_json(column),
            "size": lambda: F.array_size(column),
            "first": lambda: F.get(column, F.lit(0)),
            "explode": lambda: F.explode(column),
            "explode_outer": lambda: F.explode_outer(column),
        }[self.mode]()


def check_arrays(steps: tuple[ArrayStep, ...], at: str) -> Iterator[Problem]:
    """Names that are given twice, and explodes of one parent that would multiply each other."""
    yield from same_names([(at + pointer(i), s.name) for i, s in enumerate(steps)])
    siblings: dict[int | None, list[ArrayStep]] = {}
    for i, step in enumerate(steps):
        if not step.explodes:
            continue
        parent = _parent(steps, i)
        earlier = siblings.setdefault(parent, [])
        other = next((s for s in earlier if not (step.allow_cartesian or s.allow_cartesian)), None)
        if other is not None:
            facts = {"found": step.path, "expected": other.path, "parent": steps[parent].name if parent is not None else "the row"}
            yield Problem("CARTESIAN_EXPLODE", at + pointer(i), facts)
        earlier.append(step)


def _parent(steps: tuple[ArrayStep, ...], i: int) -> int | None:
    """The entry whose explode made the rows in which this array lies; None for the rows that were read."""
    seen: set[int] = set()
    while i not in seen:
        seen.add(i)
        root = steps[i].path.split(".")[0].casefold()
        found = next((k for k, s in enumerate(steps) if s.name.casefold() == root and k != i), None)
        if found is None or steps[found].explodes:
            return found
        i = found
    return None


def apply_arrays(steps: tuple[ArrayStep, ...], df: DataFrame, run: Run, once: Sequence[str] = ()) -> DataFrame:
    """Every entry, in any order: one whose path is not there yet waits for the entry that makes it.

    An entry that replaces its own array comes after the others that are ready, which may read the same array.
    ``once`` are columns of flags that stay true in one row only of each record.
    """
    waiting = dict(enumerate(steps))
    while waiting:
        ready = [i for i, step in waiting.items() if _array(df, step, run) is not None]
        if not ready:
            raise SparquetError.of(_unresolved(df, waiting, run))
        for i in sorted(ready, key=lambda i: steps[i].name.casefold() == steps[i].path.casefold()):
            step = waiting.pop(i)
            array = _array(df, step, run)
            if array is None:  # an entry before it replaced the array
                raise SparquetError.of(_unresolved(df, {i: step}, run))
            df = _with(df, step, array, run.placed(run.at + pointer(i)), once)
    return df


def _array(df: DataFrame, step: ArrayStep, run: Run) -> Reference | None:
    try:
        found = find(Columns.of(df), step.path, run, "")
    except SparquetError:
        return None
    return found if found.type.typeName() == "array" else None


def _with(df: DataFrame, step: ArrayStep, array: Reference, run: Run, once: Sequence[str]) -> DataFrame:
    in_place = step.name.casefold() == array.name.casefold()
    if not in_place and step.name in Columns.of(df):
        raise run.fault("COLUMN_COLLISION", "/alias", found=step.name)
    name = array.name if in_place else step.name
    return _first_flagged(df, name, array, once) if once and step.explodes else df.withColumn(name, step.value(array))


def _first_flagged(df: DataFrame, name: str, array: Reference, once: Sequence[str]) -> DataFrame:
    """A row for each item, and flags that stay true in the first row of each record alone."""
    from pyspark.sql import functions as F

    rows = df.selectExpr("*", f"posexplode_outer({array.sql}) AS ({_POSITION}, {_ITEM})")
    flags = {flag: F.expr(f"{flag} AND coalesce({_POSITION} = 0, true)") for flag in once}
    return rows.withColumns({name: F.expr(_ITEM), **flags}).drop(_POSITION, _ITEM)


def _unresolved(df: DataFrame, waiting: Mapping[int, ArrayStep], run: Run) -> Iterator[Problem]:
    columns = Columns.of(df)
    for i, step in waiting.items():
        at = run.at + pointer(i, "path")
        try:
            found = find(columns, step.path, run, pointer(i, "path"))
        except SparquetError as error:
            yield from error.problems
            continue
        remedy = "Name an array; a struct is projected by columns."
        yield Problem("COLUMN_TYPE", at, {"found": step.path, "type": found.type_name, "expected": "an array", "remedy": remedy})
