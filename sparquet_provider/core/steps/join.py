"""The ``join`` step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Source, Step
from ..errors import Problem, SparquetError, nearest, pointer
from ..parts import part
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

_TYPES = {
    "inner": "inner", "cross": "cross",
    "left": "left", "leftouter": "left", "right": "right", "rightouter": "right",
    "full": "full", "fullouter": "full", "outer": "full",
    "semi": "left_semi", "leftsemi": "left_semi", "anti": "left_anti", "leftanti": "left_anti",
}
_SPELLINGS = (*_TYPES, "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")
#: Sides that Spark can send to every executor, by join type; it ignores a hint for another side.
_CAN_BROADCAST = {"inner": "left right", "cross": "left right", "left": "right", "right": "left", "full": "", "left_semi": "right", "left_anti": "right"}


@spec
class Join(Step):
    """Join a second source."""

    type: ClassVar[str] = "join"
    notes: ClassVar[tuple[str, ...]] = (
        "In an expression the frame is l and the second source is r; inside with_transformations these names do not exist yet.",
        "A text for on is a column when both sides have it, otherwise an SQL expression. A column, or a list, keeps one column of each name; "
        "an expression keeps both, so select or drop afterwards (select l.id, or drop before the join).",
        "Null keys never match; write l.id <=> r.id to match them.",
        "broadcast sends one side to every executor and spares the shuffle of the other; a side that is not small exhausts their memory.",
        "leftsemi keeps rows that have a match, leftanti those that have none: neither adds columns or repeats rows.",
    )

    with_: Annotated[
        Source, Field("The second source, in any readable format.", example={"format": "delta", "path": "sales.customers"}, aliases=("input",))
    ]
    on: Annotated[
        str | tuple[str, ...] | None,
        Field("A column, a list of columns, or an SQL expression over l and r; absent for a cross join.", example="l.id = r.id AND l.dt = r.dt", sql=True),
    ] = None
    how: Annotated[
        str, Field("The kind of join, as Spark spells it, with or without an underscore.", example="left", choices=_SPELLINGS, runtime=False)
    ] = "inner"
    broadcast: Annotated[
        bool | str,
        Field(
            "Send a side to every executor: true or right for the second source, left for the frame.",
            example="right",
            choices=("right", "left", "true", "false"),
        ),
    ] = False
    with_transformations: Annotated[
        tuple[Step, ...], Field("Steps applied to the second source before the join.", example=[{"type": "filter", "condition": "active = true"}])
    ] = ()

    @property
    def kind(self) -> str:
        """The kind of join in Spark's plain spelling."""
        return _TYPES[self.how.casefold().replace("_", "")]

    @property
    def side(self) -> str:
        """The side to broadcast, or an empty text."""
        return {True: "right", "true": "right", "right": "right", "left": "left"}.get(self.broadcast, "")

    def check(self, at: str) -> Iterator[Problem]:
        if self.kind == "cross":
            if self.on is not None:
                reason = "a cross join pairs every row with every other, without a condition"
                yield Problem("KEYS_EXCLUDE", at + "/on", {"found": "on and how=cross", "reason": reason})
        elif self.on is None:
            yield Problem("MISSING_KEY", at, {"expected": "on", "hint": ", or set how to cross"})
        elif not self.on or not all(c.strip() for c in ((self.on,) if isinstance(self.on, str) else self.on)):
            yield Problem("EMPTY_VALUE", at + "/on", {"expected": "a column, a list of columns or an SQL expression", "hint": ""})
        if self.side and self.side not in _CAN_BROADCAST[self.kind].split():
            reason = f"Spark cannot broadcast the {self.side} side of a {self.kind} join and ignores the hint"
            yield Problem("NOTHING_CHANGED", at + "/broadcast", {"reason": reason}, "warning")

    def inner_chains(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        yield "with_transformations", self.with_transformations

    def sources(self) -> Iterator[tuple[str, Source]]:
        yield "with", self.with_

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        from pyspark.sql import functions as F

        right = run.read(self.with_, "/with")
        if self.with_transformations:
            aside = replace(run, uncounted="the join may read a part of this side only")
            right = aside.chain(right, self.with_transformations, "/with_transformations")
        using = self._using(df.columns, right.columns, run)
        left, other = (F.broadcast(df) if self.side == "left" else df).alias("l"), (F.broadcast(right) if self.side == "right" else right).alias("r")
        in_reach = [f"{side}.{c}" for side, frame in (("l", df), ("r", right)) for c in frame.columns]
        with part(run, "/on", in_reach):
            out = left.crossJoin(other) if self.kind == "cross" else left.join(other, using or F.expr(str(self.on)), self.kind)
            out = run.engine.check_analysis(out)
        if self.kind not in ("left_semi", "left_anti"):
            self._remember(df.columns, right.columns, using, run)
        return out

    def _using(self, left: list[str], right: list[str], run: Run) -> list[str]:
        """The left side's names of the columns that both sides are joined on; none for an expression."""
        if self.on is None:
            return []
        wanted = [("/on", self.on)] if isinstance(self.on, str) else [("/on" + pointer(i), name) for i, name in enumerate(self.on)]
        problems: list[Problem] = []
        found: list[str] = []
        for at, name in wanted:
            sides = {"l": _named(left, name), "r": _named(right, name)}
            if sides["l"] and sides["r"]:
                found.append(sides["l"])
            elif not isinstance(self.on, str) or sides["l"] or sides["r"] or re.fullmatch(r"\w+", name):
                problems += [_missing(run.at + at, side, name, left if side == "l" else right) for side, there in sides.items() if not there]
        if problems:
            raise SparquetError.of(problems)
        return found

    def _remember(self, left: list[str], right: list[str], using: list[str], run: Run) -> None:
        """Note the names that are now there twice, so that a later fault can say where both come from."""
        keys = {k.casefold() for k in using}
        source = f"{self.with_.format} {', '.join(self.with_.paths)}".rstrip()
        both = {n.casefold() for n in left} & {n.casefold() for n in right}
        for name in both - keys:
            run.origins[name] = f"l.{name} from the frame before the join at {run.at}, and r.{name} from its second source ({source})"


def _named(columns: list[str], name: str) -> str:
    if name in columns:
        return name
    return next((c for c in columns if c.casefold() == name.casefold()), "")


def _missing(at: str, side: str, name: str, columns: list[str]) -> Problem:
    near = nearest(name, columns)
    facts = {"found": f"{side}.{name}", "nearest": f"{side}.{near}" if near else "", "expected": [f"{side}.{c}" for c in columns]}
    return Problem("COLUMN_NOT_FOUND", at, facts)
