"""How a mode that compares by key writes: look, count, then one MERGE; nothing at all when nothing differs.

The staged rows are computed once and kept: counting them gives the figures, and the MERGE takes them from memory. Its
conditions hold against a writer, too, who committed between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..document import Output
from ..errors import Problem, SparquetError
from .base import Written
from .compared import ACTION, STAGED, HashDiff, KeyedMode, Snapshot
from .history import Historical
from .modes import HASHED
from .options import option
from .places import Place
from .row_hash import ROW_HASH
from .tables import TableFormat, add_columns, check_columns, computed_once, keys_as_stored, merge_keys, refuse_repeated_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from ..context import Run

_MODES: Mapping[str, KeyedMode] = {"hash_diff_upsert": HashDiff(), "historical": Historical(), "snapshot_soft_delete": Snapshot()}
#: The figure of the result that counts the rows of an action.
_FIGURES = {"insert": "rows_inserted", "update": "rows_updated", "close": "rows_closed", "delete": "rows_deleted", "late": "rows_late"}


def write_by_key(table_format: TableFormat, df: DataFrame, place: Place, output: Output, run: Run) -> Written:
    """Write the frame in one of the modes of :data:`modes.HASHED`."""
    mode = _MODES[output.canonical_mode]
    keys = merge_keys(df, output, run)
    _refuse_taken_names(df, output, run)
    table = table_format.table(place, run)
    target = table.schema if table is not None else None
    if target is not None:
        _require_columns(target, place, output, run)
        df = keys_as_stored(df, target, keys, run)
    with computed_once(mode.prepared(df, output, run, target), run) as held:
        rows = refuse_repeated_keys(held, keys, run, start=mode.start, named=option(output.options, "effective_from"))
        if table is None or target is None:
            made = table_format.create(mode.first(held, keys), place, output, run)
            known = {} if made.rows is None else {"rows_inserted": made.rows, "rows_unchanged": rows - made.rows}
            return replace(made, details={**made.details, **known})
        check_columns(held, target, output, run)
        # A MERGE whose source reads its own target is more than Iceberg can plan, so the rows come without their plan.
        staged, _ = run.engine.local_checkpoint(mode.changes(held, table, keys, run), eager=False)
        try:
            counts = {r[ACTION]: int(r["count"]) for r in staged.groupBy(ACTION).count().collect()}
            mode.judge(counts, rows, output, run)
            details = {name: counts[action] for action, name in _FIGURES.items() if action in counts}
            details["rows_unchanged"] = rows - sum(counts.get(action, 0) for action in ("insert", "update", "late"))
            add_columns(held, target, place, output, run)
            if not counts.keys() - {"late"}:
                return Written(0, None, table_format.newest(place, run), 0, 0, details=details)
            columns = [name for name in staged.columns if not name.startswith(STAGED)]
            changes = staged.where(f"{ACTION} <> 'late'")
            done = table_format.merge(changes, place, output, run, target, lambda at, view: mode.statement(at, view, keys, columns))
        finally:
            staged.unpersist()
    return replace(done, details={**{k: v for k, v in done.details.items() if k not in ("rows_updated", "rows_deleted", "rows_inserted")}, **details})


def _refuse_taken_names(df: DataFrame, output: Output, run: Run) -> None:
    """The frame may not bring the columns that the mode keeps, save the hash, which is made anew, and the start that it names."""
    start = str(option(output.options, "effective_from")).casefold()
    taken = {*HASHED[output.canonical_mode]} - {ROW_HASH} - ({start} & {"valid_from"})
    if found := [name for name in df.columns if name.casefold() in taken]:
        raise SparquetError.of([Problem("COLUMN_COLLISION", run.at, {"found": name}) for name in found])


def _require_columns(target: StructType, place: Place, output: Output, run: Run) -> None:
    """Every column of the mode that the table lacks, with the statement that adds it."""
    there = {name.casefold() for name in target.names}
    wanted = HASHED[output.canonical_mode]
    missing = [name for name in wanted if name not in there]
    if not missing:
        return
    statement = f"ALTER TABLE {place.sql} ADD COLUMNS ({', '.join(f'{name} {wanted[name]}' for name in missing)})"
    remedy = f"Mode {output.mode} keeps it in the table: write to a new table, or run {statement}"
    if "valid_from" in missing or "is_current" in missing:
        remedy += " and give the rows that are there their valid_from and is_current = true"
    raise SparquetError.of([Problem("MERGE_TARGET_COLUMN", run.at, {"found": name, "remedy": remedy + "."}) for name in missing])
