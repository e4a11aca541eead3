"""One hash for what a row says: equal rows have equal hashes, whatever run, session or column order they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..columns import Reference, quoted
from ..document import Output
from ..parts import references
from .modes import HASHED
from .options import names_in, option

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

    from ..context import Run

ROW_HASH = "row_hash"
#: Columns that say when and by whom a row was written, not what it says.
CONTROL = frozenset({"ingestion_ts", "ingestion_ts_utc", "__run_id"})


def with_row_hash(df: DataFrame, output: Output, run: Run, target: StructType | None) -> DataFrame:
    """The frame with ``row_hash``, over the columns that the output compares.

    Those are ``hash_columns``, or all but ``hash_exclude``, the column of ``effective_from``, :data:`CONTROL` and what the mode keeps. A column
    of the table's type in ``target`` counts as of that type: a whole number that will be stored as a double is one here.

    The hash is SHA-256 (in hexadecimal) of a JSON object, as ``to_json`` writes it: names in lower case and in order, and
    no key for a null. So null is not the empty text, no two rows can run into the same text, and a column that is added
    and still null changes no hash. Where ``to_json`` would cut a value or follow the session, another form stands for
    it: microseconds and days since 1970 for timestamps and dates, sorted entries for maps.
    """
    from pyspark.sql import functions as F

    kinds = {f.name.casefold(): f.dataType for f in target.fields} if target is not None else {}
    compared = _compared(df, output, run)
    if not compared:
        raise run.fault("INVALID_COMBINATION", "/options", reason="no column is left to compare", remedy="Name at least one in hash_columns.")
    values = [_as_stored(c, kinds.get(c.name.casefold())).alias(c.name.casefold()) for c in sorted(compared, key=lambda c: c.name.casefold())]
    return df.withColumn(ROW_HASH, F.sha2(F.to_json(F.struct(*values), {"ignoreNullFields": "true"}), 256))


def _compared(df: DataFrame, output: Output, run: Run) -> list[Reference]:
    if option(output.options, "hash_columns") is not None:
        return references(df, names_in(output.options, "hash_columns"), run, "/options/hash_columns", top_level=True)
    left_out = {r.name.casefold() for r in references(df, names_in(output.options, "hash_exclude"), run, "/options/hash_exclude", top_level=True)}
    left_out |= CONTROL | set(HASHED[output.canonical_mode]) | {str(option(output.options, "effective_from") or "ingestion_ts").casefold()}
    return [Reference(f.name, quoted(f.name), f.dataType) for f in df.schema.fields if f.name.casefold() not in left_out]


def _as_stored(column: Reference, kind: DataType | None) -> Column:
    """The value that is hashed, as one of the table's type where Spark stores it by a cast."""
    from pyspark.sql import functions as F

    value = F.col(column.sql)
    if kind is None or kind == column.type:
        return _stable(value, column.type)
    stored = Reference("", "", kind)
    casts = stored.family == column.family or stored.is_text and column.type.typeName() not in ("struct", "array", "map", "variant")
    return _stable(value.try_cast(kind), kind) if casts else _stable(value, column.type)


def _stable(value: Column, kind: DataType) -> Column:
    """A value that ``to_json`` writes whole, and in the same way in every session."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        return F.when(value.isNotNull(), F.struct(*[_field(value, f) for f in sorted(kind.fields, key=lambda f: f.name.casefold())]))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda item: _stable(item, kind.elementType))
    if isinstance(kind, MapType):
        return F.array_sort(F.transform(F.map_entries(value), lambda e: F.to_json(F.struct(
            _stable(e["key"], kind.keyType).alias("k"), _stable(e["value"], kind.valueType).alias("v")))))
    match kind.typeName():
        case "timestamp":
            return F.unix_micros(value)
        case "date":
            return F.unix_date(value)
        case "timestamp_ntz" | "time":
            return value.cast("string")
        case _:
            return value


def _field(value: Column, field: StructField) -> Column:
    return _stable(value.getField(field.name), field.dataType).alias(field.name.casefold())
