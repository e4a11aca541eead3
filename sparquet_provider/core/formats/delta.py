"""The ``delta`` format."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..document import Output, Source
from ..errors import Problem, SparquetError
from ..jars import DELTA
from ..parts import references
from ..storage import Commit, delta_commits, delta_partitions, delta_version, qualified
from .base import Written
from .faults import reading
from .files import scanned
from .logins import log_in, storage_packages
from .options import is_dynamic, is_true, option, texts, without
from .places import Place, overlap
from .tables import MERGE_OPTIONS, TableFormat, absent, column_faults, committing, computed_once, merge_keys, refuse_repeated_keys, run_merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..engine import Node

#: Delta's own way to write a version into the path: ``orders@v12``, ``orders@20260101000000000``.
_VERSIONED = re.compile(r"@(?:v\d+|\d{17})$")


class Delta(TableFormat):
    """A Delta table, by name or by location, with versions and transactions.

    Reading takes ``versionAsOf`` or ``timestampAsOf``; without them the newest version is read, and every step and
    destination of the run sees that same version. Writing takes ``replaceWhere`` or ``partitionOverwriteMode=dynamic`` to
    replace a part, ``mergeSchema`` to add columns, ``overwriteSchema`` to replace schema and partitioning.

    Mode ``merge`` updates the rows whose ``merge_keys`` match (nulls match nulls) and inserts the others;
    ``merge_condition`` adds to the match, over ``T`` (the table) and ``S`` (the rows). A table that is not there is made.
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
        references(df, output.partition_by, run, "/partition_by", top_level=True)
        if output.canonical_mode == "merge":
            return self._merge(df, place, output, run)
        return self._write(df, place, output, run)

    def _write(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        dynamic = is_dynamic(output, run)
        # On Connect the version costs a job; the mark finds our commit without it.
        before = _version(run, place) if dynamic or output.canonical_mode == "ignore" or not run.engine.connect else None
        if output.canonical_mode == "ignore" and before is not None:
            return Written(rows=0, version=before, wrote=False)
        if before is not None and dynamic and not output.partition_by and not delta_partitions(run.engine, place):
            reason = "partitionOverwriteMode=dynamic would replace everything: the table has no partitions"
            raise run.fault("INVALID_COMBINATION", "/options/partitionOverwriteMode", reason=reason, remedy="Use replaceWhere, or partition the table.")
        own = option(output.options, "userMetadata")
        mark = str(own) if own is not None else f"sparquet:{uuid.uuid4().hex}"
        options = texts({}, {"userMetadata": mark, **output.options})
        writer = df.write.format("delta").mode(output.canonical_mode).options(**options)
        if output.partition_by:
            writer = writer.partitionBy(*output.partition_by)
        try:
            with committing(df, output, run):
                writer.save(place.location) if place.location else writer.saveAsTable(place.name)
        except SparquetError as error:
            raise self._explained(error, df, place, run) from error.__cause__
        commits = delta_commits(run.engine, place, before)
        # The first commit of a table that is made by name carries no mark.
        ours = [c for c in commits if c.mark == mark] or [c for c in commits if c.version == 0 and not c.mark and before is None]
        commit = ours[0] if ours else None
        return written(commit, "numOutputRows")

    def _merge(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        keys = merge_keys(df, output, run)
        with computed_once(df, run) as held:
            refuse_repeated_keys(held, keys, run)
            before = _version(run, place)
            if before is None and not (place.parts and run.spark.catalog.tableExists(place.name)):
                made = replace(output, mode="error", options=without(output.options, MERGE_OPTIONS))
                return self._write(held, place, made, run)
            target = _schema(run, place)
            evolve = is_true(output.options, "mergeSchema")
            if not evolve and (missing := absent(df, target)):
                raise SparquetError.of(column_faults(missing, run))
            absolute = Place(qualified(run.engine, place.location)) if place.location else place
            with committing(df, output, run, target):
                figures = run_merge(held, absolute, keys, output, run, evolve=evolve)
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
        if error.code == "SCHEMA_MISMATCH" and _version(run, place) is not None and (missing := absent(df, _schema(run, place))):
            return SparquetError.of(column_faults(missing, run))
        return error


def written(commit: Commit | None, rows: str) -> Written:
    """What the table's own log says of our commit."""
    if commit is None:
        return Written(reason="the commit was not found in the table's log")
    figures = commit.figures
    known = figures.get(rows)
    reason = None if known is not None else "the table's log has no row count"
    return Written(known, reason, commit.version, figures.get("numFiles"), figures.get("numOutputBytes"))


def _version(run: Run, place: Place) -> int | None:
    return delta_version(run.engine, place)


def _schema(run: Run, place: Place) -> Any:
    reader = run.spark.read.format("delta")
    return (reader.load(place.location) if place.location else reader.table(place.name)).schema
