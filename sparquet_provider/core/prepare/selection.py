"""The keys beside ``transform``: which columns are taken, what they are called, which rows stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from ..columns import Columns, quoted
from ..errors import Problem, SparquetError, pointer
from ..parts import located, part
from ..spec import Field, spec
from .part import CONTROL, Operation, Part, generator_in, reserved, same_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from .shape import Shape


@spec
class Selection(Part):
    """Columns, names and rows."""

    select_columns: Annotated[
        tuple[str, ...], Field("The columns of the source that are taken; all when absent.", example=["id", "status"], runtime=False)
    ] = ()
    column_mapping: Annotated[dict[str, str], Field("New names: source to target.", example={"id": "customer_id"}, runtime=False)] = field(default_factory=dict)
    filter_expression: Annotated[str | None, Field("Only rows that satisfy this SQL predicate stay.", example="status <> 'TEST'", sql=True)] = None
    custom_keys: Annotated[
        dict[str, tuple[str, ...]],
        Field("Keys of other columns: their texts joined by |, null as empty text.", example={"sale": ["store", "number"]}, one_or_more=True, runtime=False),
    ] = field(default_factory=dict)

    def check(self, at: str) -> Iterator[Problem]:
        yield from same_names([(at + pointer("select_columns", i), n) for i, n in enumerate(self.select_columns)])
        targets = [(at + pointer("column_mapping", source), target) for source, target in self.column_mapping.items()]
        yield from same_names([(at + pointer("column_mapping", source), source) for source in self.column_mapping])
        yield from same_names(targets)
        yield from same_names([(at + pointer("custom_keys", name), name) for name in self.custom_keys])
        yield from reserved(targets)
        yield from reserved([(at + pointer("column_mapping", source), source) for source in self.column_mapping])
        yield from reserved([(at + pointer("custom_keys", name), name) for name in self.custom_keys])
        for place, name in targets:
            if not name.strip():
                yield Problem("EMPTY_VALUE", place, {"expected": "a name", "hint": ""})
        for name, columns in self.custom_keys.items():
            if not columns:
                yield Problem("EMPTY_VALUE", at + pointer("custom_keys", name), {"expected": "the columns of the key", "hint": ""})
        if self.filter_expression is not None and not self.filter_expression.strip():
            yield Problem("EMPTY_VALUE", at + "/filter_expression", {"expected": "an SQL predicate", "hint": ""})

    def before(self) -> Iterator[Operation]:
        """The operations before the values change."""
        if self.select_columns:
            yield Operation("/select_columns", "select_columns", "select", self._select)
        if self.column_mapping:
            yield Operation("/column_mapping", "column_mapping", "rename", self._rename)

    def after(self) -> Iterator[Operation]:
        """The operations on prepared values."""
        if self.filter_expression is not None:
            yield Operation("/filter_expression", "filter_expression", "filter", self._filter)
        if self.custom_keys:
            yield Operation("/custom_keys", "custom_keys", "with_column", self._keys)

    def _select(self, df: DataFrame, run: Run) -> DataFrame:
        found = located(df, ((pointer(i), name) for i, name in enumerate(self.select_columns)), run, "", top_level=True)
        chosen = [c.name for _, c in found]
        added = {*CONTROL, *run.literals}
        return df.select(*map(quoted, [*chosen, *(n for n in df.columns if n in added and n not in chosen)]))

    def _rename(self, df: DataFrame, run: Run) -> DataFrame:
        found = located(df, ((pointer(source), source) for source in self.column_mapping), run, "", top_level=True)
        names = {column.name: target for (_, column), target in zip(found, self.column_mapping.values(), strict=True)}
        staying = {n.casefold() for n in df.columns if n not in names}
        taken = [Problem("COLUMN_COLLISION", run.at + at, {"found": names[c.name]}) for at, c in found if names[c.name].casefold() in staying]
        if taken:
            raise SparquetError.of(taken)
        return df.selectExpr(*[f"{quoted(n)} AS {quoted(names.get(n, n))}" for n in df.columns])

    def _filter(self, df: DataFrame, run: Run) -> DataFrame:
        with part(run, "", df.columns):
            return run.engine.check_analysis(df.where(str(self.filter_expression)))

    def _keys(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        columns, made = Columns.of(df), {}
        problems: list[Problem] = []
        for name, parts in self.custom_keys.items():
            if name in columns:
                problems.append(Problem("COLUMN_COLLISION", run.at + pointer(name), {"found": name}))
            try:
                found = located(df, ((pointer(name, i), p) for i, p in enumerate(parts)), run, "")
            except SparquetError as error:
                problems += error.problems
                continue
            for at, column in found:
                if column.type.typeName() in ("array", "map", "struct", "binary", "variant"):
                    remedy = "Use columns with single values."
                    facts = {"found": column.name, "type": column.type_name, "expected": "a single value", "remedy": remedy}
                    problems.append(Problem("COLUMN_TYPE", run.at + at, facts))
            values = ", ".join(f"coalesce(CAST({c.sql} AS STRING), '')" for _, c in found)
            made[name] = F.expr(f"concat_ws('|', {values})")
        if problems:
            raise SparquetError.of(problems)
        return df.withColumns(made)


def check_derived(columns: Mapping[str, str], layer: str | None, at: str, shapes: Iterable[Shape | None] = ()) -> Iterator[Problem]:
    """Bronze keeps the records of the source: no expression may multiply them, unless one of the shapes beside allows it."""
    if layer != "bronze" or any(shape.allow_cardinality_change_on_bronze for shape in shapes if shape is not None):
        return
    for name, expression in columns.items():
        if found := generator_in(expression):
            yield Problem("BRONZE_CARDINALITY", at + pointer(name), {"found": found})


def derive(columns: Mapping[str, str], df: DataFrame, run: Run) -> DataFrame:
    """The frame with computed columns, made in order: a later one sees the earlier ones."""
    from pyspark.sql import functions as F

    for name, expression in columns.items():
        run.valid_texts.difference_update([valid for valid in run.valid_texts if valid.casefold() == name.casefold()])
        with part(run, pointer(name), df.columns):
            df = run.engine.check_analysis(df.withColumn(name, F.expr(expression)))
    return df
