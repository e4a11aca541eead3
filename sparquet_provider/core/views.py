"""Temporary views that nobody else can see: unique names, hidden behind the name that a query uses."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEADING = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WITH = re.compile(r"with\b(\s+recursive\b)?", re.IGNORECASE)


def unique_view(df: DataFrame) -> str:
    """Register a frame under a name of its own and return the name; the caller drops the view."""
    name = f"_sparquet_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(name)
    return name


def over(view: str, name: str, query: str) -> str:
    """``query`` with ``name`` standing for the view.

    A common table expression hides the unique name, so two queries that use one name can't see each other, and a view
    of the user with that name is left alone. (Spark Connect resolves views late: replacing one view would change
    frames made earlier.)
    """
    start = _LEADING.match(query)
    body = query[start.end():] if start else query
    ours = f"`{name}` AS (SELECT * FROM `{view}`)"
    if match := _WITH.match(body):
        return f"WITH{match.group(1) or ''} {ours}, {body[match.end():]}"
    return f"WITH {ours} {body}"


def query_over(spark: SparkSession, df: DataFrame, name: str, query: str) -> tuple[DataFrame, str]:
    """The result of a query in which ``name`` stands for the frame, and the view to drop when it has been used."""
    view = unique_view(df)
    return spark.sql(over(view, name, query)), view
