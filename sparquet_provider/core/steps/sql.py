"""The ``sql`` step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import Problem
from ..parts import part
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|(?P<gap>\s+|--[^\n]*|/\*.*?\*/)|.", re.DOTALL)


@spec
class Sql(Step):
    """Replace the frame by the result of a query over it."""

    type: ClassVar[str] = "sql"
    notes: ClassVar[tuple[str, ...]] = (
        "The view lives in this one query: two steps may use one name, and a table or view of yours with that name is left alone.",
        "The text must be a query (SELECT, WITH, FROM, VALUES); statements that write are refused.",
        "Other tables and temporary views of the session can be read beside it.",
    )

    query: Annotated[
        str, Field("A Spark SQL query.", example="SELECT customer, SUM(revenue) AS total FROM _df GROUP BY customer", sql=True, nonempty=True)
    ]
    view_name: Annotated[str, Field("The name that stands for the current frame in the query.", example="_df", nonempty=True)] = "_df"

    def check(self, at: str) -> Iterator[Problem]:
        if not re.fullmatch(r"\w+", self.view_name) and "{" not in self.view_name:
            yield Problem("WRONG_TYPE", at + "/view_name", {"found": repr(self.view_name), "expected": "a simple name (letters, digits, _)", "hint": ""})

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        with part(run, "/query", df.columns):
            return run.engine.check_analysis(run.engine.query(df, self.view_name, without_semicolon(self.query)))


def without_semicolon(query: str) -> str:
    """The query without semicolons at its end (and what comments follow them)."""
    end = len(query)
    for token in reversed([t for t in _TOKEN.finditer(query) if not t["gap"]]):
        if token.group() != ";":
            break
        end = token.start()
    return query[:end]
