"""``skip_if_false``: whether a step is left out, decided without touching data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUERY = re.compile(r"\bselect\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
#: A text without any of these cannot be a comparison, so it needs no evaluation.
_EXPRESSION = re.compile(r"[=<>!()]|\b(?:and|or|not|in|is|like|rlike|between)\b", re.IGNORECASE)


def skips(condition: Any, spark: SparkSession) -> bool:
    """True when the step is to be skipped.

    Nothing, ``false`` and the empty text skip. A text that is a boolean SQL expression over literals is evaluated and
    skips on false. Any other text, such as a date, runs the step.
    """
    if condition is None or condition is False or condition == []:
        return True
    if not isinstance(condition, str):
        return False
    text = condition.strip()
    if not text or text.casefold() == "false":
        return True
    bare = _QUOTED.sub("''", text)
    if _QUERY.search(bare) or not _EXPRESSION.search(bare):
        return False
    return _is_false(text, spark)


def _is_false(text: str, spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    try:
        frame = spark.sql(f"SELECT ({text}) AS runs")
        if frame.schema[0].dataType.typeName() != "boolean":
            return False
    except PySparkException:
        return False  # not an expression over literals: just a text
    return frame.collect()[0][0] is False
