"""The ``volume_anomaly`` rule."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...document import Rule, Source
from ...errors import Problem, SparquetError
from ...spec import Field, spec
from ..metrics import History, Metric, Values, Verdict, rows_of

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class VolumeAnomaly(Rule):
    """Fail when the number of rows is far from what it was in the last runs."""

    type: ClassVar[str] = "volume_anomaly"
    dimension: ClassVar[str] = "volume"
    measured_in: ClassVar[str] = "source"
    judging: ClassVar[tuple[str, ...]] = ("last", "sigmas", "max_deviation", "min_history", "history", "on_empty")
    notes: ClassVar[tuple[str, ...]] = (
        "Earlier figures come from the report, which must be written with mode append; runs in which the rule itself failed count, too.",
        "A row count that never changed before has no deviation: any other count fails then; give max_deviation to allow some.",
    )

    last: Annotated[int, Field("How many earlier runs count.", example=7, minimum=2)] = 7
    sigmas: Annotated[float, Field("How many standard deviations from the mean are allowed.", example=3, minimum=0)] = 3
    max_deviation: Annotated[str | None, Field("Instead: the share of the mean by which the count may differ.", example="50%")] = None
    min_history: Annotated[int, Field("With fewer earlier runs there is no judgement.", minimum=1)] = 3
    on_empty: Annotated[str, Field("What happens with too little history.", choices=("pass", "warn", "fail"), runtime=False)] = "pass"
    history: Annotated[
        Source | None, Field("Where earlier reports are; the report's own destination by default.", example={"format": "delta", "path": "dq.report"})
    ] = None

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.max_deviation is not None and self._share() is None:
            facts = {"found": self.max_deviation, "reason": "it is no percentage", "expected": "50%"}
            yield Problem("THRESHOLD_INVALID", at + "/max_deviation", facts)
        if self.min_history > self.last:
            reason = f"min_history {self.min_history} is above last {self.last}: there would never be a judgement"
            yield Problem("INVALID_COMBINATION", at + "/min_history", {"reason": reason, "remedy": "Raise last, or lower min_history."})

    def _share(self) -> float | None:
        text = (self.max_deviation or "").strip()
        try:
            share = float(text[:-1]) / 100 if text.endswith("%") else -1.0
        except ValueError:
            return None
        return share if 0 <= share < float("inf") else None

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        if self.history is None:
            raise SparquetError("MISSING_KEY", "", expected="history", hint=": an input block, or write a report from the same document")
        return (rows_of(self.filter), History(repr(self.history), self.uid(), self.previous_name, self.last, self.history))

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        count, earlier = int(values[metrics[0]]), [float(v) for v in values[metrics[1]]]
        if len(earlier) < self.min_history:
            words = f"{count} rows; {len(earlier)} earlier runs, {self.min_history} are needed for a judgement"
            return Verdict(self.on_empty != "fail", words, int(self.on_empty == "fail"), count, self.on_empty == "warn")
        mean, share = statistics.fmean(earlier), self._share()
        allowed = abs(mean) * share if share is not None else self.sigmas * statistics.stdev(earlier) if len(earlier) > 1 else 0.0
        passed = abs(count - mean) <= allowed
        words = f"{count} rows; the mean of {len(earlier)} earlier runs is {mean:.10g}, {allowed:.10g} more or less are allowed"
        return Verdict(passed, words, int(not passed), count)
