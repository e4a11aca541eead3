"""Rules that a frame satisfies now: a start for a suite, from one pass over the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..columns import Reference, addressable
from ..result import jsonable
from ..text import instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Columns with at most so many values, and at least so many rows for each, get a list of accepted values.
FEW_VALUES, ROWS_PER_VALUE = 20, 10
#: The relative error of the approximate count of distinct values.
ERROR = 0.01

_NESTED = ("map", "struct", "array", "binary", "variant", "interval", "void")


def suggest(df: DataFrame) -> list[dict[str, Any]]:
    """Rules for a frame: columns, missing values, keys, intervals and lists of values, as they are now.

    One job; a second one collects the values of columns that have few. Uniqueness is suggested where an approximate
    count of distinct values comes near the number of rows: run the rules to know.
    """
    from pyspark.sql import functions as F

    rules: list[dict[str, Any]] = []
    if df.columns:
        types = {f.name: f.dataType.simpleString() for f in df.schema}
        rules.append({"type": "schema", "required_columns": df.columns, "column_types": types})
    df, known = addressable(df)
    columns = [known.find(f.name) for f in known.schema if f.dataType.typeName() not in _NESTED]
    figures = [F.expr("count(1)")]
    for c in columns:
        ordered = c.is_numeric or c.family == "time"
        # NaN is the largest number: where there is one, the largest value is no bound.
        bounds = [f"min({c.sql})", f"max({c.sql})"] if ordered else ["NULL", "NULL"]
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
        if low is not None and (bounds_found := _bounds(low, high, c)):
            rules.append({"type": "range", "column": c.name, **bounds_found})
    if few:
        rules += _accepted(df, few)
    return rules


def _bounds(low: str, high: str, column: Reference) -> dict[str, Any]:
    """The interval as a rule takes it; empty for NaN, infinity and times that ISO texts do not reach."""
    if column.is_numeric:
        numbers = [float(t) if column.is_floating or "." in t else int(t) for t in (low, high)]
        return {"min": numbers[0], "max": numbers[1]} if all(math.isfinite(n) for n in numbers) else {}
    try:
        instant(low), instant(high)
    except ValueError:
        return {}
    return {"min": low, "max": high}


def _accepted(df: DataFrame, columns: list[Reference]) -> list[dict[str, Any]]:
    from pyspark.sql import functions as F

    row = df.agg(*[F.sort_array(F.collect_set(F.expr(c.sql))).alias(f"v{i}") for i, c in enumerate(columns)]).collect()[0]
    return [{"type": "accepted_values", "column": c.name, "values": jsonable(list(row[i]))} for i, c in enumerate(columns)]
