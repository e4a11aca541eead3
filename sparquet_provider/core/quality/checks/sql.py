"""The ``sql`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Output, Rule
from ...errors import Problem, SparquetError
from ...spec import Field, spec
from ..metrics import Metric, Query, Values, Verdict
from ..wording import rows

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class Sql(Rule):
    """Judge by a query of your own over the view ``_validation_df``."""

    type: ClassVar[str] = "sql"
    dimension: ClassVar[str] = "consistency"
    measured_in: ClassVar[str] = "query"
    notes: ClassVar[tuple[str, ...]] = (
        "A query passes when its first value is true; null, or no row, fails.",
        "failed_rows fails when it returns any row; output keeps these rows, also when the run fails.",
    )

    query: Annotated[
        str | None, Field("A query that returns one boolean; true passes.", example="SELECT count(*) = 0 FROM _validation_df WHERE amount < 0", sql=True)
    ] = None
    failed_rows: Annotated[str | None, Field("A query that returns the bad rows.", example="SELECT * FROM _validation_df WHERE amount < 0", sql=True)] = None
    output: Annotated[Output | None, Field("Where the bad rows of failed_rows are written.", example={"format": "delta", "path": "/dq/negative"})] = None

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if (self.query is None) == (self.failed_rows is None):
            reason = "one of query and failed_rows is needed" if self.query is None else "query and failed_rows exclude each other"
            yield Problem("INVALID_COMBINATION", at, {"reason": reason, "remedy": "Give exactly one of them."})
        if self.output is not None and self.failed_rows is None:
            yield Problem(
                "INVALID_COMBINATION",
                at + "/output",
                {"reason": "output goes with failed_rows", "remedy": "Write the rule with failed_rows, or remove output."},
            )

    def expression(self) -> str:
        return f"sql({' '.join((self.query or self.failed_rows or '').split())})"

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        if self.query is not None:
            return (Query(self.query, False, self.filter),)
        return (Query(self.failed_rows or "", True, self.filter),)

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        found = values[metrics[0]]
        if self.failed_rows is not None:
            return Verdict(found == 0, f"{rows(int(found))} returned by failed_rows", int(found), int(found))
        value = found[0] if found else None
        if value is not None and not isinstance(value, bool):
            raise SparquetError("WRONG_TYPE", "/query", found=f"a {type(value).__name__}", expected="a query whose first value is true or false", hint="")
        words = {True: "the query returned true", False: "the query returned false", None: "the query returned null or no row"}[value]
        return Verdict(value is True, words, 0 if value is True else 1, value)
