"""No run may destroy what it reads, nor write one destination over another.

A file format reads its files while the job runs, so overwriting them loses the data. Table formats keep the version
that is read, so a table may be overwritten from itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..document import Check, Output, Pipeline, Source
from ..errors import Problem, pointer
from ..spec import Spec, members_of
from ..storage import qualified, without_links
from .logins import log_in
from .options import option
from .places import is_location, overlap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

#: Formats whose files are replaced when they are overwritten.
FILES = frozenset({"avro", "binary", "csv", "json", "orc", "parquet", "text", "txt", "xml"})
#: Where the outputs stand that are written beside the main ones.
_BESIDE = ("/validations/",)
_TABLES = frozenset({"delta", "iceberg"})


def document_conflicts(document: Pipeline | Check) -> Iterator[Problem]:
    """Destinations that overwrite a source of the same document or another destination; no Spark, no I/O."""
    outputs = [(at, o) for at, o in _parts(document, Output) if o.path and "{{" not in o.path]
    read = [path for _, s in _parts(document, Source) if s.format in FILES | _TABLES for path in s.paths if is_location(path) or s.format in FILES]
    for at, output in outputs:
        lost = next((path for path in read if "{{" not in path and overlap(path, output.path or "")), None)
        if _replaces_files(output) and lost is not None:
            yield Problem("SOURCE_OVERWRITTEN", at + "/path", {"found": lost})
    yield from _partial_frames(document)
    for (first, earlier), (at, later) in combinations(outputs, 2):
        # What quality writes has a form of its own, so it never shares a place, whatever the modes.
        beside = first.startswith(_BESIDE) or at.startswith(_BESIDE)
        # A snapshot marks what it does not hold as deleted, so it takes the earlier destination's rows away, too.
        replaced = later.canonical_mode == "snapshot_soft_delete" or later.canonical_mode == "overwrite" and not _is_partial(later)
        if (beside or replaced) and _same_place(earlier, later):
            yield Problem("OUTPUTS_COLLIDE", at + "/path", {"found": later.path})
    for at, output in outputs:
        mixed = next((path for path in _inputs(document) if at.startswith(_BESIDE) and overlap(path, output.path or "")), None)
        if mixed is not None and not _replaces_files(output):
            yield Problem("SOURCE_OVERWRITTEN", at + "/path", {"found": mixed})


def _partial_frames(document: Pipeline | Check) -> Iterator[Problem]:
    """Modes that take the frame for the whole source, in a document whose frame is a part of it."""
    reason, remedy = "", ""
    if document.watermark_columns:
        reason, remedy = "only rows later than the last mark are read", "Use a mode that keeps other rows (append, upsert), or remove watermark_columns."
    elif document.validations is not None and document.validations.quarantine:
        reason, remedy = "only valid rows are written", "Use a mode that keeps other rows, or write the invalid rows aside without quarantine."
    for at, output in document.destinations if reason else ():
        whole = output.format in FILES | _TABLES and output.canonical_mode == "overwrite" and not _is_partial(output) and document.watermark_columns
        if whole or output.canonical_mode == "snapshot_soft_delete":
            lost = "marks the others as deleted" if output.canonical_mode == "snapshot_soft_delete" else "removes all others"
            yield Problem("INVALID_COMBINATION", at + "/mode", {"reason": f"{reason}, and mode {output.mode} {lost}", "remedy": remedy})


def _inputs(document: Pipeline | Check) -> list[str]:
    """The places that the document's own input and steps read."""
    parts = [*_parts(document.input, Source), *(part for step in document.transformations for part in _parts(step, Source))]
    return [path for _, s in parts if s.format in FILES | _TABLES for path in s.paths if (is_location(path) or s.format in FILES) and "{{" not in path]


def refuse_overwriting_source(df: DataFrame, output: Output, run: Run) -> None:
    """Raise SOURCE_OVERWRITTEN when writing would remove files that the frame reads, through whatever view or join."""
    if not _replaces_files(output) or not output.path:
        return
    log_in(output, run)  # a file system that was once opened without the login keeps being without it
    target = without_links(run.engine, qualified(run.engine, output.path))
    for root in sorted(run.engine.input_roots(df)):
        if overlap(without_links(run.engine, root), target):
            raise run.fault("SOURCE_OVERWRITTEN", "/path", found=root)


def _replaces_files(output: Output) -> bool:
    return output.format in FILES and output.canonical_mode == "overwrite"


def _is_partial(output: Output) -> bool:
    dynamic = str(option(output.options, "partitionOverwriteMode")).casefold() == "dynamic"
    return dynamic or option(output.options, "replaceWhere") is not None


def _same_place(one: Output, other: Output) -> bool:
    a, b = one.path or "", other.path or ""
    if one.format in FILES and other.format in FILES:
        return overlap(a, b)
    located = [o.format in FILES or o.format in _TABLES and is_location(o.path or "") for o in (one, other)]
    if all(located):
        return overlap(a, b)
    return not any(located) and _server(one) == _server(other) and a.casefold() == b.casefold()


def _server(output: Output) -> tuple[Any, ...]:
    """What tells the places of one format apart beside their names."""
    return output.format, output.connection, option(output.options, "url")


def _parts(part: Any, kind: type[Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of that kind inside a part of the document, with its place."""
    if isinstance(part, kind):
        yield at, part
    if isinstance(part, Spec):
        for name, member in members_of(type(part)).items():
            if isinstance(part, Pipeline) and name == "output" and part.outputs:
                continue  # outputs wins
            yield from _parts(getattr(part, name), kind, at + pointer(member.key))
    elif isinstance(part, tuple):
        for i, item in enumerate(part):
            yield from _parts(item, kind, at + pointer(i))
    elif isinstance(part, dict):
        for key, item in part.items():
            yield from _parts(item, kind, at + pointer(str(key)))
