"""What Spark says when a source is opened or files are written, as faults of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..document import Output, Source
from ..errors import SparquetError
from ..faults import condition_of, parameters_of, translate

if TYPE_CHECKING:
    from ..context import Run
    from .base import Format

_MISSING = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_MISSING_DELTA_TABLE")
_NO_CATALOG = ("REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND", "DELTA_CONFIGURE_SPARK_SESSION")
_NO_CONNECTOR = re.compile(r"DATA_SOURCE_NOT_FOUND|Failed to find (?:the )?data source|ClassNotFoundException")
_NO_VERSION = re.compile(r"DELTA_[A-Z_]*(?:VERSION|TIMESTAMP)[A-Z_]*|Cannot find (?:a )?snapshot")
#: What Spark says of a file that it can't read, also from inside a job.
_UNREADABLE = re.compile(r"FAILED_READ_FILE\.\w+|CANNOT_READ_FILE_FOOTER|Malformed ORC file|INVALID_PARAMETER_VALUE\.CHARSET|CONFLICTING_DIRECTORY_STRUCTURES")


@contextmanager
def reading(fmt: Format, source: Source, run: Run) -> Iterator[None]:
    """Spark's faults inside are faults of this source."""
    try:
        yield
    except SparquetError:
        raise
    except Exception as error:
        raise source_fault(error, fmt, source, run) from error


def source_fault(error: Exception, fmt: Format, source: Source, run: Run) -> SparquetError:
    """The fault of ours for what Spark said when a source was opened."""
    found, condition, head = {"format": source.format, "found": ", ".join(source.paths)}, condition_of(error), str(error)[:400]
    if condition in _MISSING:
        return run.fault("SOURCE_NOT_FOUND", "/path", cause=error, **found)
    if condition == "UNABLE_TO_INFER_SCHEMA":
        return run.fault("SOURCE_EMPTY", "/path", cause=error, **found)
    if no_connector(error):
        return run.fault("CONNECTOR_MISSING", "/format", cause=error, found=source.format, expected=fmt.package or "of that format")
    if source.schema and (condition.startswith("PARSE_") or type(error).__name__ == "ParseException" or condition == "UNSUPPORTED_DATATYPE"):
        return translate(error, run.at + "/schema")
    if no_catalog(error):
        return run.fault("CATALOG_NEEDED", "/path", cause=error, reason=f"the catalog of {source.path} is not configured")
    if _NO_VERSION.match(condition) or _NO_VERSION.search(head):
        return run.fault("SOURCE_VERSION_NOT_FOUND", "/options", cause=error, reason=sentence(error), **found)
    if "URISyntaxException" in str(error):
        reason = "before a colon Hadoop expects a scheme, also in the names that a glob finds"
        remedy = "Give the path from its root, and no glob beside such names."
        return run.fault("PATH_INVALID", "/path", cause=error, found=found["found"], reason=reason, remedy=remedy)
    if match := _UNREADABLE.search(str(error)):
        return run.fault("SOURCE_NOT_READABLE", "/path", cause=error, reason=match.group(), **found)
    return translate(error, run.at)


def write_fault(error: Exception, output: Output, run: Run) -> Exception:
    """The fault of ours for what Spark said when files were written; the exception itself when it is not about the target."""
    facts = parameters_of(error)
    name = facts.get("columnName", "").strip("`")
    if condition_of(error) == "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE":
        kind = facts.get("columnType", "").strip('"').lower()
        return run.fault("TYPE_NOT_STORABLE", cause=error, found=name, type=kind, format=output.format)
    if condition_of(error) == "COLUMN_ALREADY_EXISTS":
        return run.fault("COLUMN_AMBIGUOUS", cause=error, found=name, reason=run.origins.get(name.casefold(), "the frame has two columns of that name"))
    if "ParentNotDirectoryException" in str(error):
        reason, remedy = "a part of it is a file", "Name a folder, or a path where nothing stands yet."
        return run.fault("PATH_INVALID", "/path", cause=error, found=output.path, reason=reason, remedy=remedy)
    return error


def no_connector(error: Exception) -> bool:
    """True when the jar of a format is not there."""
    return bool(_NO_CONNECTOR.search(str(error)[:400]))


def no_catalog(error: Exception) -> bool:
    """True when the session does not know the catalog of a name."""
    return condition_of(error).startswith(_NO_CATALOG)


def sentence(error: Exception) -> str:
    """What Spark said, without its condition and state."""
    text = str(error)
    return " ".join((text.partition("] ")[2] or text).partition("SQLSTATE")[0].split())[:300].rstrip(". ")
