"""The ``debug`` step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from .. import pushdown
from ..context import Stopped, log
from ..document import Step
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

ACTIONS = ("count", "print_schema", "show", "explain", "pushdown", "columns", "dtypes")


@spec
class Debug(Step):
    """Write facts about the frame to the log, and leave it as it is."""

    type: ClassVar[str] = "debug"
    passes_through: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Everything goes to the task log, nothing to XCom. Only show writes rows there.",
        "count and show run a job each, over all steps so far; the others only look at the plan.",
        "The nested transformations apply to a copy that is thrown away, with what they collect.",
        "pushdown says for each scan what reached the source, names a scan that got nothing, and counts the filters that ran after the read.",
    )

    label: Annotated[str, Field("Names the place in the log.", example="after enrichment")] = ""
    actions: Annotated[tuple[str, ...], Field("What to write.", example=["count", "print_schema"], choices=ACTIONS, nonempty=True)] = ("print_schema",)
    transformations: Annotated[
        tuple[Step, ...], Field("Steps applied to the copy that is looked at.", example=[{"type": "filter", "condition": "id = 'X1'"}])
    ] = ()
    show_rows: Annotated[int, Field("How many rows show writes.", example=20, minimum=1)] = 20
    truncate: Annotated[bool, Field("Cut long values in show.", example=False)] = True
    vertical: Annotated[bool, Field("One line for each value in show.", example=True)] = False
    extended: Annotated[bool, Field("Logical plans too in explain.", example=True)] = False

    def inner_chains(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        yield "transformations", self.transformations

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        name = f"debug {self.label}".rstrip() + f" ({run.at})"
        try:
            copy = self._copy(df, run)
        except Stopped as stop:
            log.info("%s: the nested steps stopped: %s", name, stop)
            return df
        for action in self.actions:
            for line in self._lines(action, copy, run):
                log.info("%s: %s", name, line)
        return df

    def _copy(self, df: DataFrame, run: Run) -> DataFrame:
        df = run.engine.unobserved(df)
        if not self.transformations:
            return df
        aside = replace(run, variables=dict(run.variables), uncounted="debug works on a copy")
        return aside.chain(df, self.transformations, "/transformations")

    def _lines(self, action: str, df: DataFrame, run: Run) -> Iterator[str]:
        if action == "count":
            yield f"count: {df.count():,}"
        elif action == "print_schema":
            yield f"schema:\n{df.schema.treeString()}"
        elif action == "show":
            yield f"first {self.show_rows} rows:\n{run.engine.shown(df, self.show_rows, truncate=self.truncate, vertical=self.vertical)}"
        elif action == "explain":
            yield f"plan:\n{run.engine.explained(df, 'extended' if self.extended else 'simple')}"
        elif action == "pushdown":
            yield from pushdown.read(run.engine.explained(df, "formatted")).lines()
        elif action == "columns":
            yield f"columns: {', '.join(df.columns)}"
        else:
            yield f"types: {', '.join(f'{n} {t}' for n, t in df.dtypes)}"
