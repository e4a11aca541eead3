"""``shape.parse_json``: JSON in a text column becomes a struct, an array or a map."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..columns import Columns, Reference
from ..errors import Problem, nearest
from ..losses import NOT_REPORTED, Tally, why_not_counted
from ..spec import Field, spec
from .part import Part, reserved
from .paths import check_alias, check_path, find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from ..context import Run

#: The field that Spark's parser fills for a text that it could not read.
_CORRUPT = "__sparquet_corrupt"
#: The column of what was read, its field when that is no struct, and the one after it, which a text with too many brackets cuts off.
_HELD, _VALUE, _END = "__sparquet_json", "value", "end"


@spec
class ParseJson(Part):
    """Read the JSON of a text column by a declared schema."""

    column: Annotated[str, Field("The text column, or a path to a text.", example="raw_response", nonempty=True)]
    schema: Annotated[str | None, Field("The schema as Spark DDL.", example="STRUCT<events:ARRAY<STRUCT<id:STRING>>>", runtime=False)] = None
    schema_ref: Annotated[str | None, Field("The name of a schema in the document's schemas.", example="response_v1", runtime=False)] = None
    alias: Annotated[str | None, Field("The column that holds the result; the text column itself when absent.", example="payload", runtime=False)] = None
    drop_source: Annotated[bool, Field("Remove the text column afterwards.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from check_path(self.column, at + "/column")
        if self.schema is not None and self.schema_ref is not None:
            yield Problem("KEYS_EXCLUDE", at, {"found": "schema and schema_ref", "reason": "each gives the whole schema"})
        elif self.schema is None and self.schema_ref is None:
            yield Problem("MISSING_KEY", at, {"expected": "schema", "hint": ", or schema_ref: the types of JSON are declared, never guessed"})
        if self.schema is not None:
            yield from check_ddl(self.schema, at + "/schema")
        nested = "." in self.column
        if self.alias is None and nested:
            yield Problem("MISSING_KEY", at, {"expected": "alias", "hint": f", a name for what {self.column} becomes"})
        if self.alias is not None:
            yield from check_alias(self.alias, at + "/alias")
            yield from reserved([(at + "/alias", self.alias)])
        if self.drop_source and nested:
            reason = f"drop_source removes top-level columns only, and {self.column} is a path"
            yield Problem("INVALID_COMBINATION", at + "/drop_source", {"reason": reason, "remedy": "Leave it out; columns decides what is kept."})

    def apply(self, df: DataFrame, run: Run, schemas: Mapping[str, str], number: int) -> tuple[DataFrame, Tally | None]:
        """The frame with the parsed column, and the tally of texts that are no such JSON; ``number`` tells it from those of other entries."""
        columns = Columns.of(df)
        source = find(columns, self.column, run, "/column")
        if not source.is_text:
            raise run.fault("COLUMN_TYPE", "/column", found=self.column, type=source.type_name, expected="a text", remedy="Name the column of texts.")
        name = self.alias or source.name
        if name.casefold() != source.name.casefold() and name in columns:
            raise run.fault("COLUMN_COLLISION", "/alias", found=name)
        kind = self._type(run, schemas)
        df, tally = _parsed(df, source, name, kind, run, number)
        return (df.drop(source.name) if self.drop_source and name.casefold() != source.name.casefold() else df), tally

    def _type(self, run: Run, schemas: Mapping[str, str]) -> DataType:
        if self.schema_ref is None:
            return ddl_type(str(self.schema), run, "/schema")
        if self.schema_ref not in schemas:
            near = nearest(self.schema_ref, schemas)
            raise run.fault("WRONG_CHOICE", "/schema_ref", found=self.schema_ref, nearest=near, expected=sorted(schemas))
        return ddl_type(schemas[self.schema_ref], run, "/schema_ref")


def _parsed(df: DataFrame, source: Reference, name: str, kind: Any, run: Run, number: int) -> tuple[DataFrame, Tally | None]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

    text = F.expr(source.sql)
    if kind.typeName() == "variant":
        out = df.withColumn(_HELD, F.from_json(text, kind))
        bad, result = f"{_HELD} IS NULL", F.expr(_HELD)
    else:
        # Only a struct has a field that tells what could not be read: arrays and maps are read as the one item of its only field,
        # a list, so that a second value after the first is seen.
        struct = kind.typeName() == "struct"
        fields = kind.fields if struct else [StructField(_VALUE, ArrayType(kind)), StructField(_END, BooleanType())]
        watched = StructType([*fields, StructField(_CORRUPT, StringType())])
        whole = text if struct else F.concat(F.lit(f'{{"{_VALUE}":['), _in_brackets(text, kind), F.lit(f'],"{_END}":true}}'))
        out = df.withColumn(_HELD, F.from_json(whole, watched, {"columnNameOfCorruptRecord": _CORRUPT}))
        bad = f"({_HELD} IS NULL OR {_HELD}.{_CORRUPT} IS NOT NULL)"
        if struct:
            result = F.expr(_HELD).dropFields(_CORRUPT)
        else:
            items = f"{_HELD}.{_VALUE}"
            bad = f"({bad} OR coalesce(size({items}), 0) <> 1 OR {_HELD}.{_END} IS NULL)"
            result = F.expr(f"CASE WHEN size({items}) = 1 AND {_HELD}.{_END} THEN {items}[0] END")
    if reason := why_not_counted(df, run):
        run.warn("VALUES_LOST_UNKNOWN", "/column", found=source.name, reason=reason)
        return out.withColumn(name, result).drop(_HELD), None

    def tell(numbers: list[int] | None) -> None:
        if numbers is None:
            run.warn("VALUES_LOST_UNKNOWN", "/column", found=source.name, reason=NOT_REPORTED)
        elif numbers[0]:
            run.warn("JSON_NOT_PARSED", "/column", count=numbers[0], found=source.name, expected=kind.simpleString())

    flag = f"__sparquet_bad{number}"
    return out.withColumns({flag: F.expr(f"{bad} AND trim({source.sql}) <> 'null'"), name: result}).drop(_HELD), Tally((flag,), tell)


def _in_brackets(text: Column, kind: Any) -> Column:
    """The text; a single object where a list of them is expected is that list, as for Spark."""
    from pyspark.sql import functions as F

    if kind.typeName() != "array" or kind.elementType.typeName() != "struct":
        return text
    return F.when(F.ltrim(text).startswith("{"), F.concat(F.lit("["), text, F.lit("]"))).otherwise(text)


#: Names and comments, whose brackets do not count.
_QUOTED = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def check_ddl(ddl: str, at: str) -> Iterator[Problem]:
    """The defects of a schema that show without Spark: nothing at all, brackets that do not fit."""
    open_brackets: list[str] = []
    for c in _QUOTED.sub("", ddl):
        if c in "<(":
            open_brackets.append(c)
        elif c in ">)" and (not open_brackets or open_brackets.pop() != {">": "<", ")": "("}[c]):
            open_brackets = ["?"]
            break
    if not ddl.strip() or open_brackets:
        yield Problem("SCHEMA_INVALID", at, {"found": ddl, "reason": "brackets do not fit" if ddl.strip() else "it is empty"})


def ddl_type(ddl: str, run: Run, at: str) -> DataType:
    """The type of a JSON schema. Raises SCHEMA_INVALID for a text that is none, and for types that no JSON text has as a whole."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import DataType

    try:
        kind: Any = DataType.fromDDL(ddl)
    except (PySparkException, ValueError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "")
        raise run.fault("SCHEMA_INVALID", at, cause=error, found=ddl, reason=reason[:200]) from error
    if kind.typeName() not in ("struct", "array", "map", "variant"):
        raise run.fault("SCHEMA_INVALID", at, found=ddl, reason="JSON is read as STRUCT<…>, ARRAY<…>, MAP<…> or VARIANT")
    if reason := _why_no_json(kind):
        raise run.fault("SCHEMA_INVALID", at, found=ddl, reason=reason)
    found: DataType = kind
    return found


def _why_no_json(kind: Any) -> str:
    """What no JSON text has, anywhere in a type; empty when there is no such thing."""
    name = kind.typeName()
    if name in ("char", "varchar"):
        return "texts of JSON are STRING"
    if name == "struct":
        return next(filter(None, (_why_no_json(f.dataType) for f in kind.fields)), "") if kind.fields else "a STRUCT needs a field"
    if name == "map":
        return _why_no_json(kind.valueType) if kind.keyType.typeName() == "string" else "the keys of JSON objects are texts: MAP<STRING, …>"
    return _why_no_json(kind.elementType) if name == "array" else ""
