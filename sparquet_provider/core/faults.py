"""Spark's exceptions as errors of ours: code, place, facts, remedy."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any

from .errors import SparquetError, nearest

#: Conditions of Spark that another try may get over.
_TRANSIENT = ("CONCURRENT", "DELTA_CONCURRENT", "COMMIT_FAILED", "CommitFailedException", "ConcurrentAppendException", "ConcurrentModification")


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
    condition, params = _condition(error), _parameters(error)
    known = list(columns)
    name = _unquoted(params.get("objectName", params.get("fieldName", params.get("name", ""))))
    if condition.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD", "FIELD_NOT_FOUND", "UNRESOLVED_MAP_KEY", "UNRESOLVED_USING_COLUMN")):
        name = name or _unquoted(params.get("colName", ""))
        proposals = [_unquoted(p) for p in params.get("proposal", params.get("suggestion", params.get("fields", ""))).split(", ") if p]
        return SparquetError("COLUMN_NOT_FOUND", at, found=name, nearest=nearest(name, known or proposals), expected=known or proposals, cause=error)
    if condition == "COLUMN_ALREADY_EXISTS":
        return SparquetError("COLUMN_AMBIGUOUS", at, found=_unquoted(params.get("columnName", "")), reason="the frame has two columns of that name", cause=error)
    if condition.startswith("AMBIGUOUS"):
        return SparquetError("COLUMN_AMBIGUOUS", at, found=_unquoted(params.get("name", "")), reason=f"it may be {params.get('referenceNames', 'any of several')}", cause=error)
    if condition.startswith(("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "SCHEMA_NOT_FOUND")):
        place = _unquoted(params.get("relationName", params.get("path", params.get("tableName", params.get("schemaName", "")))))
        return SparquetError("SOURCE_NOT_FOUND", at, format="", found=place, cause=error)
    if condition.startswith(("PARSE_", "INVALID_SQL", "UNRESOLVED_ROUTINE", "INVALID_IDENTIFIER", "UNCLOSED", "INVALID_TYPED_LITERAL")):
        return SparquetError("SQL_INVALID", at, reason=_reason(error, condition), found=params.get("routineName", ""), cause=error)
    if condition in ("UNSUPPORTED_DATATYPE", "PARSE_DATATYPE_ERROR"):
        return SparquetError("TYPE_INVALID", at, found=params.get("typeName", ""), cause=error)
    if condition.startswith(("DATA_SOURCE_NOT_FOUND", "CLASS_NOT_FOUND")):
        return SparquetError("CONNECTOR_MISSING", at, found=params.get("provider", ""), expected="of that format", cause=error)
    if any(mark in condition or mark in type(error).__name__ or mark in _head(error) for mark in _TRANSIENT):
        return SparquetError("WRITE_CONFLICT", at, found="the table", cause=error)
    if _sqlstate(error).startswith("22"):
        return SparquetError("VALUE_FAILED", at, reason=_without_values(condition, params), cause=error)
    kind = type(error).__name__
    if kind in ("AnalysisException", "ParseException", "IllegalArgumentException", "PySparkTypeError", "PySparkValueError"):
        return SparquetError("EXPRESSION_FAILED", at, reason=_reason(error, condition), cause=error)
    if kind in ("Py4JJavaError", "Py4JNetworkError", "Py4JError", "SparkRuntimeException", "SparkException", "SparkConnectGrpcException", "ConnectionRefusedError") or type(error).__module__.startswith(("pyspark", "py4j")):
        found = _value_fault(error)
        if found:
            return SparquetError("VALUE_FAILED", at, reason=found, cause=error)
        return SparquetError("ENGINE_FAILED", at, reason=_reason(error, condition), cause=error)
    return SparquetError("INTERNAL", at, reason=f"{kind}: {_head(error)}", cause=error)


def quiet_spark_errors() -> None:
    """Stop PySpark from printing every fault once more, with its trace and values of the data, before we report it."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _condition(error: Any) -> str:
    for method in ("getCondition", "getErrorClass"):
        if hasattr(error, method):
            try:
                return str(getattr(error, method)() or "")
            except Exception:  # noqa: BLE001 - an exception without details is still an exception
                return ""
    return ""


def _parameters(error: Any) -> dict[str, str]:
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


def _without_values(condition: str, params: dict[str, str]) -> str:
    kept = [f"{k}={_unquoted(v)}" for k, v in params.items() if k in ("sourceType", "targetType", "functionName", "alternative", "ansiConfig")]
    return condition + (f" ({', '.join(kept)})" if kept else "")


_VALUE_CONDITIONS = re.compile(r"\[((?:DIVIDE_BY_ZERO|CAST_INVALID_INPUT|CAST_OVERFLOW|ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|INVALID_ARRAY_INDEX|INVALID_DATETIME|CANNOT_PARSE|DATETIME_)[A-Z_.0-9]*)\]")


def _value_fault(error: BaseException) -> str | None:
    """The condition of a job that a value of the data broke, found in the text of the failure."""
    match = _VALUE_CONDITIONS.search(str(error))
    return match.group(1) if match else None
