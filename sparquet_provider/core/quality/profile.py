"""Rules that a frame satisfies now: a start for a suite, from one pass over the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..columns import Columns, Reference
from ..result import jsonable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Columns with at most so many values, and at least so many rows for each, get a list of accepted values.
FEW_VALUES, ROWS_PER_VALUE = 20, 10
#: The relative error of the approximate count of distinct values.
ERROR = 0.01


def suggest(df: DataFrame) -> list[dict[str, Any]]:
    """Rules for a frame: columns, missing values, keys, intervals and lists of values, as they are now.

    One job; a second one collects the values of columns that have few. Uniqueness is suggested where an approximate
    count of distinct values comes near the number of rows: run the rules to know.
    """
    from pyspark.sql import functions as F

    columns = [c for c in (_plain(df, name) for name in df.columns) if c is not None]
    rules: list[dict[str, Any]] = [{"type": "schema", "required_columns": df.columns, "column_types": {f.name: f.dataType.simpleString() for f in df.schema}}]
    if not columns:
        return rules
    figures = [F.expr("count(1)")]
    for c in columns:
        ordered = c.is_numeric or c.family == "time"
        value = f"nullif({c.sql}, double('NaN'))" if c.is_floating else c.sql
        bounds = [f"min({value})", f"max({value})"] if ordered else ["NULL", "NULL"]
        figures += [F.expr(f"count({c.sql})"), F.expr(f"approx_count_distinct({c.sql}, {ERROR})"), *[F.expr(f"CAST({b} AS STRING)") for b in bounds]]
    row = df.agg(*[f.alias(f"f{i}") for i, f in enumerate(figures)]).collect()[0]
    rows, few = int(row[0]), []
    rules.append({"type": "row_count", "min": 1 if rows else 0})
    for i, c in enumerate(columns):
        filled, distinct, low, high = row[1 + 4 * i : 5 + 4 * i]
        if rows and filled == rows:
            rules.append({"type": "not_null", "columns": [c.name]})
        elif filled:
            share = math.ceil(100 * (rows - filled) / rows)
            rules.append({"type": "missing_percent", "column": c.name, "must_be": f"<= {share}%"})
        if filled and distinct >= filled * (1 - 2 * ERROR) and filled > ROWS_PER_VALUE and not c.is_floating:
            rules.append({"type": "unique", "columns": [c.name]})
        elif filled and distinct <= FEW_VALUES and filled >= distinct * ROWS_PER_VALUE and (c.is_text or c.family == "boolean"):
            few.append(c)
        if low is not None:
            rules.append({"type": "range", "column": c.name, "min": _bound(low, c), "max": _bound(high, c)})
    if few:
        rules += _accepted(df, few)
    return rules


def _plain(df: DataFrame, name: str) -> Reference | None:
    field = next(f for f in df.schema if f.name == name)
    return None if field.dataType.typeName() in ("map", "struct", "array", "binary", "variant") else Columns.of(df).find(name)


def _bound(text: str, column: Reference) -> int | float | str:
    if not column.is_numeric:
        return text
    return float(text) if column.is_floating or "." in text else int(text)


def _accepted(df: DataFrame, columns: list[Reference]) -> list[dict[str, Any]]:
    from pyspark.sql import functions as F

    row = df.agg(*[F.sort_array(F.collect_set(F.expr(c.sql))).alias(f"v{i}") for i, c in enumerate(columns)]).collect()[0]
    return [{"type": "accepted_values", "column": c.name, "values": jsonable(list(row[i]))} for i, c in enumerate(columns)]
