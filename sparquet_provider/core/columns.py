"""Column names as people write them: the exact name first, then a path into structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import SparquetError, nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


#: How names of columns begin that are there for a while only.
HIDDEN = "__sparquet_"


def quoted(name: str) -> str:
    """A name as SQL reads it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Reference:
    """A resolved column: how SQL addresses it, and its type."""

    name: str
    sql: str
    type: DataType
    nullable: bool = True

    @property
    def type_name(self) -> str:
        """The type as DDL, such as ``decimal(18,2)``."""
        return self.type.simpleString()

    @property
    def is_text(self) -> bool:
        """True for string, char and varchar."""
        return self.type.typeName() in ("string", "char", "varchar")

    @property
    def is_floating(self) -> bool:
        """True for types that can hold NaN."""
        return self.type.typeName() in ("float", "double")

    @property
    def is_numeric(self) -> bool:
        """True for whole, decimal and floating numbers."""
        return self.is_floating or self.type.typeName() in ("byte", "short", "integer", "long", "decimal", "tinyint", "smallint", "int", "bigint")

    @property
    def family(self) -> str:
        """Types of one family compare: ``number``, ``text``, ``time``, or the type itself."""
        if self.is_numeric:
            return "number"
        return "text" if self.is_text else "time" if self.type.typeName() in ("date", "timestamp", "timestamp_ntz") else self.type_name


def addressable(df: DataFrame) -> tuple[DataFrame, Columns]:
    """A frame in which every column can be addressed, and its columns under their own names.

    SQL cannot tell ``ID`` from ``id``: where both are there, the frame has other names for them.
    """
    if df.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true":
        return df, Columns.of(df)
    names = [n.casefold() for n in df.columns]
    twins = {i: f"__sparquet_column_{i}" for i, n in enumerate(names) if names.count(n) > 1}
    if not twins:
        return df, Columns.of(df)
    frame = df.toDF(*[twins.get(i, n) for i, n in enumerate(df.columns)])
    return frame, Columns(df.schema, {i: quoted(name) for i, name in twins.items()})


class Columns:
    """The columns of a frame, to look names up in."""

    def __init__(self, schema: StructType, addresses: Mapping[int, str] | None = None) -> None:
        self.schema = schema
        self.names: list[str] = list(schema.names)
        #: What SQL calls the columns at those positions, where it is not their own name.
        self._addresses = addresses or {}

    @classmethod
    def of(cls, df: DataFrame) -> Columns:
        """The columns of that frame."""
        return cls(df.schema)

    @property
    def shown(self) -> list[str]:
        """The names for messages: without the columns that only we know."""
        return [name for name in self.names if not name.startswith(HIDDEN)]

    def find(self, name: str) -> Reference:
        """The column of that name.

        The exact name wins, then the name in another case, then a dotted path into structs.

        Raises:
            SparquetError: COLUMN_NOT_FOUND with the nearest name, COLUMN_AMBIGUOUS when two have the name, or differ in case
                only and none has it exactly.
        """
        index = self._index(name)
        if index is not None:
            field = self.schema.fields[index]
            return Reference(field.name, self._address(index), field.dataType, field.nullable)
        if "." in name and (nested := self._nested(name)) is not None:
            return nested
        raise SparquetError("COLUMN_NOT_FOUND", found=name, nearest=nearest(name, self.shown), expected=self.shown)

    def __contains__(self, name: str) -> bool:
        try:
            self.find(name)
        except SparquetError:
            return False
        return True

    def _address(self, index: int) -> str:
        return self._addresses.get(index) or quoted(self.names[index])

    def _index(self, name: str) -> int | None:
        if self.names.count(name) == 1:
            return self.names.index(name)
        same = [i for i, n in enumerate(self.names) if n.casefold() == name.casefold()]
        if len(same) > 1:
            reason = "names differ only in case: " + ", ".join(self.names[i] for i in same)
            raise SparquetError("COLUMN_AMBIGUOUS", found=name, reason=reason)
        return same[0] if same else None

    def _nested(self, path: str) -> Reference | None:
        parts = path.split(".")
        # The longest prefix that is a column wins: `a.b` beside struct `a{b}`.
        for cut in range(len(parts) - 1, 0, -1):
            index = self._index(".".join(parts[:cut]))
            if index is None:
                continue
            field: Any = self.schema.fields[index]
            sql, kind, nullable = self._address(index), field.dataType, field.nullable
            for part in parts[cut:]:
                inner = {f.name.casefold(): f for f in kind.fields} if kind.typeName() == "struct" else {}
                if part.casefold() not in inner:
                    break
                field = inner[part.casefold()]
                sql, kind, nullable = f"{sql}.{quoted(field.name)}", field.dataType, nullable or field.nullable
            else:
                return Reference(path, sql, kind, nullable)
        return None
