"""The ``delta`` format."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ..document import Output, Source
from ..errors import Problem, SparquetError
from ..jars import DELTA
from ..parts import references
from ..storage import Commit, delta_commits, delta_partitions, delta_version, qualified, rooted
from .base import Written
from .faults import reading
from .files import scanned
from .keyed import write_by_key
from .logins import log_in, storage_packages
from .modes import HASHED
from .options import is_dynamic, is_true, option, texts
from .places import Place, overlap
from .tables import (
    Statement,
    TableFormat,
    absent,
    as_overwrite,
    check_columns,
    column_faults,
    committing,
    computed_once,
    keys_as_stored,
    merge_keys,
    merge_statement,
    refuse_repeated_keys,
    refuse_unpartitioned,
    run_merge,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run
    from ..engine import Engine, Node

#: Delta's own way to write a version into the path: ``orders@v12``, ``orders@20260101000000000``.
_VERSIONED = re.compile(r"@(?:v\d+|\d{17})$")


class Delta(TableFormat):
    """A Delta table, by name or by location, with versions and transactions.

    Reading takes ``versionAsOf`` or ``timestampAsOf``; without them the newest version is read, and every step and
    destination of the run sees that same version. Writing takes ``replaceWhere`` or ``partitionOverwriteMode=dynamic`` to
    replace a part, ``mergeSchema`` to add columns, ``overwriteSchema`` to replace schema and partitioning.

    Mode ``merge`` (or ``upsert``) updates the rows whose ``merge_keys`` match (nulls match nulls) and inserts the others;
    ``merge_condition`` adds to the match, over ``T`` (the table) and ``S`` (the rows). A table that is not there is made.
    ``hash_diff_upsert`` writes only rows that differ, ``historical`` keeps every version of a row, ``snapshot_soft_delete``
    marks rows that are gone, ``replace_partitions`` replaces the partitions that the frame holds.
    """

    name = "delta"
    package = DELTA
    takes_connection = True
    notes: ClassVar[tuple[str, ...]] = (
        "Repeated merge keys in the rows are an error before anything is written: put a drop_duplicates or transform.deduplicate step first.",
        "A table made elsewhere has no ingestion_ts: drop it in the output's transformations.",
        "Two writers at once: the later one fails with WRITE_CONFLICT, which the operators retry.",
        "Every merge leaves small files; set delta.autoOptimize on the table or run OPTIMIZE now and then.",
    )

    def packages_for(self, options: Mapping[str, Any], kind: str | None) -> tuple[str, ...]:
        return (*super().packages_for(options, kind), *storage_packages(kind))

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from super().check_source(source, at)
        version = option(source.options, "versionAsOf")
        if version is not None and not str(version).isdigit() and "{" not in str(version):
            yield Problem("WRONG_TYPE", at + "/options/versionAsOf", {"found": repr(version), "expected": "a whole number", "hint": ""})

    def read(self, source: Source, run: Run) -> DataFrame:
        place = Place.of(source.paths[0])
        options = texts({}, source.options)
        log_in(source, run)
        with reading(self, source, run):
            if not _VERSIONED.search(source.paths[0]) and not any(option(options, name) for name in (*self.time_travel, "readChangeFeed")):
                version = delta_version(run.engine, place)
                if version is not None:
                    options["versionAsOf"] = str(version)
            reader = run.spark.read.format("delta").options(**options)
            return run.engine.check_analysis(reader.load(place.location) if place.location else reader.table(place.name))

    def rows_read(self, source: Source, engine: Engine, before: int) -> tuple[int | None, str | None]:
        location = Place.of(source.paths[0]).location
        return super().rows_read(replace(source, path=rooted(engine, location)) if location else source, engine, before)

    def is_scan(self, node: Node, source: Source) -> bool:
        if not node.name.startswith("Scan parquet"):
            return False
        place = Place.of(source.paths[0])
        if place.location is None:
            return node.name.casefold().endswith(".".join(place.parts).casefold())
        return "Delta" in node.description and any(overlap(found, place.location) for found in scanned(node))

    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        place = Place.of(output.path or "")
        log_in(output, run)
        if output.canonical_mode in HASHED:
            return write_by_key(self, df, _absolute(place, run), output, run)
        references(df, output.partition_by, run, "/partition_by", top_level=True)
        if output.canonical_mode == "merge":
            return self._merge(df, place, output, run)
        if output.canonical_mode == "replace_partitions":
            there = self.newest(place, run) is not None
            if not (delta_partitions(run.engine, place) if there else output.partition_by):
                raise refuse_unpartitioned(output, run)
            output = as_overwrite(output)
        return self._write(df, place, output, run)

    def _write(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        from pyspark.sql import functions as F

        dynamic = is_dynamic(output, run)
        # On Connect the version costs a job; the mark finds our commit without it.
        before = self.newest(place, run) if dynamic or output.canonical_mode == "ignore" or not run.engine.connect else None
        if output.canonical_mode == "ignore" and before is not None:
            return Written(rows=0, version=before, wrote=False)
        if before is not None and dynamic and not output.partition_by and not delta_partitions(run.engine, place):
            raise refuse_unpartitioned(output, run)
        own = option(output.options, "userMetadata")
        mark = str(own) if own is not None else f"sparquet:{uuid.uuid4().hex}"
        options = texts({}, {"userMetadata": mark, **output.options})
        try:
            with committing(df, output, run):
                if before is not None and self._replaces_rows_only(place, output, run):
                    df.writeTo(place.name).options(**options).overwrite(F.lit(True))
                else:
                    writer = df.write.format("delta").mode(output.canonical_mode).options(**options)
                    writer = writer.partitionBy(*output.partition_by) if output.partition_by else writer
                    writer.save(place.location) if place.location else writer.saveAsTable(place.name)
        except SparquetError as error:
            raise self._explained(error, df, place, run) from error.__cause__
        commits = delta_commits(run.engine, place, before)
        if before is not None and not commits:  # nothing to replace and nothing to add makes no version
            return Written(0, None, before, 0, 0)
        # The first commit of a table that is made by name carries no mark.
        ours = [c for c in commits if c.mark == mark] or [c for c in commits if c.version == 0 and not c.mark and before is None]
        commit = ours[0] if ours else None
        return written(commit, "numOutputRows")

    @staticmethod
    def _replaces_rows_only(place: Place, output: Output, run: Run) -> bool:
        """True for an overwrite by name that keeps schema and partitions: a table that is made anew loses what was observed on the way."""
        if place.location is not None or output.canonical_mode != "overwrite" or is_dynamic(output, run):
            return False
        if any(option(output.options, name) is not None for name in ("replaceWhere", "overwriteSchema", "mergeSchema")):
            return False
        return not output.partition_by or [*output.partition_by] == delta_partitions(run.engine, place)

    def _merge(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        keys = merge_keys(df, output, run)
        with computed_once(df, run) as held:
            refuse_repeated_keys(held, keys, run)
            table = self.table(place, run)
            if table is None:
                return self.create(held, place, output, run)
            held = keys_as_stored(held, table.schema, keys, run)
            check_columns(df, table.schema, output, run)
            evolve, condition = is_true(output.options, "mergeSchema"), option(output.options, "merge_condition")
            text = partial(merge_statement, keys=keys, columns=df.columns, condition=condition, evolve=evolve)
            return self.merge(held, place, output, run, table.schema, text)

    # --- what modes with keys need -----------------------------------------------------------------------------------
    def table(self, place: Place, run: Run) -> DataFrame | None:
        if self.newest(place, run) is None and not (place.parts and run.spark.catalog.tableExists(place.name)):
            return None
        reader = run.spark.read.format("delta")
        return reader.load(place.location) if place.location else reader.table(place.name)

    def newest(self, place: Place, run: Run) -> int | None:
        return delta_version(run.engine, place)

    def create(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        references(df, output.partition_by, run, "/partition_by", top_level=True)
        return self._write(df, place, replace(output, mode="error"), run)

    def merge(self, df: DataFrame, place: Place, output: Output, run: Run, target: StructType, statement: Statement) -> Written:
        before = self.newest(place, run)
        with committing(df, output, run, target):
            figures = run_merge(df, run, lambda view: statement(_absolute(place, run), view))
        counts = {k.removeprefix("num_").removesuffix("_rows"): int(v) for k, v in figures.items() if v is not None}
        commit = next((c for c in delta_commits(run.engine, place, before) if c.operation == "MERGE"), None)
        details: dict[str, Any] = {f"rows_{k}": v for k, v in counts.items()}
        if commit is not None:
            details["files_removed"] = commit.figures.get("numTargetFilesRemoved", 0)
        reason = None if "affected" in counts else "the merge returned no figures"
        log = commit.figures if commit else {}
        version = commit.version if commit else before
        return Written(counts.get("affected"), reason, version, log.get("numTargetFilesAdded"), log.get("numTargetBytesAdded"), details=details)

    def _explained(self, error: SparquetError, df: DataFrame, place: Place, run: Run) -> SparquetError:
        """A schema that does not fit because of columns that the table lacks names them."""
        if error.code == "SCHEMA_MISMATCH" and (table := self.table(place, run)) is not None and (missing := absent(df, table.schema)):
            return SparquetError.of(column_faults(missing, run))
        return error


def _absolute(place: Place, run: Run) -> Place:
    """The place as SQL needs it: a location from its root."""
    return Place(qualified(run.engine, place.location)) if place.location else place


def written(commit: Commit | None, rows: str) -> Written:
    """What the table's own log says of our commit."""
    if commit is None:
        return Written(reason="the commit was not found in the table's log")
    figures = commit.figures
    known = figures.get(rows)
    reason = None if known is not None else "the table's log has no row count"
    return Written(known, reason, commit.version, figures.get("numFiles"), figures.get("numOutputBytes"))
