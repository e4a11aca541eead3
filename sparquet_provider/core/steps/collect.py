"""The ``collect`` step."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..document import Step
from ..errors import Problem
from ..parts import reference
from ..spec import Field, spec
from ..text import NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

#: Keys of XCom that Airflow or the operators use themselves.
RESERVED = frozenset(
    "return_value failed_rules warned_rules watermark sparquet_report_url skipmixin_key trigger_logical_date_iso trigger_run_id".split()
)
#: Above this number of values a list in IN (…) slows planning and pushdown.
MANY = 1000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@spec
class Collect(Step):
    """Collect the distinct values of a column into a runtime variable."""

    type: ClassVar[str] = "collect"
    passes_through: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Later steps use it as {{name}}, for example id IN ({{ids}}). An empty list becomes NULL, so IN matches nothing.",
        "Nulls are never collected: NOT IN with a null among the values would match nothing.",
        "It runs a job; put a checkpoint before it when the steps above are costly.",
        "The variable is part of the result and is pushed to XCom under its name.",
    )

    column: Annotated[str, Field("The name of the column.", example="customer_id", nonempty=True)]
    as_: Annotated[str, Field("The name of the variable.", example="active_customers", runtime=False)]
    max_values: Annotated[int, Field("The step fails when there are more distinct values; 0 lifts the limit.", example=5000, minimum=0)] = 10_000

    def check(self, at: str) -> Iterator[Problem]:
        if not NAME.fullmatch(self.as_):
            yield Problem("WRONG_TYPE", at + "/as", {"found": repr(self.as_), "expected": "a name (letters, digits, _, not starting with a digit)", "hint": ""})
        elif self.as_ in RESERVED or self.as_.startswith("_link_"):
            yield Problem("RESERVED_NAME", at + "/as", {"found": self.as_})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        found = reference(df, self.column, run, "/column")
        kind = found.type.typeName()
        if kind in ("array", "map", "struct", "variant"):
            raise run.fault("WRONG_TYPE", "/column", found=f"a column of type {found.type_name}", expected="a column of plain values", hint=", or a field")
        value = F.col(found.sql)
        # Instants travel as numbers: Python would show them in the time zone of the machine, SQL reads them in the session's.
        values = df.select((F.unix_micros(value) if kind == "timestamp" else value).alias("value")).where("value IS NOT NULL").distinct()
        if self.max_values:
            values = values.limit(self.max_values + 1)
        rows = [row[0] for row in values.collect()]
        if self.max_values and len(rows) > self.max_values:
            raise run.fault("TOO_MANY_VALUES", "/column", found=self.column, expected=self.max_values)
        if len(rows) > MANY:
            run.warn("MANY_VALUES", found=self.as_, count=len(rows))
        rows.sort(key=lambda v: (isinstance(v, float) and math.isnan(v), v))
        run.variables[self.as_] = [_python(v, kind) for v in rows]
        return df


def _python(value: Any, kind: str) -> Any:
    if kind == "timestamp":
        return _EPOCH + dt.timedelta(microseconds=value)
    return bytes(value) if isinstance(value, bytearray) else value
