"""The ``view`` format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from ..columns import quoted
from ..document import Output, Source
from ..errors import Problem, nearest
from .base import Format, Written
from .faults import reading
from .options import check_path, does_nothing, option
from .places import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run
    from ..engine import Engine

_SCOPES = ("session", "global")


class View(Format):
    """A temporary view: a name for rows that another step or program made in the same session.

    ``scope`` is ``session`` (the default) or ``global`` (``global_temp.<name>``, visible to all sessions of the
    application); for an output it stands in ``options``. Writing registers the frame under the name and computes nothing.
    """

    name = "view"
    readable = True
    writable = True
    modes: ClassVar[tuple[str, ...] | None] = ("overwrite",)
    notes: ClassVar[tuple[str, ...]] = (
        "A view that is written has no row count: its rows are computed whenever it is read.",
        "It ends with the session; under spark-submit that is the end of the run.",
    )

    def check_source(self, source: Source, at: str) -> Iterator[Problem]:
        yield from check_path(source, at, "the name of a view")
        yield from _check_scope(source.options, at)
        if isinstance(source.path, tuple):
            yield Problem("WRONG_TYPE", at + "/path", {"found": "a list", "expected": "the name of one view", "hint": ""})
        if source.schema:
            yield does_nothing(at + "/schema", "schema", "for a view", "cast the columns in a step")

    def check_output(self, output: Output, at: str) -> Iterator[Problem]:
        yield from check_path(output, at, "the name of a view")
        yield from _check_scope(output.options, at)
        if output.path and ("." in output.path or "/" in output.path):
            reason = f"{output.path!r} is not a name that a temporary view can have"
            yield Problem("INVALID_COMBINATION", at + "/path", {"reason": reason, "remedy": "Use a name without dots and slashes."})
        if output.partition_by:
            yield does_nothing(at + "/partition_by", "partition_by", "for a view", "write to files or a table")

    def read(self, source: Source, run: Run) -> DataFrame:
        name = Place.of(source.paths[0]).name
        if source.scope == "global" or option(source.options, "scope") == "global":
            name = f"global_temp.{name}"
        with reading(self, source, run):
            return run.engine.check_analysis(run.spark.table(name))

    def write(self, df: DataFrame, output: Output, run: Run) -> Written:
        register = df.createOrReplaceGlobalTempView if option(output.options, "scope") == "global" else df.createOrReplaceTempView
        register(quoted(output.path or ""))
        return Written(reason="a view is computed when it is read")

    def rows_read(self, source: Source, engine: Engine, before: int) -> tuple[int | None, str | None]:
        return None, "a view has no scan of its own"


def _check_scope(options: dict[str, object], at: str) -> Iterator[Problem]:
    scope = option(options, "scope")
    if scope is not None and scope not in _SCOPES:
        yield Problem("WRONG_CHOICE", at + "/options/scope", {"found": scope, "expected": list(_SCOPES), "nearest": nearest(str(scope), _SCOPES)})
