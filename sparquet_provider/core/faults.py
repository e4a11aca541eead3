"""Spark's exceptions as errors of ours: code, place, facts, remedy."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import SparquetError, nearest

#: Conditions of Spark that another try may get over.
_TRANSIENT = ("CONCURRENT", "DELTA_CONCURRENT", "COMMIT_FAILED", "CommitFailedException", "ConcurrentAppendException", "ConcurrentModification")


#: Conditions that a value of the data causes, found in the text of a failed job.
_VALUE_CONDITIONS = re.compile(
    r"\[((?:DIVIDE_BY_ZERO|CAST_INVALID_INPUT|CAST_OVERFLOW|ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|INVALID_ARRAY_INDEX"
    r"|INVALID_DATETIME|CANNOT_PARSE|DATETIME_|DUPLICATED_MAP_KEY|SCALAR_SUBQUERY_TOO_MANY_ROWS|DELTA_VIOLATE_CONSTRAINT|DELTA_NOT_NULL_CONSTRAINT"
    r"|DELTA_EXCEED_CHAR_VARCHAR_LIMIT|DELTA_CAST_OVERFLOW_IN_TABLE_WRITE|EXCEED_LIMIT_LENGTH|INVALID_FORMAT|MALFORMED_|CONVERSION_INVALID_INPUT"
    r"|INVALID_CONVERSION|INVALID_URL|INVALID_JSON|INVALID_VARIANT)[A-Z_.0-9]*)\]"
)


#: Which constraint of a Delta table it was; the values of the row come after it.
_CONSTRAINT = re.compile(r"CHECK constraint (\w+)|NOT NULL constraint violated for column: ([\w.]+)")

#: Classes of SQLSTATE that the data causes: too many rows of a subquery, a value, a constraint.
_DATA_STATES = ("21", "22", "23")

#: What Java says of a regular expression, anywhere in the text of a failed job.
_PATTERN = re.compile(r"PatternSyntaxException: ([^\n]+)")


def translate(error: BaseException, at: str = "", columns: Iterable[str] = ()) -> SparquetError:
    """The error of ours for any exception that a run can meet.

    Values of the data, which Spark puts into some messages, are left out.

    Args:
        error: what was raised.
        at: the place of the part that was running.
        columns: the columns that were in reach, for nearest names.
    """
    if isinstance(error, SparquetError):
        return error.located(at)
    condition, params = condition_of(error), parameters_of(error)
    found = _column(condition, params, list(columns)) or _source(condition, params) or _sql(error, condition, params) or _engine(error, condition, params)
    code, facts = found or ("INTERNAL", {"reason": f"{type(error).__name__}: {_head(error)}"})
    return SparquetError(code, at, cause=error, **facts)


_Found = tuple[str, dict[str, Any]] | None


def _column(condition: str, params: dict[str, str], known: list[str]) -> _Found:
    if condition.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD", "FIELD_NOT_FOUND", "UNRESOLVED_MAP_KEY", "UNRESOLVED_USING_COLUMN")):
        name = _unquoted(_first(params, "objectName", "fieldName", "name", "colName"))
        proposals = [_unquoted(p) for p in _first(params, "proposal", "suggestion", "fields").split(", ") if p]
        return "COLUMN_NOT_FOUND", {"found": name, "nearest": nearest(name, known or proposals), "expected": known or proposals}
    if condition.startswith("AMBIGUOUS"):
        return "COLUMN_AMBIGUOUS", {"found": _unquoted(params.get("name", "")), "reason": f"it may be {params.get('referenceNames', 'any of several')}"}
    return None


def _source(condition: str, params: dict[str, str]) -> _Found:
    if condition.startswith(("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "SCHEMA_NOT_FOUND")):
        return "SOURCE_NOT_FOUND", {"format": "", "found": _unquoted(_first(params, "relationName", "path", "tableName", "schemaName"))}
    if condition.startswith(("DATA_SOURCE_NOT_FOUND", "CLASS_NOT_FOUND")):
        return "CONNECTOR_MISSING", {"found": params.get("provider", ""), "expected": "of that format"}
    return None


def _sql(error: BaseException, condition: str, params: dict[str, str]) -> _Found:
    if condition.startswith(("PARSE_", "INVALID_SQL", "UNRESOLVED_ROUTINE", "INVALID_IDENTIFIER", "UNCLOSED", "INVALID_TYPED_LITERAL")):
        return "SQL_INVALID", {"reason": _reason(error, condition), "found": params.get("routineName", "")}
    if wrong := _PATTERN.search(str(error)):
        return "SQL_INVALID", {"reason": f"a regular expression is wrong: {wrong.group(1).strip()}", "found": ""}
    if condition == "UNSUPPORTED_DATATYPE":
        return "TYPE_INVALID", {"found": params.get("typeName", "")}
    return None


def _engine(error: BaseException, condition: str, params: dict[str, str]) -> _Found:
    kind = type(error).__name__
    if any(mark in text for mark in _TRANSIENT for text in (condition, kind, _head(error))):
        return "WRITE_CONFLICT", {"found": "the table"}
    if "StackOverflowError" in str(error):
        return "EXPRESSION_FAILED", {"reason": "an expression, or a regular expression on a long value, is nested too deep (StackOverflowError)"}
    if _sqlstate(error).startswith(_DATA_STATES) or condition == "USER_RAISED_EXCEPTION":  # the text of raise_error may hold values
        return "VALUE_FAILED", {"reason": _without_values(condition, params)}
    if by_value := _VALUE_CONDITIONS.search(f"[{condition}] {error}"):
        constraint = _CONSTRAINT.search(str(error))
        return "VALUE_FAILED", {"reason": by_value.group(1) + (f" ({constraint[1] or constraint[2]})" if constraint else "")}
    if kind in ("AnalysisException", "ParseException", "IllegalArgumentException", "PySparkTypeError", "PySparkValueError"):
        return "EXPRESSION_FAILED", {"reason": _reason(error, condition)}
    if kind == "ConnectionRefusedError" or type(error).__module__.startswith(("pyspark", "py4j")):
        return "ENGINE_FAILED", {"reason": _reason(error, condition)}
    return None


def _first(params: dict[str, str], *names: str) -> str:
    """The first of the parameters that has a value."""
    return next((params[n] for n in names if params.get(n)), "")


@contextmanager
def quiet_spark_errors() -> Iterator[None]:
    """Keep PySpark from printing every fault once more, with its trace and values of the data, before we report it."""
    from pyspark.logger import PySparkLogger

    # By PySpark's own class: a plain logger of that name, were it made first, could not take what PySpark logs.
    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]

    def quiet(_record: logging.LogRecord) -> bool:
        return False

    # A filter of its own for each run, for several may be under way in threads: none takes back what another needs.
    for logger in loggers:
        logger.addFilter(quiet)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(quiet)


def condition_of(error: Any) -> str:
    """Spark's name of a fault, such as ``PATH_NOT_FOUND``; empty when it has none."""
    for method in ("getCondition", "getErrorClass"):
        if hasattr(error, method):
            try:
                return str(getattr(error, method)() or "")
            except Exception:  # noqa: BLE001 - an exception without details is still an exception
                return ""
    return ""


def parameters_of(error: Any) -> dict[str, str]:
    """The facts that Spark gives with a fault."""
    try:
        return {str(k): str(v) for k, v in (error.getMessageParameters() or {}).items()}
    except Exception:  # noqa: BLE001 - as above
        return {}


def _sqlstate(error: Any) -> str:
    try:
        return str(error.getSqlState() or "")
    except Exception:  # noqa: BLE001 - as above
        return ""


def _unquoted(text: str) -> str:
    parts = re.findall(r"`((?:[^`]|``)*)`", text)
    return ".".join(p.replace("``", "`") for p in parts) if parts else text.strip("'\"")


def _head(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _reason(error: BaseException, condition: str) -> str:
    """The first sentence of Spark's message, without its plan and call site."""
    text = re.split(r";\s*(?:'|line |\n)|\n== |SQLSTATE|JVM stacktrace", str(error), maxsplit=1)[0]
    text = " ".join(re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text.strip()).split())
    return (f"{condition}: " if condition else "") + text[:400].rstrip(". ")


#: Facts of a fault that are no values of the data.
_SAFE = frozenset({"sourceType", "targetType", "functionName", "alternative", "ansiConfig", "constraintName", "columnName"})


def _without_values(condition: str, params: dict[str, str]) -> str:
    kept = [f"{k}={_unquoted(v)}" for k, v in params.items() if k in _SAFE]
    return condition + (f" ({', '.join(kept)})" if kept else "")
