"""What lies below a frame: file systems, and the logs of table formats. The other half of :mod:`engine`.

Classic Spark answers from the driver's memory in milliseconds, with no job. A Connect session can't reach that: table
logs are asked by SQL there, and file systems not at all.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import Engine
    from .formats.places import Place

#: The key of an Iceberg snapshot's summary by which a run finds its own.
ICEBERG_MARK = "sparquet"

#: File systems whose rename is one step of the directory and not a copy.
_RENAMING = ("file", "hdfs", "viewfs", "webhdfs", "maprfs")


@dataclass(frozen=True)
class Commit:
    """One entry of a table's log: its version, what it did, its figures, and the mark that its writer left."""

    version: int
    operation: str
    figures: dict[str, int]
    mark: str = ""


# --- files ---------------------------------------------------------------------------------------------------------
def qualified(engine: Engine, path: str) -> str:
    """A path with its scheme and from its root; as it is where file systems are out of reach."""
    if engine.connect:
        return path
    fs, place = _file_system(engine, path)
    return str(fs.makeQualified(place).toString())


def rooted(engine: Engine, path: str) -> str:
    """A relative path from its root, as plans show it; any other as it is."""
    return path if path.startswith("/") or ":" in path.split("/")[0] else qualified(engine, path)


def without_links(engine: Engine, path: str) -> str:
    """A qualified path with no symbolic link of this machine's disks in it; as it is where file systems are out of reach."""
    if engine.connect or not path.startswith("file:"):
        return path
    return "file:" + os.path.realpath(path.removeprefix("file:"))


def exists(engine: Engine, path: str) -> bool | None:
    """True when a file or folder is there; None where file systems are out of reach."""
    if engine.connect:
        return None
    fs, place = _file_system(engine, path)
    return bool(fs.exists(place))


@contextmanager
def staged(engine: Engine, path: str, *, replace: bool = True) -> Iterator[str]:
    """The folder to write to, so that ``path`` is replaced as a whole when the block ends well, and else kept as it was.

    It is a hidden neighbour that takes the place of ``path`` by rename. Where a rename is a copy (object stores), or
    file systems are out of reach, it is ``path`` itself, and a job that fails leaves there what Spark leaves.

    Raises:
        FileExistsError: somebody else made ``path`` meanwhile, and ``replace`` is False.
    """
    if not renames(engine, path):
        yield path
        return
    fs, target = _file_system(engine, path)
    token = uuid.uuid4().hex[:8]
    place = type_of(engine, "org.apache.hadoop.fs.Path")
    beside = str(target.getParent().toString()).rstrip("/")
    # As one text: given as a child, a name with a colon would be taken for an address.
    new, old = (place(f"{beside}/.{target.getName()}.sparquet-{kind}-{token}") for kind in ("new", "old"))
    try:
        yield str(new.toString())
        if fs.exists(target):
            if not replace:
                raise FileExistsError(path)
            _rename(fs, target, old)
        try:
            _rename(fs, new, target)
        except Exception:
            with suppress(Exception):  # the first fault is the one to report
                _rename(fs, old, target)
            raise
        fs.delete(old, True)
    except BaseException:
        with suppress(Exception):
            fs.delete(new, True)
        raise
    engine.spark.catalog.refreshByPath(path)


def move(engine: Engine, source: str, target: str) -> bool:
    """Rename a folder; False when it is not there."""
    fs, place = _file_system(engine, source)
    if not fs.exists(place):
        return False
    _rename(fs, place, _file_system(engine, target)[1])
    return True


def remove(engine: Engine, path: str) -> None:
    """Remove a folder with all that is in it; nothing happens when it is not there."""
    fs, place = _file_system(engine, path)
    fs.delete(place, True)


def renames(engine: Engine, path: str) -> bool:
    """True where a folder takes another's place in one step: the file systems of disks, reached by classic Spark."""
    if engine.connect:
        return False
    fs, target = _file_system(engine, path)
    if fs.getUri().getScheme() not in _RENAMING or target.getParent() is None:
        return False
    return not (fs.exists(target) and fs.getFileLinkStatus(target).isSymlink())


def _rename(fs: Any, source: Any, target: Any) -> None:
    if not fs.rename(source, target):
        raise OSError(f"{source.toString()} could not be renamed to {target.toString()}")


def _file_system(engine: Engine, path: str) -> tuple[Any, Any]:
    place = type_of(engine, "org.apache.hadoop.fs.Path")(path)
    fs = place.getFileSystem(engine.spark._jsparkSession.sessionState().newHadoopConf())
    return fs, fs.makeQualified(place)


def type_of(engine: Engine, name: str) -> Any:
    """A class of the driver's Java side (classic Spark only)."""
    found: Any = engine.spark._jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found


# --- Delta ---------------------------------------------------------------------------------------------------------
def delta_version(engine: Engine, place: Place) -> int | None:
    """The newest version of a Delta table; None when there is none (a view has none either)."""
    log = _delta_log(engine, place)
    if log is not None:
        version = int(_delta_snapshot(engine, log).version())
        return version if version >= 0 else None
    newest = _delta_history(engine, place, 1)
    return newest[0].version if newest else None


def delta_partitions(engine: Engine, place: Place) -> list[str]:
    """The partition columns of a Delta table that exists."""
    log = _delta_log(engine, place)
    if log is None:
        return list(engine.spark.sql(f"DESCRIBE DETAIL {place.sql}").collect()[0]["partitionColumns"])
    columns = _delta_snapshot(engine, log).metadata().partitionColumns()
    return [str(columns.apply(i)) for i in range(columns.size())]


def delta_commits(engine: Engine, place: Place, after: int | None) -> list[Commit]:
    """The newest commits of a Delta table (10 at most) later than that version, newest first."""
    after = -1 if after is None else after
    log = _delta_log(engine, place)
    if log is None:
        return [c for c in _delta_history(engine, place, 10) if c.version > after]
    newest = int(_delta_snapshot(engine, log).version())
    manager, path = type_of(engine, "org.apache.spark.sql.delta.DeltaHistoryManager"), type_of(engine, "org.apache.hadoop.fs.Path")
    found = []
    for version in range(newest, max(after, newest - 10), -1):
        entry = manager.getCommitInfoOpt(log.store(), path(log.logPath(), f"{version:020d}.json"), log.newDeltaHadoopConf())
        if entry.isDefined():
            info = entry.get()
            metrics = _pairs(info.operationMetrics().get()) if info.operationMetrics().isDefined() else {}
            mark = str(info.userMetadata().get()) if info.userMetadata().isDefined() else ""
            found.append(Commit(version, str(info.operation()), _numbers(metrics), mark))
    return found


def _delta_log(engine: Engine, place: Place) -> Any:
    """Delta's own object for a table; None where it can't be had, and SQL has to answer."""
    if engine.connect:
        return None
    session = engine.spark._jsparkSession
    try:
        log = type_of(engine, "org.apache.spark.sql.delta.DeltaLog")
        if place.location is not None:
            return log.forTable(session, place.location)
        return log.forTable(session, session.sessionState().sqlParser().parseTableIdentifier(place.name))
    except Exception:  # noqa: BLE001 - no jar, no such table, a view, a foreign catalog: SQL says which
        return None


def _delta_snapshot(engine: Engine, log: Any) -> Any:
    none = type_of(engine, "scala.Option").empty()
    return log.update(False, none, none)


def _delta_history(engine: Engine, place: Place, limit: int) -> list[Commit]:
    from pyspark.errors import PySparkException

    try:
        # Asked for the history of no table, Delta's listener would put a trace into the log.
        if place.parts and not engine.spark.catalog.tableExists(place.name):
            return []
        rows = engine.spark.sql(f"DESCRIBE HISTORY {place.sql} LIMIT {limit}").collect()
    except PySparkException:
        return []
    return [Commit(int(r["version"]), r["operation"], _numbers(r["operationMetrics"] or {}), r["userMetadata"] or "") for r in rows]


# --- Iceberg -------------------------------------------------------------------------------------------------------
def iceberg_commits(engine: Engine, place: Place) -> list[Commit]:
    """The newest snapshots of an Iceberg table (10 at most), newest first; none when it has never been written."""
    if engine.connect:
        text = f"SELECT snapshot_id, operation, summary FROM {place.name}.snapshots ORDER BY committed_at DESC LIMIT 10"
        rows = engine.spark.sql(text).collect()
        return [Commit(int(r["snapshot_id"]), r["operation"], _numbers(r["summary"] or {}), (r["summary"] or {}).get(ICEBERG_MARK, "")) for r in rows]
    table = type_of(engine, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(engine.spark._jsparkSession, place.name)
    found: list[Commit] = []
    snapshot = table.currentSnapshot()
    while snapshot is not None and len(found) < 10:
        summary = {str(k): str(v) for k, v in snapshot.summary().items()}
        found.append(Commit(int(snapshot.snapshotId()), str(snapshot.operation()), _numbers(summary), summary.get(ICEBERG_MARK, "")))
        parent = snapshot.parentId()
        snapshot = table.snapshot(parent) if parent is not None else None
    return found


# --- both ----------------------------------------------------------------------------------------------------------
def _pairs(scala_map: Any) -> dict[str, str]:
    found, rest = {}, scala_map.iterator()
    while rest.hasNext():
        pair = rest.next()
        found[str(pair._1())] = str(pair._2())
    return found


def _numbers(figures: dict[str, str]) -> dict[str, int]:
    return {k: int(v) for k, v in figures.items() if v.isdigit()}
