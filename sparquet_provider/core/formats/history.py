"""Mode ``historical``: every version of a row, with the time for which it held (slowly changing dimension, type 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..columns import quoted
from ..document import Output
from ..parts import references
from .compared import ACTION, GIVEN, STAGED, KeyedMode, beside, of_these_keys
from .options import option
from .places import Place
from .row_hash import ROW_HASH
from .tables import CHANGED_MEANWHILE, assigned, inserted, merge_head

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

_KNOWN, _BEFORE, _FIRST, _MEETS = (STAGED + name for name in ("known", "before", "first", "meets"))


class Historical(KeyedMode):
    """Close the current version of a row that differs and add the new one; what is closed is never touched again.

    A version starts at ``effective_from``, else at the run's ``ingestion_ts``. A row that says what held at its start
    anyway adds nothing. One that differs and starts no later than the newest version of its key is late: it is not
    applied, and counted.
    """

    start = "valid_from"

    def prepared(self, df: DataFrame, output: Output, run: Run, target: StructType | None) -> DataFrame:
        from pyspark.sql import functions as F

        name = option(output.options, "effective_from")
        hashed = super().prepared(df, output, run, target)
        if name is None:
            return hashed.withColumn("valid_from", F.lit(run.ingestion_ts))
        column = references(df, [name], run, "/options/effective_from", top_level=True)[0]
        if column.family != "time":
            reason = f"effective_from names {column.name}, which is {column.type_name}"
            raise run.fault("INVALID_COMBINATION", "/options/effective_from", reason=reason, remedy="Cast it to timestamp or date first.")
        return hashed.withColumn("valid_from", F.col(column.sql).cast("timestamp"))

    def first(self, df: DataFrame, keys: list[str]) -> DataFrame:
        from pyspark.sql import functions as F

        given = df.withColumn(GIVEN, F.lit(True)).withColumn("is_current", F.lit(None).cast("boolean"))
        return _versions(given, keys).drop(ACTION, GIVEN, _FIRST, _MEETS)

    def changes(self, df: DataFrame, table: DataFrame, keys: list[str], run: Run) -> DataFrame:
        stored = {ROW_HASH: f"coalesce({ROW_HASH}, '')", "valid_from": "valid_from", "is_current": "coalesce(is_current, false)"}
        return _versions(beside(df, of_these_keys(table, df, keys), keys, stored), keys)

    def judge(self, counts: Mapping[str, int], rows: int, output: Output, run: Run) -> None:
        if late := counts.get("late"):
            run.warn("LATE_ROWS", count=late, found=output.path)

    def statement(self, place: Place, view: str, keys: list[str], columns: list[str]) -> str:
        # Rows to add meet no row of the table, save the first of a key that had no current version when it was looked for.
        # Whoever meets another version than the one to close was overtaken by another writer.
        overtaken = f"CAST(raise_error('{CHANGED_MEANWHILE}') AS TIMESTAMP)"
        return (
            f"{merge_head(place, view, keys)} AND T.is_current AND S.{_MEETS}"
            f" WHEN MATCHED AND S.{ACTION} = 'close' AND T.valid_from <=> S.valid_from THEN UPDATE SET {assigned(['valid_to', 'is_current'])}"
            f" WHEN MATCHED THEN UPDATE SET T.valid_to = {overtaken}"
            f" WHEN NOT MATCHED AND S.{ACTION} = 'insert' THEN INSERT {inserted(columns)}"
        )


def _versions(both: DataFrame, keys: list[str]) -> DataFrame:
    """Versions to insert and to close, and rows that are late, from the frame's rows and the versions that the table has."""
    from pyspark.sql import functions as F

    by = "PARTITION BY " + ", ".join(map(quoted, keys))
    # Of two rows with one start the table's comes first.
    in_turn = f"{by} ORDER BY valid_from, {GIVEN}"
    known = f"max(CASE WHEN NOT {GIVEN} THEN valid_from END) OVER ({by})"
    # What held before: a row that is late never counts.
    counts = f"CASE WHEN NOT {GIVEN} OR {_KNOWN} IS NULL OR valid_from > {_KNOWN} THEN {ROW_HASH} END"
    before = f"last_value({counts}) IGNORE NULLS OVER ({in_turn} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    action = (
        f"CASE WHEN NOT {GIVEN} THEN CASE WHEN is_current THEN 'close' END WHEN {ROW_HASH} <=> {_BEFORE} THEN NULL"
        f" WHEN valid_from <= {_KNOWN} THEN 'late' ELSE 'insert' END"
    )
    found = both.withColumn(_KNOWN, F.expr(known)).withColumn(_BEFORE, F.expr(before)).withColumn(ACTION, F.expr(action))
    found = found.where(f"{ACTION} IS NOT NULL").drop(_KNOWN, _BEFORE)
    first = f"min(CASE WHEN {ACTION} = 'insert' THEN valid_from END) OVER ({by})"
    found = found.withColumn(_FIRST, F.expr(first)).where(f"{ACTION} <> 'close' OR {_FIRST} IS NOT NULL")
    meets = f"{ACTION} = 'close' OR valid_from = {_FIRST} AND bool_and({GIVEN}) OVER ({by})"
    until = f"CASE WHEN {GIVEN} THEN lead(valid_from) OVER ({in_turn}) ELSE {_FIRST} END"
    staged = found.withColumn(_MEETS, F.expr(meets)).withColumn("valid_to", F.expr(until))
    # The column stands last, also where the union gave it a place.
    return staged.drop("is_current").withColumn("is_current", F.expr(f"{ACTION} = 'insert' AND valid_to IS NULL"))
