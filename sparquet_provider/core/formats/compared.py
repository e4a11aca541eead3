"""Modes that keep one row a key: rows of the frame are compared by hash with those of the table, and only what differs is written.

One window over the frame's rows and the few columns of the table's that matter finds, for every key, what there is to do.
A window takes nulls as a key like any other, sees several rows of a key, and shuffles the frame once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from ..columns import HIDDEN, quoted
from ..document import Output
from .options import is_true
from .places import Place
from .row_hash import ROW_HASH, with_row_hash
from .tables import assigned, inserted, merge_head

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

#: Columns of the staged rows that no table gets.
STAGED = HIDDEN
#: What to do with a staged row, and whether it is one of the frame's.
ACTION, GIVEN = STAGED + "action", STAGED + "given"


class KeyedMode:
    """What one mode finds to do, and the MERGE that does it."""

    #: The column that tells several rows of one key apart; without it a key has one row.
    start: ClassVar[str] = ""

    def prepared(self, df: DataFrame, output: Output, run: Run, target: StructType | None) -> DataFrame:
        """The frame with the columns that the comparison needs."""
        return with_row_hash(df, output, run, target)

    def first(self, df: DataFrame, keys: list[str]) -> DataFrame:
        """The rows of a table that is not there yet."""
        return df

    def changes(self, df: DataFrame, table: DataFrame, keys: list[str], run: Run) -> DataFrame:
        """What the table needs: rows with an :data:`ACTION`."""
        raise NotImplementedError

    def judge(self, counts: Mapping[str, int], rows: int, output: Output, run: Run) -> None:
        """Raise or warn where the number of rows of the actions asks for it; ``rows`` are those of the frame."""

    def statement(self, place: Place, view: str, keys: list[str], columns: list[str]) -> str:
        """The MERGE of the staged rows."""
        raise NotImplementedError


class HashDiff(KeyedMode):
    """Insert new rows and update those that differ; the others stay as they are, with their ``ingestion_ts``."""

    def changes(self, df: DataFrame, table: DataFrame, keys: list[str], run: Run) -> DataFrame:
        both = beside(df, of_these_keys(table, df, keys), keys, {ROW_HASH: f"coalesce({ROW_HASH}, '')"})
        return _compared(both, keys).where(f"{ACTION} IS NOT NULL")

    def statement(self, place: Place, view: str, keys: list[str], columns: list[str]) -> str:
        update = f"WHEN MATCHED AND NOT (T.{ROW_HASH} <=> S.{ROW_HASH}) THEN UPDATE SET {assigned(columns)}"
        return f"{merge_head(place, view, keys)} {update} WHEN NOT MATCHED THEN INSERT {inserted(columns)}"


class Snapshot(KeyedMode):
    """Insert, update and revive the rows of a whole snapshot; mark those that it lacks as deleted."""

    def prepared(self, df: DataFrame, output: Output, run: Run, target: StructType | None) -> DataFrame:
        from pyspark.sql import functions as F

        hashed = super().prepared(df, output, run, target)
        return hashed.withColumn("is_deleted", F.lit(False)).withColumn("deleted_at", F.lit(None).cast("timestamp"))

    def changes(self, df: DataFrame, table: DataFrame, keys: list[str], run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        # A deleted row has no hash here, so the frame's row always differs from it.
        both = beside(df, table, keys, {ROW_HASH: f"CASE WHEN is_deleted THEN '' ELSE coalesce({ROW_HASH}, 'unknown') END"})
        first = f"row_number() OVER (PARTITION BY {_by(keys)} ORDER BY {GIVEN} DESC) = 1"
        gone = f"NOT {GIVEN} AND {first} AND max({_STORED}) OVER (PARTITION BY {_by(keys)}) <> ''"
        found = _compared(both.withColumn(_GONE, F.expr(gone)), keys)
        found = found.withColumn(ACTION, F.expr(f"CASE WHEN {_GONE} THEN 'delete' ELSE {ACTION} END")).where(f"{ACTION} IS NOT NULL").drop(_GONE)
        gone_now = F.expr(f"{ACTION} = 'delete'")
        return found.withColumn("is_deleted", gone_now).withColumn("deleted_at", F.when(gone_now, F.lit(run.ingestion_ts)))

    def judge(self, counts: Mapping[str, int], rows: int, output: Output, run: Run) -> None:
        deleted = counts.get("delete", 0)
        if not rows and deleted and not is_true(output.options, "allow_empty_snapshot"):
            raise run.fault("EMPTY_SNAPSHOT", count=deleted, found=output.path)

    def statement(self, place: Place, view: str, keys: list[str], columns: list[str]) -> str:
        return (
            f"{merge_head(place, view, keys)}"
            f" WHEN MATCHED AND S.{ACTION} = 'delete' THEN UPDATE SET {assigned(['is_deleted', 'deleted_at'])}"
            f" WHEN MATCHED THEN UPDATE SET {assigned(columns)}"
            f" WHEN NOT MATCHED AND S.{ACTION} <> 'delete' THEN INSERT {inserted(columns)}"
        )


_STORED = f"CASE WHEN NOT {GIVEN} THEN {ROW_HASH} END"
_GONE = STAGED + "gone"


def _by(keys: list[str]) -> str:
    return ", ".join(map(quoted, keys))


def _compared(both: DataFrame, keys: list[str]) -> DataFrame:
    """Both kinds of rows; those of the frame that the table needs have an action."""
    from pyspark.sql import functions as F

    low, high = (f"{kind}({_STORED}) OVER (PARTITION BY {_by(keys)})" for kind in ("min", "max"))
    action = f"CASE WHEN NOT {GIVEN} THEN NULL WHEN {high} IS NULL THEN 'insert' WHEN {low} = {ROW_HASH} AND {high} = {ROW_HASH} THEN NULL ELSE 'update' END"
    return both.withColumn(ACTION, F.expr(action))


def beside(df: DataFrame, table: DataFrame, keys: list[str], columns: Mapping[str, str]) -> DataFrame:
    """The rows of the frame and, of those of the table, the keys and what ``columns`` says (name: SQL)."""
    from pyspark.sql import functions as F

    kinds = {f.name: f.dataType for f in df.schema.fields}
    slim = table.select(*[F.col(quoted(k)).cast(kinds[k]).alias(k) for k in keys], *[F.expr(sql).alias(name) for name, sql in columns.items()])
    return df.withColumn(GIVEN, F.lit(True)).unionByName(slim.withColumn(GIVEN, F.lit(False)), allowMissingColumns=True)


def of_these_keys(table: DataFrame, df: DataFrame, keys: list[str]) -> DataFrame:
    """The rows of the table whose key is in the frame: a small frame is sent to all readers, and the table is not shuffled."""
    from pyspark.sql import functions as F

    names = [f"{STAGED}key_{i}" for i in range(len(keys))]
    given = df.select(*[F.col(quoted(k)).alias(name) for k, name in zip(keys, names, strict=True)])
    matches = [F.col(quoted(k)).eqNullSafe(F.col(name)) for k, name in zip(keys, names, strict=True)]
    return table.join(given, reduce(lambda a, b: a & b, matches), "left_semi")
