"""The ``checkpoint`` step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..document import Step
from ..errors import Problem, nearest
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

_METHODS = ("localCheckpoint", "checkpoint")


@spec
class Checkpoint(Step):
    """Compute the frame now, keep it, and forget how it was made."""

    type: ClassVar[str] = "checkpoint"
    passes_through: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "Use it after heavy joins, before a collect, and before several outputs: what comes later does not compute the earlier steps again.",
        "localCheckpoint keeps the rows on the executors and is lost with them; checkpoint writes them to spark.checkpoint.dir.",
        "Filters after it no longer reach the source.",
        "A method that is not known is skipped, with a warning at the end of the run.",
    )

    method: Annotated[str, Field("localCheckpoint or checkpoint.", example="checkpoint")] = "localCheckpoint"
    eager: Annotated[bool, Field("Compute now rather than with the first action.", example=False)] = True

    def check(self, at: str) -> Iterator[Problem]:
        if self._method() is None and "{" not in self.method:
            yield Problem("METHOD_UNKNOWN", at + "/method", self._unknown(), "warning")

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        method = self._method()
        if method is None:
            run.warn("METHOD_UNKNOWN", "/method", **self._unknown())
            return df
        if method == "checkpoint":
            out = run.engine.checkpoint(df, eager=self.eager)
            if out is None:
                raise run.fault("NEEDS_CHECKPOINT_DIR", "/method")
            return out
        out, cut = run.engine.local_checkpoint(df, eager=self.eager)
        if not cut:
            run.warn("ENGINE_WITHOUT", found="local checkpoint", expected="the rows are persisted instead, the plan is not cut")
        return out

    def _method(self) -> str | None:
        return {m.casefold(): m for m in _METHODS}.get(self.method.casefold())

    def _unknown(self) -> dict[str, Any]:
        return {"found": self.method, "nearest": nearest(self.method, _METHODS)}
