"""``watermark_columns``: only rows later than the previous run's mark, and the mark for the next run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ..columns import Reference
from ..engine import observed
from ..errors import Problem, SparquetError, pointer
from ..losses import BITS, why_not_counted
from ..parts import located
from ..text import instant

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
#: The values that a mark can hold, and above which others come: no NaN, nothing infinite, four digits of a year, no broken bytes.
_USABLE = {
    "float": "abs({0}) < double('infinity')",
    "double": "abs({0}) < double('infinity')",
    "date": "{0} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'",
    "timestamp": "{0} BETWEEN timestamp_micros(-62135596800000000) AND timestamp_micros(253402300799999999)",
    "timestamp_ntz": "{0} BETWEEN TIMESTAMP_NTZ'0001-01-01 00:00:00' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "string": "is_valid_utf8({0})",
}


def only_later(names: tuple[str, ...], df: DataFrame, run: Run) -> DataFrame:
    """The rows later than the previous mark; the new mark is put into ``run.mark`` when the run has ended.

    Several columns are compared one after the other, as a text is by its letters. Without a previous mark every row counts; with
    one, a row whose first column is null is never later; values that no mark can hold count as null. The mark is measured in
    the run's own job where that reads every row, otherwise by a job before it, so that no row can come in between unseen.
    """
    from pyspark.sql import Observation

    found = located(df, ((pointer(i), name) for i, name in enumerate(names)), run, "", top_level=True)
    columns = [column for _, column in found]
    _check_types(found, run)
    if run.watermark:
        previous = _previous(columns, run)
        df = df.where(_later(columns, [_literal(c, previous[c.name], i, run) for i, c in enumerate(columns)]))
        run.mark.update(previous)
    measured = _measured(columns)
    if why_not_counted(df, run) or _is_cut(run):
        _keep(columns, df.agg(*measured).collect()[0].asDict(), run)
        return df
    observation = Observation()

    def ask(success: bool) -> None:
        values = observed(observation, run.engine)
        if values:
            _keep(columns, values, run)
        elif success:  # measured now, it could pass over rows that came after the write
            run.warn("WATERMARK_KEPT", reason="no action of this run read the rows")

    run.deferred.append(ask)
    return df.observe(observation, *measured)


def _check_types(found: list[tuple[str, Reference]], run: Run) -> None:
    wrong = [(at, c) for at, c in found if not (c.is_numeric or c.is_text or c.family == "time")]
    if wrong:
        remedy = "Use a date, a timestamp, a number or a text that grows."
        facts = ((at, {"found": c.name, "type": c.type_name, "expected": "a type with an order", "remedy": remedy}) for at, c in wrong)
        raise SparquetError.of(Problem("COLUMN_TYPE", run.at + at, f) for at, f in facts)


def _is_cut(run: Run) -> bool:
    """True where an observation is lost: Connect does not report what a checkpoint observed."""
    return run.engine.connect and any(step.type == "checkpoint" for step in run.following)


def _previous(columns: list[Reference], run: Run) -> dict[str, Any]:
    """The previous mark, by column."""
    given = {str(name).casefold(): value for name, value in run.watermark.items()}
    names = [c.name for c in columns]
    if set(given) != {n.casefold() for n in names}:
        raise run.fault("WATERMARK_INVALID", found=", ".join(map(str, run.watermark)), reason=f"the document's columns are {', '.join(names)}")
    return {name: given[name.casefold()] for name in names}


def _literal(column: Reference, value: Any, position: int, run: Run) -> Column | None:
    """The mark of one column; None for a null, which only the first column cannot have."""
    from pyspark.sql import functions as F

    if value is None and position:
        return None
    text = value.isoformat() if isinstance(value, dt.date) else str(value)
    try:
        if column.family == "time":
            instant(text)
        elif bits := BITS.get(column.type.typeName()):
            if not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
                raise ValueError
        elif column.is_numeric and not Decimal(text).is_finite():
            raise ValueError
        if value is None:
            raise ValueError
    except (ValueError, InvalidOperation):
        raise run.fault("WATERMARK_INVALID", found=f"{column.name}={value!r}", reason=f"the column is {column.type_name}") from None
    return F.lit(text).cast(column.type)


def _usable(column: Reference) -> Column:
    from pyspark.sql import functions as F

    return F.expr(_USABLE.get(column.type.typeName(), "true").format(column.sql))


def _value(column: Reference) -> Column:
    """The column's value, if a mark can hold it."""
    from pyspark.sql import functions as F

    return F.when(_usable(column), F.col(column.sql))


def _later(columns: list[Reference], marks: list[Column | None]) -> Column:
    """True for a row after the mark; a null stands before every value."""
    from pyspark.sql import functions as F

    value, mark = F.col(columns[0].sql), marks[0]
    # As conditions of their own: sources take comparisons of a column, not those of a CASE.
    later = _usable(columns[0]) & (value.isNotNull() if mark is None else value > mark)
    same = _value(columns[0]).isNull() if mark is None else value == mark
    return later if len(columns) == 1 else later | (same & _later(columns[1:], marks[1:]))


def _measured(columns: list[Reference]) -> list[Column]:
    """The greatest values, as numbers and texts that no time zone changes."""
    from pyspark.sql import functions as F

    values = [_value(c) for c in columns]
    if len(columns) == 1:
        greatest = [F.max(values[0])]
    else:
        together = F.max(F.when(values[0].isNotNull(), F.struct(*[v.alias(f"c{i}") for i, v in enumerate(values)])))
        greatest = [together.getField(f"c{i}") for i in range(len(values))]
    shown = [F.unix_micros(g) if c.type.typeName() == "timestamp" else g.cast("string") for c, g in zip(columns, greatest, strict=True)]
    return [value.alias(f"mark{i}") for i, value in enumerate(shown)]


def _keep(columns: list[Reference], values: Mapping[str, Any], run: Run) -> None:
    if values.get("mark0") is None:
        return  # no row has a mark: the previous one stays
    for i, column in enumerate(columns):
        run.mark[column.name] = _plain(column, values[f"mark{i}"])


def _plain(column: Reference, value: Any) -> Any:
    if value is None:
        return None
    kind = column.type.typeName()
    if kind == "timestamp":
        return (_EPOCH + dt.timedelta(microseconds=int(value))).isoformat()
    if kind == "timestamp_ntz":
        return str(value).replace(" ", "T")
    return int(value) if kind in BITS else float(value) if column.is_floating else str(value)
