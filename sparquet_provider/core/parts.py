"""The parts of a step: names that it looks up, expressions that Spark may refuse; a fault says which part it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .columns import Columns, Reference
from .errors import Problem, SparquetError, pointer
from .faults import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .context import Run

    Change = tuple[str, Callable[[DataFrame], DataFrame]]


@contextmanager
def part(run: Run, at: str, columns: Iterable[str]) -> Iterator[None]:
    """Spark's faults inside belong to that part of the step (``/columns/1``)."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise with_origins(translate(error, run.at + at, columns), run) from error


def in_turn(df: DataFrame, run: Run, changes: Iterable[Change]) -> DataFrame:
    """The frame after one change and then the next; a fault names the change that caused it."""
    from pyspark.errors import PySparkException

    changes = list(changes)
    out = df
    try:
        for _, change in changes:
            out = change(out)
        return run.engine.check_analysis(out)
    except PySparkException:
        # Connect analyses late and all at once: only a second look, change by change, shows which one it was.
        out = df
        for at, change in changes:
            with part(run, at, out.columns):
                out = run.engine.check_analysis(change(out))
        return out


def at_once(df: DataFrame, run: Run, whole: Callable[[], DataFrame], probes: Iterable[Change]) -> DataFrame:
    """The frame that ``whole`` makes; when Spark refuses it, every probe that fails too is reported at its place."""
    from pyspark.errors import PySparkException

    try:
        return run.engine.check_analysis(whole())
    except PySparkException:
        problems: list[Problem] = []
        for at, probe in probes:
            try:
                with part(run, at, df.columns):
                    run.engine.check_analysis(probe(df))
            except SparquetError as error:
                problems += error.problems
        if problems:
            raise SparquetError.of(problems) from None
        raise


def reference(df: DataFrame, name: str, run: Run, at: str) -> Reference:
    """The column of that name; a fault stands at ``at``."""
    return located(df, [("", name)], run, at)[0][1]


def references(df: DataFrame, names: Iterable[str], run: Run, at: str, *, top_level: bool = False) -> list[Reference]:
    """The columns of those names; every name that is missing is reported at its place below ``at``."""
    return [found for _, found in located(df, ((pointer(i), name) for i, name in enumerate(names)), run, at, top_level=top_level)]


def located(df: DataFrame, names: Iterable[tuple[str, str]], run: Run, at: str, *, top_level: bool = False) -> list[tuple[str, Reference]]:
    """As :func:`references`, for names that have places of their own."""
    columns = Columns.of(df)
    found: list[tuple[str, Reference]] = []
    problems: list[Problem] = []
    for place, name in names:
        try:
            reference = columns.find(name)
            if top_level and reference.name not in columns.names:
                raise SparquetError("COLUMN_NOT_FOUND", found=name, nearest=name.split(".")[0], expected=columns.names)
            found.append((at + place, reference))
        except SparquetError as error:
            problems += with_origins(error, run).located(run.at + at + place).problems
    if problems:
        raise SparquetError.of(problems)
    return found


def with_origins(error: SparquetError, run: Run) -> SparquetError:
    """The same error; a name that a join made ambiguous says where both columns come from."""

    def explained(problem: Problem) -> Problem:
        origin = run.origins.get(str(problem.facts.get("found", "")).split(".")[-1].casefold())
        if problem.code != "COLUMN_AMBIGUOUS" or origin is None:
            return problem
        return replace(problem, facts={**problem.facts, "reason": origin})

    if not any(p.code == "COLUMN_AMBIGUOUS" for p in error.problems):
        return error
    out = SparquetError.of(map(explained, error.problems))
    out.__cause__ = error.__cause__
    return out
