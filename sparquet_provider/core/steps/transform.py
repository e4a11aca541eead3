"""The ``transform`` step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ..document import Step
from ..errors import Problem
from ..parts import part
from ..prepare.selection import Selection
from ..prepare.transform import Transform, in_order
from ..spec import spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class TransformStep(Step, Selection, Transform):
    """Prepare shape and values: the keys of a contract, in their fixed order."""

    type: ClassVar[str] = "transform"
    notes: ClassVar[tuple[str, ...]] = (
        "The order is select_columns, column_mapping, shape, cast, standardize, derive, filter_expression, custom_keys, deduplicate, in whatever order "
        "the keys stand.",
        "A pipeline with this step has the column ingestion_ts_utc from the read on.",
    )

    def check(self, at: str) -> Iterator[Problem]:
        yield from Selection.check(self, at)
        yield from Transform.check(self, at)

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        found = in_order(self, self)
        for i, operation in enumerate(found):
            with part(run, operation.at, df.columns):
                here = replace(run, at=run.at + operation.at, following=(*found[i + 1 :], *run.following))
                df = run.engine.check_analysis(operation.apply(df, here))
        return df
