"""``transform.deduplicate``: one row for each key, chosen by a total order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ..columns import Columns, Reference, quoted
from ..errors import Problem, SparquetError, pointer
from ..parts import part, references
from ..spec import Field, spec
from .part import CONTROL, Part

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

_FRAGMENT = re.compile(r"(?P<value>.+?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE | re.DOTALL)
#: The number of a row among those with its key.
_NUMBER = "__sparquet_row_number"
#: Types without an order of their own.
_UNORDERED = ("map", "variant", "geometry", "geography")


@spec
class Order(Part):
    """One column of an order."""

    column: Annotated[str, Field("The column, or a path into a struct.", example="updated_at", nonempty=True, runtime=False)]
    direction: Annotated[str, Field("Which end comes first.", choices=("asc", "desc"), runtime=False)] = "desc"
    nulls: Annotated[str | None, Field("Where nulls stand; last by default for desc, first for asc.", choices=("first", "last"), runtime=False)] = None

    def apply(self, value: Column) -> Column:
        """The value in this order."""
        last = (self.nulls or ("last" if self.direction == "desc" else "first")) == "last"
        if self.direction == "desc":
            return value.desc_nulls_last() if last else value.desc_nulls_first()
        return value.asc_nulls_last() if last else value.asc_nulls_first()


@spec
class Deduplicate(Part):
    """Keep one row for each key: the first one in a given order; ties are broken by all other columns, so that every run agrees."""

    keys: Annotated[
        tuple[str, ...], Field("The columns of the key; nulls compare equal.", example=["order_id"], nonempty=True, one_or_more=True, runtime=False)
    ]
    order_by: Annotated[
        tuple[Order | str, ...],
        Field(
            "The order of the rows of one key: objects, or SQL fragments such as updated_at DESC NULLS LAST; desc when nothing else is said.",
            example=[{"column": "updated_at", "direction": "desc", "nulls": "last"}],
            nonempty=True,
            one_or_more=True,
            sql=True,
        ),
    ]

    def check(self, at: str) -> Iterator[Problem]:
        for i, key in enumerate(self.keys):
            if not key.strip():
                yield Problem("EMPTY_VALUE", at + pointer("keys", i), {"expected": "a column", "hint": ""})
        for i, item in enumerate(self.order_by):
            if isinstance(item, str) and not item.strip():
                yield Problem("EMPTY_VALUE", at + pointer("order_by", i), {"expected": "a column", "hint": ""})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The frame with one row for each key."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        keys = references(df, self.keys, run, "/keys")
        self._refuse_unordered(keys, run)
        ordered = self._orders(df, run)
        window = Window.partitionBy(*[F.col(k.sql) for k in keys]).orderBy(*ordered, *_ties(df, [*keys, *self._columns(df)]))
        return df.withColumn(_NUMBER, F.row_number().over(window)).where(f"{_NUMBER} = 1").drop(_NUMBER)

    def _refuse_unordered(self, keys: list[Reference], run: Run) -> None:
        remedy = "Use columns whose values compare, or a field of it."
        wrong = [(i, k) for i, k in enumerate(keys) if not _has_order(k.type)]
        if wrong:
            facts = ((i, {"found": k.name, "type": k.type_name, "expected": "a type that compares", "remedy": remedy}) for i, k in wrong)
            raise SparquetError.of(Problem("COLUMN_TYPE", run.at + pointer("keys", i), f) for i, f in facts)

    def _items(self) -> Iterator[tuple[str, Order]]:
        """Every column of the order with its place; a text may hold several fragments."""
        for i, item in enumerate(self.order_by):
            if isinstance(item, Order):
                yield pointer("order_by", i), item
                continue
            for fragment in fragments(item):
                match = _FRAGMENT.fullmatch(fragment.strip())
                if match:
                    nulls = match["nulls"]
                    direction = (match["direction"] or "desc").lower()
                    yield pointer("order_by", i), Order(column=match["value"], direction=direction, nulls=nulls.lower() if nulls else None)

    def _orders(self, df: DataFrame, run: Run) -> list[Column]:
        from pyspark.sql import functions as F

        columns = Columns.of(df)
        found: list[Column] = []
        problems: list[Problem] = []
        for at, order in self._items():
            place = at + ("/column" if isinstance(self.order_by[int(at.split("/")[2])], Order) else "")
            try:
                if place == at and order.column not in columns:
                    with part(run, at, df.columns):
                        value = F.expr(order.column)
                        run.engine.check_analysis(df.select(value))
                else:
                    value = F.col(columns.find(order.column).sql)
                found.append(order.apply(value))
            except SparquetError as error:
                problems += error.located(run.at + place).problems
        if problems:
            raise SparquetError.of(problems)
        return found

    def _columns(self, df: DataFrame) -> list[Reference]:
        columns = Columns.of(df)
        return [columns.find(order.column) for _, order in self._items() if order.column in columns]


def _ties(df: DataFrame, used: list[Reference]) -> Iterator[Column]:
    """All columns that are not used yet, so that no two rows that differ are equal in the order."""
    from pyspark.sql import functions as F

    # What the run adds itself is the same in every row.
    left_out = {reference.name for reference in used} | set(CONTROL)
    for field in df.schema.fields:
        if field.name in left_out:
            continue
        column = F.col(quoted(field.name))
        yield (column if _has_order(field.dataType) else F.to_json(F.struct(column))).asc()


def _has_order(kind: Any) -> bool:
    name = kind.typeName()
    if name == "array":
        return _has_order(kind.elementType)
    if name == "struct":
        return all(_has_order(f.dataType) for f in kind.fields)
    return name not in _UNORDERED


def fragments(text: str) -> list[str]:
    """The parts of an ORDER BY text, parted by commas outside of brackets and quotes."""
    found, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and not depth:
            found.append(text[start:i])
            start = i + 1
    return [f for f in [*found, text[start:]] if f.strip()]
