"""What the table formats share: merge, evolution of columns, faults of a commit."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from ..columns import quoted
from ..document import Output, Source
from ..errors import Problem, SparquetError
from ..faults import condition_of
from ..jars import DELTA, ICEBERG
from ..parts import references
from ..spec import shown
from .base import Format
from .faults import no_catalog, no_connector, sentence
from .options import check_partial, check_path, check_scope, does_nothing, option
from .places import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

#: What a job says that met a row outside ``replaceWhere``.
OUTSIDE = "SPARQUET_ROW_OUTSIDE_REPLACE_WHERE"
MERGE_OPTIONS = ("merge_keys", "merge_condition")

_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_|Concurrent(?:Append|Write|DeleteRead|DeleteDelete|Transaction)Exception|DELTA_(?:METADATA|PROTOCOL)_CHANGED"
    r"|MetadataChangedException|ProtocolChangedException|CommitFailedException|Found (?:new )?conflicting|has been updated concurrently|Branch main has changed"
)
_NOT_FITTING = ("DELTA_METADATA_MISMATCH", "DELTA_FAILED_TO_MERGE_FIELDS", "DELTA_MERGE_INCOMPATIBLE", "INSERT_COLUMN_ARITY", "INCOMPATIBLE_DATA_FOR_TABLE")
#: Nodes of a physical plan that make computing a frame twice dearer than keeping it, and functions that give other values.
_COSTLY = re.compile(
    r"^[\s:|+*()\d-]*\w*(?:Exchange|Join|Aggregate|Window|Generate|Python|Pandas|Arrow|Sample)\w*"
    r"|\b(?:rand|randn|uuid|shuffle|monotonically_increasing_id)\(",
    re.MULTILINE,
)
_KEPT = re.compile(r"(?:[\s:|+*()\d-]*(?:AdaptiveSparkPlan|Project|Filter|ColumnarToRow)\b[^\n]*\n)*[\s:|+*()\d-]*InMemoryTableScan")


class TableFormat(Format):
    """A table with versions: readers see one of them, writers make the next."""

    readable = True
    writable = True
    versioned = True
    modes: ClassVar[tuple[str, ...] | None] = ("overwrite", "append", "merge", "ignore", "error")
    #: Options that choose a version; more than one is an error.
    time_travel: ClassVar[tuple[str, ...]] = ("versionAsOf", "timestampAsOf")

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_path(source, at, "a table name or a location")
        yield from check_scope(source, at)
        if isinstance(source.path, tuple):
            yield Problem("WRONG_TYPE", at + "/path", {"found": "a list", "expected": "one table name or location", "hint": "; a union step reads another one"})
        elif source.path:
            yield from _check_name(source.path, at)
        chosen = [name for name in self.time_travel if option(source.options, name) is not None]
        if len(chosen) > 1:
            yield Problem("KEYS_EXCLUDE", at + "/options", {"found": " and ".join(chosen), "reason": "each of them chooses the version to read"})
        if source.schema:
            yield does_nothing(at + "/schema", "schema", f"for {self.name}: the table has its own", "cast the columns in a step")

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "a table name or a location")
        if output.path:
            yield from _check_name(output.path, at)
        yield from check_partial(output, at)
        if output.canonical_mode == "merge":
            yield from check_merge_keys(output, at)
            return
        for name in MERGE_OPTIONS:
            if option(output.options, name) is not None:
                yield does_nothing(f"{at}/options/{name}", name, f"in mode {output.mode}", "use mode merge")


def check_merge_keys(output: Output, at: str) -> Iterator[Problem]:
    """Merge keys that are missing, or are no names."""
    keys = option(output.options, "merge_keys")
    if any(k.casefold() == "merge_keys" for k in output.options) and not isinstance(keys, str | list | tuple):
        facts = {"found": shown(keys), "expected": "a column name, or a list of column names", "hint": ", such as [\"id\"]"}
        yield Problem("WRONG_TYPE", at + "/options/merge_keys", facts)
    elif not output.merge_keys or not all(isinstance(k, str) and k.strip() for k in output.merge_keys):
        place = "/merge_keys" if keys is not None else ""
        yield Problem("MERGE_KEYS_MISSING", at + "/options" + place, {})


def _check_name(path: str, at: str) -> Iterator[Problem]:
    try:
        Place.of(path)
    except ValueError as error:
        yield Problem("INVALID_COMBINATION", at + "/path", {"reason": str(error), "remedy": "Use a location or a name such as sales.orders."})


# --- faults --------------------------------------------------------------------------------------------------------
@contextmanager
def committing(df: DataFrame, output: Output, run: Run, target: StructType | None = None) -> Iterator[None]:
    """Spark's faults inside are faults of this commit; nothing of it is left behind."""
    try:
        yield
    except SparquetError:
        raise
    except Exception as error:
        raise commit_fault(error, df, output, run, target) from error


def commit_fault(error: Exception, df: DataFrame, output: Output, run: Run, target: StructType | None) -> Exception:
    """The fault of ours for what Spark said while it committed; the exception itself when it is not about the table."""
    condition, text = condition_of(error), str(error)
    if _CONFLICT.search(text):
        return run.fault("WRITE_CONFLICT", "/path", cause=error, found=output.path)
    if condition in ("DELTA_PATH_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS"):
        return run.fault("TARGET_EXISTS", "/path", cause=error, found=output.path)
    if condition == "DELTA_REPLACE_WHERE_MISMATCH" or OUTSIDE in text:
        reason = f"the frame holds rows outside replaceWhere ({option(output.options, 'replaceWhere')})"
        return run.fault("INVALID_COMBINATION", "/options/replaceWhere", cause=error, reason=reason, remedy="Filter the rows by the same condition first.")
    if no_catalog(error):
        return run.fault("CATALOG_NEEDED", "/path", cause=error, reason="the session lacks the catalog or the extension of this format")
    if no_connector(error):
        return run.fault("CONNECTOR_MISSING", "/format", cause=error, found=output.format, expected=ICEBERG if output.format == "iceberg" else DELTA)
    if condition.startswith(_NOT_FITTING):
        if target is not None and (missing := absent(df, target)):
            return SparquetError.of(column_faults(missing, run))
        return run.fault("SCHEMA_MISMATCH", cause=error, found=output.path, reason=sentence(error))
    return error


# --- columns -------------------------------------------------------------------------------------------------------
def absent(df: DataFrame, target: StructType) -> list[str]:
    """The columns of the frame that the table has not."""
    known = {name.casefold() for name in target.names}
    return [name for name in df.columns if name.casefold() not in known]


def column_faults(missing: list[str], run: Run) -> Iterator[Problem]:
    """One fault for each column that the target lacks; the ones that the run adds itself say how to leave them out."""
    added = {"ingestion_ts", *run.literals}
    for name in missing:
        if name in added:
            drop = f'"transformations": [{{"type": "drop", "columns": ["{name}"]}}]'
            remedy = f"Leave it out in this output: {drop}; or add it to the table with options.mergeSchema=true."
        else:
            remedy = "Leave it out in the output's transformations, or add it to the table with options.mergeSchema=true."
        yield Problem("MERGE_TARGET_COLUMN", run.at, {"found": name, "remedy": remedy})


# --- merge ---------------------------------------------------------------------------------------------------------
def refuse_repeated_keys(df: DataFrame, keys: list[str], run: Run) -> None:
    """Raise DUPLICATE_MERGE_KEYS when two rows have the same key; nulls are a key like any other."""
    from pyspark.sql import functions as F

    columns = [F.col(quoted(k)) for k in keys]
    repeated = df.groupBy(*columns).agg(F.count(F.lit(1)).alias("__rows")).where("__rows > 1")
    found = repeated.agg(F.count(F.lit(1)).alias("keys"), F.sum("__rows").alias("rows")).collect()[0]
    if not found["keys"]:
        return
    sample, allowed = "", run.sample_rows
    if allowed:
        shown = repeated.select(*columns).limit(allowed).collect()
        sample = " Some of them: " + "; ".join(", ".join(f"{k}={r[i]!r}" for i, k in enumerate(keys)) for r in shown) + "."
    raise run.fault("DUPLICATE_MERGE_KEYS", "/options/merge_keys", found=found["rows"], keys=found["keys"], expected=keys, sample=sample)


def merge_keys(df: DataFrame, output: Output, run: Run) -> list[str]:
    """The key columns as the frame spells them; every one that is missing is reported."""
    return [r.name for r in references(df, output.merge_keys, run, "/options/merge_keys", top_level=True)]


@contextmanager
def computed_once(df: DataFrame, run: Run) -> Iterator[DataFrame]:
    """The frame, kept in memory while the block runs when computing it twice would cost more, or give other rows."""
    plan = run.engine.physical_plan(df)
    if not _COSTLY.search(plan) or _KEPT.match(plan):
        yield df
        return
    held = df.persist()
    try:
        yield held
    finally:
        held.unpersist()


def merge_statement(view: str, place: Place, keys: list[str], columns: list[str], condition: Any, *, evolve: bool) -> str:
    """The MERGE text: null-safe match on the keys, update what matches, insert the rest."""
    match = " AND ".join(f"T.{quoted(k)} <=> S.{quoted(k)}" for k in keys)
    if condition:
        match += f" AND ({condition})"
    if evolve:
        head, update, insert = "MERGE WITH SCHEMA EVOLUTION INTO", "*", "*"
    else:
        names = [quoted(c) for c in columns]
        head = "MERGE INTO"
        update = ", ".join(f"T.{c} = S.{c}" for c in names)
        insert = f"({', '.join(names)}) VALUES ({', '.join('S.' + c for c in names)})"
    return f"{head} {place.sql} T USING {quoted(view)} S ON {match} WHEN MATCHED THEN UPDATE SET {update} WHEN NOT MATCHED THEN INSERT {insert}"


def run_merge(df: DataFrame, place: Place, keys: list[str], output: Output, run: Run, *, evolve: bool) -> dict[str, Any]:
    """Merge the frame into the table; the one row of figures that the statement returns (Iceberg returns none)."""
    view = f"_sparquet_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(view)
    try:
        text = merge_statement(view, place, keys, df.columns, option(output.options, "merge_condition"), evolve=evolve)
        rows = run.spark.sql(text).collect()
        return rows[0].asDict() if rows else {}
    finally:
        run.engine.drop_view(view)
