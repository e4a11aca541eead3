"""The ``reconciliation`` rule."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...document import Source
from ...errors import SparquetError
from ...spec import Field, spec
from ..kinds import MetricRule
from ..metrics import Aggregate, Elsewhere, Metric, Query, Values
from ..threshold import Unit
from ..wording import figure

if TYPE_CHECKING:
    from ...columns import Columns

#: More digits than any decimal of Spark has.
EXACT = Context(prec=80)


@spec
class Reconciliation(MetricRule):
    """Compare an aggregate of the rows with the same aggregate of another source."""

    type: ClassVar[str] = "reconciliation"
    dimension: ClassVar[str] = "consistency"
    measured_in: ClassVar[str] = "source"
    units: ClassVar[tuple[Unit, ...]] = ("number", "percent")
    notes: ClassVar[tuple[str, ...]] = ("The figure is the absolute difference; with % in a threshold, relative to the source's value.",)

    aggregate: Annotated[str, Field("The aggregate, as SQL.", example="sum(amount)", sql=True, nonempty=True, aliases=("expression",))]
    source: Annotated[Source, Field("The other source.", example={"format": "parquet", "path": "/landing/orders"})]
    source_aggregate: Annotated[
        str | None, Field("The aggregate there, when it is another.", example="sum(value)", sql=True, aliases=("source_expression",))
    ] = None
    must_be: Annotated[str | None, Field("The condition that the difference must satisfy.", example="<= 0.5%")] = "= 0"

    def sources(self) -> Iterator[tuple[str, Source]]:
        yield "source", self.source

    def expression(self) -> str:
        return f"reconciliation({self.aggregate})"

    def target(self) -> str:
        return self.aggregate

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        # A filter concerns every aggregate inside the expression, so the rows are filtered first.
        own: Metric = Query(f"SELECT {self.aggregate} FROM _validation_df", False, self.filter) if self.filter else Aggregate(self.aggregate)
        return (own, Elsewhere(self.source_aggregate or self.aggregate, repr(self.source), self.source))

    def measured(self, metrics: tuple[Metric, ...], values: Values) -> Any:
        own, other = values[metrics[0]], values[metrics[1]]
        own = own[0] if isinstance(metrics[0], Query) and own else own
        if own is None or other is None:
            return None
        for key, value in (("/aggregate", own), ("/source_aggregate", other)):
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
                raise SparquetError("WRONG_TYPE", key, found=f"a {type(value).__name__}", expected="an aggregate that gives a number", hint="")
        floating = isinstance(own, float) or isinstance(other, float)
        difference = abs(float(own) - float(other)) if floating else abs(EXACT.subtract(Decimal(own), Decimal(other)))
        if not self._relative:
            return difference
        return 100 * float(difference) / abs(float(other)) if other else (0.0 if not difference else float("inf"))

    @property
    def _relative(self) -> bool:
        return any(c.unit == "percent" for c in (self.condition("must_be"), self.condition("warn")) if c)

    def worded(self, value: Any) -> str:
        return f"{figure(value)}{'%' if self._relative else ''}"
