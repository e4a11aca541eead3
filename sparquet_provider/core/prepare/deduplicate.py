"""``transform.deduplicate``: one row for each key, chosen by a total order.

The first row of an order is the greatest (or least) one by one comparison of structs where all columns are ordered in the
same direction with nulls where a struct has them: then an aggregate finds it in less time than numbering sorted rows. Other
orders number the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..columns import Columns, Reference, quoted
from ..errors import Problem, SparquetError, nearest, pointer
from ..parts import part, references
from ..spec import Field, spec
from .control import INSTANT
from .part import CONTROL, Part

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

_FRAGMENT = re.compile(r"(?P<value>.+?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE | re.DOTALL)
#: A word after the column that is meant to be a direction; other names of two words may be those of a column.
_TWO_WORDS = re.compile(r"([\w.`]+)\s+((?:asc|desc|null)\w*)", re.IGNORECASE)
_WORDS = ["asc", "desc", "nulls first", "nulls last"]
#: The number of a row among those with its key.
_NUMBER = "__sparquet_row_number"
#: Types whose equal values may be different ones.
_BY_VALUE = ("float", "double", "array", "struct")
#: Types without an order of their own.
_UNORDERED = ("map", "variant", "interval", "geometry", "geography")
_REMEDY = "Use columns whose values compare, or a field of it."


@spec
class Order(Part):
    """One column of an order."""

    column: Annotated[str, Field("The column, or a path into a struct.", example="updated_at", nonempty=True, runtime=False)]
    direction: Annotated[str, Field("Which end comes first.", choices=("asc", "desc"), runtime=False)] = "desc"
    nulls: Annotated[str | None, Field("Where nulls stand; last by default for desc, first for asc.", choices=("first", "last"), runtime=False)] = None

    @property
    def nulls_last(self) -> bool:
        """Whether nulls come after all values."""
        return (self.nulls or ("last" if self.direction == "desc" else "first")) == "last"

    @property
    def is_natural(self) -> bool:
        """True when a null counts as less than any value, as in a comparison of structs."""
        return self.nulls_last == (self.direction == "desc")

    def apply(self, value: Column) -> Column:
        """The value in this order."""
        if self.direction == "desc":
            return value.desc_nulls_last() if self.nulls_last else value.desc_nulls_first()
        return value.asc_nulls_last() if self.nulls_last else value.asc_nulls_first()


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
            if not isinstance(item, str):
                continue
            if not all(fragment.strip() for fragment in fragments(item)) or not fragments(item):
                yield Problem("EMPTY_VALUE", at + pointer("order_by", i), {"expected": "a column", "hint": ""})
            for fragment in fragments(item):
                if (match := _FRAGMENT.fullmatch(fragment.strip())) and (words := _TWO_WORDS.fullmatch(match["value"])):
                    facts = {"found": words[2], "nearest": nearest(words[2], _WORDS), "expected": _WORDS}
                    yield Problem("WRONG_CHOICE", at + pointer("order_by", i), facts)

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The frame with one row for each key."""
        keys = references(df, self.keys, run, "/keys")
        self._refuse_unordered(keys, run)
        ordered = self._orders(df, run)
        directions = {order.direction for order, _ in ordered}
        natural = len(directions) == 1 and all(order.is_natural for order, _ in ordered)
        if natural and all(_tells_apart(field.dataType) for field in df.schema.fields):
            constants = run.engine.constants(df, {"ingestion_ts", INSTANT, *run.literals} & set(df.columns))
            return self._greatest(df, keys, ordered, "max" if directions == {"desc"} else "min", constants)
        return self._numbered(df, keys, ordered)

    def _greatest(self, df: DataFrame, keys: list[Reference], ordered: list[tuple[Order, Column]], which: str, constants: Mapping[str, Column]) -> DataFrame:
        """The greatest or least row of each key; all its columns are compared, those of the order first, but not those that are the same in all rows."""
        from pyspark.sql import functions as F

        columns = Columns.of(df)
        # A group's own key may differ from that of its rows: -0.0 is 0.0 there.
        place = {k.name: f"k{i}" for i, k in enumerate(keys) if k.name in df.columns and not _by_value(k.type)}
        for i, (order, _) in enumerate(ordered):
            if order.column in columns and (name := columns.find(order.column).name) in df.columns:
                place.setdefault(name, f"best.o{i}")
        rest = [n for n in df.columns if n not in place and n not in constants]
        rest.sort(key=lambda name: name in CONTROL)
        place |= {name: f"best.c{i}" for i, name in enumerate(rest)}
        fields = [value.alias(f"o{i}") for i, (_, value) in enumerate(ordered)] + [F.expr(f"{quoted(name)} AS c{i}") for i, name in enumerate(rest)]
        best = df.groupBy(*[F.expr(f"{k.sql} AS k{i}") for i, k in enumerate(keys)]).agg(getattr(F, which)(F.struct(*fields)).alias("best"))
        return best.select(*[F.expr(f"{place[name]} AS {quoted(name)}") if name in place else constants[name].alias(name) for name in df.columns])

    def _numbered(self, df: DataFrame, keys: list[Reference], ordered: list[tuple[Order, Column]]) -> DataFrame:
        """The first row of each key, by its number."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        orders = [order.apply(value) for order, value in ordered]
        window = Window.partitionBy(*[F.col(k.sql) for k in keys]).orderBy(*orders, *_ties(df, [*keys, *self._columns(df)]))
        return df.withColumn(_NUMBER, F.row_number().over(window)).where(f"{_NUMBER} = 1").drop(_NUMBER)

    def _refuse_unordered(self, keys: list[Reference], run: Run) -> None:
        wrong = [(i, k) for i, k in enumerate(keys) if not _has_order(k.type)]
        if wrong:
            facts = ((i, {"found": k.name, "type": k.type_name, "expected": "a type that compares", "remedy": _REMEDY}) for i, k in wrong)
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

    def _orders(self, df: DataFrame, run: Run) -> list[tuple[Order, Column]]:
        from pyspark.sql import functions as F

        columns = Columns.of(df)
        found: list[tuple[Order, Column]] = []
        problems: list[Problem] = []
        for at, order in self._items():
            place = at + ("/column" if isinstance(self.order_by[int(at.split("/")[2])], Order) else "")
            try:
                if place == at and order.column not in columns:
                    value = F.expr(f"({order.column})")  # in brackets, so that no word after it becomes an alias
                    with part(run, at, df.columns):
                        kind = df.select(value).schema[0].dataType
                        if _has_order(kind):
                            run.engine.check_analysis(df.agg(F.max(value)))  # neither chance nor an aggregate has a place here
                else:
                    reference = columns.find(order.column)
                    value, kind = F.col(reference.sql), reference.type
                if not _has_order(kind):
                    raise SparquetError("COLUMN_TYPE", found=order.column, type=kind.simpleString(), expected="a type that compares", remedy=_REMEDY)
                found.append((order, value))
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
    left_out = {reference.name for reference in used if _tells_apart(reference.type)} | set(CONTROL)
    for field in df.schema.fields:
        if field.name in left_out:
            continue
        column = F.col(quoted(field.name))
        if _tells_apart(field.dataType):
            yield column.asc()
        else:  # each text shows what the other one leaves out: bytes and fractions of seconds, and what is null
            yield from (text.cast("binary").asc() for text in (column.cast("string"), F.to_json(F.struct(column))))


def _by_value(kind: Any) -> bool:
    return kind.typeName() in _BY_VALUE or "collate" in kind.simpleString()


def _tells_apart(kind: Any) -> bool:
    """True when values that differ are not equal in an order."""
    return _has_order(kind) and "collate" not in kind.simpleString()


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
    return [*found, text[start:]]
