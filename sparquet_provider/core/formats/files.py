"""What the file formats share: reading paths, and writes that leave the old data when they fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..columns import quoted
from ..document import Output, Source
from ..engine import observed
from ..errors import Problem, SparquetError
from ..faults import condition_of
from ..parts import references
from ..storage import exists, move, remove, renames, rooted, staged
from .base import Format, Written
from .faults import reading, write_fault
from .logins import log_in, storage_packages
from .options import check_partial, check_path, check_scope, is_dynamic, option, texts
from .places import overlap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from ..context import Run
    from ..engine import Engine, Node, Watch

#: The column that holds a malformed row while it is counted.
MALFORMED = "__sparquet_malformed"

#: Files that a task keeps open while it writes both sides of a split, so that the rows need no sort by side.
WRITERS = 8


class FileFormat(Format):
    """A format of files that Spark brings itself."""

    readable = True
    writable = True
    path_based = True
    takes_connection = True
    #: Spark's own name of the format, when it differs.
    spark_name: ClassVar[str] = ""
    read_defaults: ClassVar[Mapping[str, Any]] = {}
    write_defaults: ClassVar[Mapping[str, Any]] = {}
    #: True when a file without rows still says which columns there are.
    keeps_schema: ClassVar[bool] = True

    @property
    def source_name(self) -> str:
        """The name of the format for Spark."""
        return self.spark_name or self.name

    def packages_for(self, options: Mapping[str, Any], kind: str | None) -> tuple[str, ...]:
        return (*super().packages_for(options, kind), *storage_packages(kind))

    # --- lint ------------------------------------------------------------------------------------------------------
    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_path(source, at, "a path, a glob or a list of them")
        yield from check_scope(source, at)

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "a path or URI")
        yield from check_partial(output, at)
        if option(output.options, "replaceWhere") is not None:
            reason = f"replaceWhere has no meaning for {self.name}; everything would be replaced"
            remedy = "Use partition_by with partitionOverwriteMode=dynamic, or a table format."
            yield Problem("INVALID_COMBINATION", at + "/options/replaceWhere", {"reason": reason, "remedy": remedy})
        if str(option(output.options, "partitionOverwriteMode")).casefold() == "dynamic" and not output.partition_by:
            reason = "partitionOverwriteMode=dynamic without partition_by would replace everything"
            remedy = "Name the partition columns in partition_by."
            yield Problem("INVALID_COMBINATION", at + "/options/partitionOverwriteMode", {"reason": reason, "remedy": remedy})

    # --- read ------------------------------------------------------------------------------------------------------
    def read(self, source: Source, run: Run) -> DataFrame:
        df = self.load(source, run, texts(self.read_defaults, source.options), source.schema)
        if not df.columns:
            raise run.fault("SOURCE_EMPTY", format=self.name, found=", ".join(source.paths))
        return df

    def load(self, source: Source, run: Run, options: Mapping[str, str], schema: Any) -> DataFrame:
        """The frame with those options and that schema; Spark's faults become faults of the source."""
        with reading(self, source, run):
            log_in(source, run)
            reader = run.spark.read.format(self.source_name).options(**options)
            if schema:
                reader = reader.schema(schema)
            return run.engine.check_analysis(reader.load(list(source.paths)))

    def rows_read(self, source: Source, engine: Engine, before: int) -> tuple[int | None, str | None]:
        return super().rows_read(replace(source, path=tuple(rooted(engine, path) for path in source.paths)), engine, before)

    def is_scan(self, node: Node, source: Source) -> bool:
        return node.name.startswith(f"Scan {self.source_name}") and any(overlap(place, path) for place in scanned(node) for path in source.paths)

    # --- write -----------------------------------------------------------------------------------------------------
    def holds(self, kind: DataType) -> bool:
        """True when a column of that type can be stored."""
        return True

    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        self._check_columns(df, output, run)
        log_in(output, run)
        path, mode = output.path or "", output.canonical_mode
        if mode in ("error", "ignore") and exists(run.engine, path):
            return kept(output, run)
        watch = run.engine.watch(df)
        try:
            rows = self._write_rows(watch, df, output, run)
        except FileExistsError:
            return kept(output, run)
        reason = None if rows is not None else "the engine did not count the rows of this write"
        files = watch.metric("number of written files", "written output")
        return Written(rows, reason, files=files, bytes=watch.metric("written output", "number of written files"))

    def _write_rows(self, watch: Watch, df: DataFrame, output: Output, run: Run) -> int | None:
        path, mode = output.path or "", output.canonical_mode
        in_place = mode == "append" or is_dynamic(output, run)
        with nullcontext(path) if in_place else staged(run.engine, path, replace=mode == "overwrite") as folder:
            try:
                self._save(watch.df, folder, mode if mode in ("append", "overwrite") else "error", output)
            except Exception as error:
                if condition_of(error) == "PATH_ALREADY_EXISTS":
                    raise FileExistsError(path) from error
                raise write_fault(error, output, run) from error
            rows = watch.rows_written()
            if not rows and output.partition_by and self.keeps_schema:
                self._keep_schema(df, folder, output, run)
        return rows

    def _save(self, df: DataFrame, path: str, mode: str, output: Output) -> None:
        writer = df.write.format(self.source_name).mode(mode).options(**texts(self.write_defaults, output.options))
        (writer.partitionBy(*output.partition_by) if output.partition_by else writer).save(path)

    def writes_sides(self, sides: Mapping[str, Output], engine: Engine) -> bool:
        return all(renames(engine, side.path or "") for side in sides.values())

    def write_sides(self, df: DataFrame, flag: str, sides: Mapping[str, Output], run: Run) -> dict[str, Written]:
        # One job writes a folder that is partitioned by the flag; its two parts then take their places.
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        self._check_columns(df.drop(flag), sides["valid"], run)
        for side in sides.values():
            log_in(side, run)
        observation = Observation()
        watch = run.engine.watch(df.observe(observation, F.count_if(flag).alias("bad")))
        with staged(run.engine, sides["valid"].path or "") as valid, staged(run.engine, sides["invalid"].path or "") as invalid:
            both = f"{valid}-both"
            try:
                with run.engine.setting("spark.sql.maxConcurrentOutputFileWriters", str(WRITERS)):
                    self._save(watch.df, both, "error", replace(sides["valid"], partition_by=(flag,)))
                rows, values = watch.rows_written(), observed(observation, run.engine)
                for folder, value in ((valid, "false"), (invalid, "true")):
                    if not move(run.engine, f"{both}/{flag}={value}", folder):
                        self._save(run.spark.createDataFrame([], df.drop(flag).schema), folder, "error", sides["valid"])
            except Exception as error:
                raise write_fault(error, sides["invalid"], run) from error
            finally:
                remove(run.engine, both)
        bad = int(values["bad"]) if values else None if rows else 0
        reason = None if bad is not None and rows is not None else "the engine did not count the rows of this write"
        return {"valid": Written(None if bad is None or rows is None else rows - bad, reason), "invalid": Written(bad, reason)}

    def _check_columns(self, df: DataFrame, output: Output, run: Run) -> None:
        by = {r.name for r in references(df, output.partition_by, run, "/partition_by", top_level=True)}
        fields = df.schema.fields
        if fields and by == {f.name for f in fields}:
            reason = "partition_by names every column, so no column is left for the files"
            raise run.fault("INVALID_COMBINATION", "/partition_by", reason=reason, remedy="Leave out at least one column.")
        wrong = [f for f in fields if f.name not in by and not self.holds(f.dataType)]
        if wrong:
            facts = ({"found": f.name, "type": f.dataType.simpleString(), "format": self.name} for f in wrong)
            raise SparquetError.of(Problem("TYPE_NOT_STORABLE", run.at, f) for f in facts)

    def _keep_schema(self, df: DataFrame, path: str, output: Output, run: Run) -> None:
        """Spark writes no file for a partitioned frame without rows, and a folder without files can't be read back."""
        from pyspark.errors import PySparkException

        try:
            run.engine.check_analysis(run.spark.read.format(self.source_name).load(path))
            return  # the folder has files of earlier writes
        except PySparkException:
            pass
        self.write_schema(df, path, output, run)

    def write_schema(self, df: DataFrame, path: str, output: Output, run: Run) -> None:
        """A file without rows at the root, with the partition columns at the end, where a reader sees them."""
        by = {name.casefold() for name in output.partition_by}
        order = [n for n in df.columns if n.casefold() not in by] + [n for n in df.columns if n.casefold() in by]
        empty = run.spark.createDataFrame([], df.schema).select(*map(quoted, order))
        empty.write.format(self.source_name).mode("append").options(**texts(self.write_defaults, output.options)).save(path)


def kept(output: Output, run: Run) -> Written:
    """What mode ``ignore`` returns when something is there; mode ``error`` raises."""
    if output.canonical_mode == "ignore":
        return Written(rows=0, wrote=False)
    raise run.fault("TARGET_EXISTS", "/path", found=output.path)


def scanned(node: Node) -> Iterator[str]:
    """The places that a scan's description shows; Spark cuts a long list, also inside a path."""
    _, _, rest = node.description.partition("Location: ")
    index, bracket, places = rest.partition("[")
    if not bracket or "Index" not in index:
        return
    for place in places.partition("]")[0].split(", "):
        if place.endswith("..."):
            place = place.rpartition("/")[0]
        if place.count("/") > 1:
            yield place
