"""The ``iceberg`` format."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ..document import Output, Source
from ..errors import Problem
from ..jars import ICEBERG
from ..parts import located
from ..storage import ICEBERG_MARK, Commit, iceberg_commits
from .base import Written
from .faults import reading
from .keyed import write_by_key
from .modes import HASHED
from .options import is_dynamic, is_true, option, texts, without
from .places import Place
from .tables import (
    OUTSIDE,
    Statement,
    TableFormat,
    add_columns,
    as_overwrite,
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
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run
    from ..engine import Node

_TRANSFORM = re.compile(r"(years|months|days|hours)\(\s*([^()]+?)\s*\)|bucket\(\s*(\d+)\s*,\s*([^()]+?)\s*\)", re.IGNORECASE)
_OURS = ("mergeSchema", "overwriteSchema", "replaceWhere", "partitionOverwriteMode")


class Iceberg(TableFormat):
    """An Iceberg table of a catalog (``lake.db.orders``), with snapshots and transactions.

    Reading takes one of ``versionAsOf``, ``timestampAsOf``, ``snapshot-id``, ``branch`` or ``tag``; without them the current
    snapshot is read, and every step and destination of the run sees that same one. A location can be read, too.
    Writing takes ``replaceWhere`` or ``partitionOverwriteMode=dynamic`` to replace a part, ``mergeSchema`` to add
    columns, ``overwriteSchema`` to replace schema and partitioning. ``partition_by`` knows ``days(ts)``, ``months(ts)``,
    ``years(ts)``, ``hours(ts)`` and ``bucket(16, id)``.

    Mode ``merge`` (or ``upsert``) updates the rows whose ``merge_keys`` match (nulls match nulls) and inserts the others;
    ``merge_condition`` adds to the match, over ``T`` (the table) and ``S`` (the rows). A table that is not there is made.
    ``hash_diff_upsert`` writes only rows that differ, ``historical`` keeps every version of a row, ``snapshot_soft_delete``
    marks rows that are gone, ``replace_partitions`` replaces the partitions that the frame holds.
    """

    name = "iceberg"
    package = ICEBERG
    time_travel = ("versionAsOf", "timestampAsOf", "snapshot-id", "branch", "tag")
    notes: ClassVar[tuple[str, ...]] = (
        "The catalog is configured in spark.configs: spark.sql.catalog.lake and its type.",
        "Repeated merge keys in the rows are an error before anything is written.",
        "With mergeSchema the new columns are added first, in a change of their own.",
    )

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from super().check_output(output, at)
        if output.path and "{" not in output.path and "/" in output.path:
            yield Problem("CATALOG_NEEDED", at + "/path", {"reason": "an Iceberg table is written by its catalog name, not by a location"})

    # --- read ------------------------------------------------------------------------------------------------------
    def read(self, source: Source, run: Run) -> DataFrame:
        place = Place.of(source.paths[0])
        options = texts({}, without(source.options, ("snapshot-id", "tag")))
        for name in ("snapshot-id", "tag"):
            if (value := option(source.options, name)) is not None:
                options["versionAsOf"] = str(value)
        with reading(self, source, run):
            df = _load(run, place, options)
            if place.location is not None or any(option(options, n) for n in self.time_travel):
                return df
            commits = iceberg_commits(run.engine, place)
            pinned = _load(run, place, {**options, "versionAsOf": str(commits[0].version)}) if commits else df
            # A column that was added after the newest snapshot is not in it; then the table is read as it is.
            return pinned if pinned.schema == df.schema else df

    def is_scan(self, node: Node, source: Source) -> bool:
        place = Place.of(source.paths[0])
        return node.name.casefold() == f"BatchScan {place.location or '.'.join(place.parts)}".casefold()

    # --- write -----------------------------------------------------------------------------------------------------
    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        place = Place.of(output.path or "")
        if place.location is not None:
            raise run.fault("CATALOG_NEEDED", "/path", reason="an Iceberg table is written by its catalog name, not by a location")
        if output.canonical_mode in HASHED:
            return write_by_key(self, df, place, output, run)
        if output.canonical_mode == "merge":
            return self._merge(df, place, output, run)
        with committing(df, output, run):
            there = run.spark.catalog.tableExists(place.name)
        if output.canonical_mode == "replace_partitions":
            if not (_is_partitioned(place, run) if there else output.partition_by):
                raise refuse_unpartitioned(output, run)
            output = as_overwrite(output)
        if there and output.canonical_mode == "ignore":
            return Written(rows=0, wrote=False)
        if there and output.canonical_mode == "error":
            raise run.fault("TARGET_EXISTS", "/path", found=output.path)
        return self._write(df, place, output, run, there)

    def _write(self, df: DataFrame, place: Place, output: Output, run: Run, there: bool) -> Written:
        from pyspark.sql import functions as F

        mark = uuid.uuid4().hex
        replace = is_true(output.options, "overwriteSchema") and output.canonical_mode == "overwrite"
        by = _partitions(df, output, run) if not there or replace else []
        target = run.spark.table(place.name).schema if there else None
        if target is not None and not replace:
            add_columns(df, target, place, output, run)
        where = option(output.options, "replaceWhere")
        rows = _only_inside(df, where) if there and where is not None else df
        before = self.newest(place, run) if there and is_dynamic(output, run) else None
        writer = rows.writeTo(place.name).options(**{f"snapshot-property.{ICEBERG_MARK}": mark, **texts({}, without(output.options, _OURS))})
        with committing(df, output, run, target):
            if not there or replace:
                writer = writer.using("iceberg")
                writer = writer.partitionedBy(*by) if by else writer
                writer.createOrReplace() if replace else writer.create()
            elif output.canonical_mode == "append":
                writer.append()
            elif is_dynamic(output, run):
                if not _is_partitioned(place, run):
                    raise refuse_unpartitioned(output, run)
                writer.overwritePartitions()
            else:
                writer.overwrite(F.expr(where) if where is not None else F.lit(True))
        commits = iceberg_commits(run.engine, place)
        commit = next((c for c in commits if c.mark == mark), None)
        if commit is None and commits and commits[0].version == before:  # nothing to replace and nothing to add makes no snapshot
            return Written(0, None, before, 0, 0)
        return _written(commit)

    def _merge(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        keys = merge_keys(df, output, run)
        with computed_once(df, run) as held:
            refuse_repeated_keys(held, keys, run)
            with committing(df, output, run):
                table = self.table(place, run)
            if table is None:
                return self.create(held, place, output, run)
            held = keys_as_stored(held, table.schema, keys, run)
            add_columns(df, table.schema, place, output, run)
            text = partial(merge_statement, keys=keys, columns=df.columns, condition=option(output.options, "merge_condition"), evolve=False)
            return self.merge(held, place, output, run, table.schema, text)

    # --- what modes with keys need -----------------------------------------------------------------------------------
    def table(self, place: Place, run: Run) -> DataFrame | None:
        return run.spark.table(place.name) if run.spark.catalog.tableExists(place.name) else None

    def newest(self, place: Place, run: Run) -> int | None:
        commits = iceberg_commits(run.engine, place)
        return commits[0].version if commits else None

    def create(self, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
        return self._write(df, place, replace(output, mode="append", options={}), run, False)

    def merge(self, df: DataFrame, place: Place, output: Output, run: Run, target: StructType, statement: Statement) -> Written:
        earlier = {c.version for c in iceberg_commits(run.engine, place)}
        with committing(df, output, run, target):
            run_merge(df, run, lambda view: statement(place, view))
        prefix = "spark.merge-into.num-target-rows-"
        commit = next((c for c in iceberg_commits(run.engine, place) if c.version not in earlier and any(k.startswith(prefix) for k in c.figures)), None)
        if commit is None:
            return Written(reason="the snapshot of the merge was not found in the table's log")
        counts = {f"rows_{kind}": commit.figures.get(prefix + kind, 0) for kind in ("updated", "deleted", "inserted")}
        done = _written(commit)
        return Written(sum(counts.values()), None, commit.version, done.files, done.bytes, details={"rows_affected": sum(counts.values()), **counts})


def _load(run: Run, place: Place, options: dict[str, str]) -> DataFrame:
    reader = run.spark.read.format("iceberg").options(**options)
    return run.engine.check_analysis(reader.load(place.location) if place.location else reader.table(place.name))


def _written(commit: Commit | None) -> Written:
    if commit is None:
        return Written(reason="the snapshot was not found in the table's log")
    figures = commit.figures
    return Written(figures.get("added-records", 0), None, commit.version, figures.get("added-data-files", 0), figures.get("added-files-size", 0))


def _partitions(df: DataFrame, output: Output, run: Run) -> list[Column]:
    """The partition columns and transforms of a table that is made."""
    from pyspark.sql import functions as F

    found: list[Column] = []
    for i, text in enumerate(output.partition_by):
        match = _TRANSFORM.fullmatch(text.strip())
        name = (match.group(2) or match.group(4)) if match else text
        column = F.col(located(df, [(f"/{i}", name)], run, "/partition_by", top_level=True)[0][1].sql)
        if match is None:
            found.append(column)
        elif match.group(3):
            found.append(F.partitioning.bucket(int(match.group(3)), column))
        else:
            found.append(getattr(F.partitioning, match.group(1).lower())(column))
    return found


def _is_partitioned(place: Place, run: Run) -> bool:
    return "partition" in run.spark.table(f"{place.name}.partitions").columns


def _only_inside(df: DataFrame, where: str) -> DataFrame:
    """The frame, failing on a row outside the part that is replaced: it would stay, and running twice would double it."""
    from pyspark.sql import functions as F

    return df.where(F.expr(f"CASE WHEN ({where}) THEN true ELSE raise_error('{OUTSIDE}') END"))
