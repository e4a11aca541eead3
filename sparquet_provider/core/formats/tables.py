"""What the table formats share: merge, evolution of columns, faults of a commit."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..columns import Reference, quoted
from ..document import Output, Source
from ..errors import Problem, SparquetError
from ..faults import condition_of
from ..jars import DELTA, ICEBERG
from ..parts import references
from .base import Format, Written
from .catalogue import make_schema, write_comments
from .faults import no_catalog, no_connector, sentence
from .modes import TABLE_MODES, check_mode
from .options import check_partial, check_path, check_scope, does_nothing, is_true, option, without
from .places import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

#: What a job says that met a row outside ``replaceWhere``.
OUTSIDE = "SPARQUET_ROW_OUTSIDE_REPLACE_WHERE"
#: What a MERGE says that met another version of a row than the one it was made for.
CHANGED_MEANWHILE = "SPARQUET_CHANGED_MEANWHILE"
#: Makes the text of a MERGE from the table's place and the view of the rows.
Statement = Callable[[Place, str], str]

_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_|Concurrent(?:Append|Write|DeleteRead|DeleteDelete|Transaction)Exception|DELTA_(?:METADATA|PROTOCOL)_CHANGED"
    r"|MetadataChangedException|ProtocolChangedException|CommitFailedException|Found (?:new )?conflicting|has been updated concurrently|Branch main has changed"
    rf"|{CHANGED_MEANWHILE}"
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
    modes: ClassVar[tuple[str, ...] | None] = TABLE_MODES
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
        yield from check_mode(output, at)

    def table(self, place: Place, run: Run) -> DataFrame | None:
        """The table as it is now; None when it is not there."""
        raise NotImplementedError

    def newest(self, place: Place, run: Run) -> int | None:
        """The version that the table has now."""
        raise NotImplementedError

    def create(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        """Make a table that is not there."""
        raise NotImplementedError

    def merge(self, df: DataFrame, place: Place, output: Output, run: Run, target: StructType, statement: Statement) -> Written:
        """Run a MERGE of the frame's rows, and say what it did; ``target`` is the table's schema."""
        raise NotImplementedError

    def prepare_target(self, output: Output, run: Run) -> None:
        make_schema(Place.of(output.path or ""), run)

    def comment(self, output: Output, table: str | None, columns: Mapping[str, str], run: Run) -> None:
        write_comments(Place.of(output.path or ""), table, columns, run)


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


def check_columns(df: DataFrame, target: StructType, output: Output, run: Run) -> None:
    """Refuse columns that the table lacks, unless mergeSchema allows to add them."""
    missing = absent(df, target)
    if missing and not is_true(output.options, "mergeSchema"):
        raise SparquetError.of(column_faults(missing, run))


def add_columns(df: DataFrame, target: StructType, place: Place, output: Output, run: Run) -> None:
    """Add the columns that the table lacks, when :func:`check_columns` allows it."""
    from pyspark.sql.types import StructField, StructType

    check_columns(df, target, output, run)
    if missing := absent(df, target):
        added = StructType([StructField(f.name, f.dataType) for f in df.schema.fields if f.name in missing])
        run.spark.sql(f"ALTER TABLE {place.sql} ADD COLUMNS ({added.toDDL()})")


# --- partitions ----------------------------------------------------------------------------------------------------
def refuse_unpartitioned(output: Output, run: Run) -> SparquetError:
    """The fault of replacing single partitions of a table that has none."""
    if output.canonical_mode == "replace_partitions":
        reason = f"{output.mode} would replace everything: the table has no partitions"
        remedy = "Name the columns in partition_by when the table is made, or use mode overwrite."
        return run.fault("INVALID_COMBINATION", "/mode", reason=reason, remedy=remedy)
    reason = "partitionOverwriteMode=dynamic would replace everything: the table has no partitions"
    return run.fault("INVALID_COMBINATION", "/options/partitionOverwriteMode", reason=reason, remedy="Use replaceWhere, or partition the table.")


def as_overwrite(output: Output) -> Output:
    """An output in mode replace_partitions as the dynamic overwrite that it is."""
    options = {**without(output.options, ("replaceWhere", "partitionOverwriteMode")), "partitionOverwriteMode": "dynamic"}
    return replace(output, mode="overwrite", options=options)


# --- merge ---------------------------------------------------------------------------------------------------------
def refuse_repeated_keys(df: DataFrame, keys: list[str], run: Run, *, start: str = "", named: str | None = None) -> int:
    """Raise DUPLICATE_MERGE_KEYS when two rows have the same key; nulls are a key like any other. Returns the number of rows.

    With ``start`` a key may have several rows that differ in that column, which messages call ``named``; none may be null.
    """
    from pyspark.sql import functions as F

    columns = [F.col(quoted(k)) for k in keys]
    groups = df.groupBy(*columns, *([F.col(start)] if start else [])).agg(F.count(F.lit(1)).alias("__rows"))
    repeated = groups.where("__rows > 1")
    undated = f"sum(__rows) FILTER (WHERE {start} IS NULL)" if start else "0"
    found = groups.selectExpr(
        "count_if(__rows > 1) AS keys", "sum(__rows) FILTER (WHERE __rows > 1) AS rows", f"{undated} AS undated", "coalesce(sum(__rows), 0) AS all"
    ).collect()[0]
    if found["undated"]:
        raise run.fault("START_MISSING", "/options/effective_from", count=found["undated"], found=named)
    if not found["keys"]:
        return int(found["all"])
    sample, allowed = "", run.sample_rows
    if allowed:
        shown = repeated.select(*columns).limit(allowed).collect()
        sample = " Some of them: " + "; ".join(", ".join(f"{k}={r[i]!r}" for i, k in enumerate(keys)) for r in shown) + "."
    names = [*keys, named] if named else keys
    raise run.fault("DUPLICATE_MERGE_KEYS", "/options/merge_keys", found=found["rows"], keys=found["keys"], expected=names, sample=sample)


def merge_keys(df: DataFrame, output: Output, run: Run) -> list[str]:
    """The key columns as the frame spells them; every one that is missing is reported."""
    return [r.name for r in references(df, output.merge_keys, run, "/options/merge_keys", top_level=True)]


def keys_as_stored(df: DataFrame, target: StructType, keys: list[str], run: Run) -> DataFrame:
    """The frame with keys of the table's types.

    A type whose values would not keep their meaning is refused: stored as that, a key could meet another row, or none, and be
    added by every run. A number that is too large fails the run.
    """
    from pyspark.sql import functions as F

    stored = {f.name.casefold(): f.dataType for f in target.fields}
    given = {f.name: f.dataType for f in df.schema.fields}
    other = [(k, given[k], kind) for k in keys if (kind := stored.get(k.casefold())) is not None and given[k] != kind]
    wrong = [entry for entry in other if not _keeps_meaning(*entry[1:])]
    if wrong:
        raise SparquetError.of([
            Problem("COLUMN_TYPE", run.at + "/options/merge_keys", {
                "found": k, "type": kind.simpleString(), "expected": f"{target_kind.simpleString()}, the type of the table's key",
                "remedy": f"Cast it to {target_kind.simpleString()} before the write.",
            })
            for k, kind, target_kind in wrong
        ])
    return df.withColumns({k: F.col(quoted(k)).cast(kind) for k, _, kind in other}) if other else df


def _keeps_meaning(given: Any, stored: Any) -> bool:
    """True when a value stays what it is, and unequal to others, as one of the stored type."""
    one, other = Reference("", "", given), Reference("", "", stored)
    if one.is_numeric and other.is_numeric:
        exact = not one.is_floating and not other.is_floating and getattr(given, "scale", 0) <= getattr(stored, "scale", 0)
        return exact or given.typeName() in ("byte", "short", "integer", "float") and stored.typeName() == "double"
    return one.is_text and other.is_text or given.typeName() == "void"


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


def merge_statement(place: Place, view: str, keys: list[str], columns: list[str], condition: Any, *, evolve: bool) -> str:
    """The MERGE text: null-safe match on the keys, update what matches, insert the rest."""
    head = merge_head(place, view, keys, evolve=evolve) + (f" AND ({condition})" if condition else "")
    update, insert = ("*", "*") if evolve else (assigned(columns), inserted(columns))
    return f"{head} WHEN MATCHED THEN UPDATE SET {update} WHEN NOT MATCHED THEN INSERT {insert}"


def merge_head(place: Place, view: str, keys: list[str], *, evolve: bool = False) -> str:
    """A MERGE of the view ``S`` into the table ``T`` up to its match on the keys, where nulls match nulls."""
    match = " AND ".join(f"T.{quoted(k)} <=> S.{quoted(k)}" for k in keys)
    return f"MERGE {'WITH SCHEMA EVOLUTION ' if evolve else ''}INTO {place.sql} T USING {quoted(view)} S ON {match}"


def assigned(columns: list[str]) -> str:
    """The assignments of an UPDATE."""
    return ", ".join(f"T.{c} = S.{c}" for c in map(quoted, columns))


def inserted(columns: list[str]) -> str:
    """The columns and values of an INSERT."""
    names = [quoted(c) for c in columns]
    return f"({', '.join(names)}) VALUES ({', '.join('S.' + c for c in names)})"


def run_merge(df: DataFrame, run: Run, statement: Callable[[str], str]) -> dict[str, Any]:
    """Run a MERGE of the frame, given by the name of a view; the one row of figures that it returns (Iceberg returns none)."""
    view = f"_sparquet_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(view)
    try:
        rows = run.spark.sql(statement(view)).collect()
        return rows[0].asDict() if rows else {}
    finally:
        run.engine.drop_view(view)
