"""The rules ``missing_count`` and ``missing_percent``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...spec import Field, spec
from ..kinds import ColumnsRule, CountRule
from ..predicates import any_of, missing
from ..threshold import Unit

if TYPE_CHECKING:
    from ...columns import Columns


@spec
class MissingCount(CountRule, ColumnsRule):
    """Compare the number of rows in which any of the columns has no value."""

    type: ClassVar[str] = "missing_count"
    dimension: ClassVar[str] = "completeness"
    blames_rows: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ("A row with several missing values counts once.", 'NaN is missing only when "NaN" is listed in missing_values.')

    missing_values: Annotated[tuple[Any, ...], Field("Values that count as missing, beside null.", example=["", "n/a"])] = ()

    def violation(self, columns: Columns) -> str:
        return any_of(missing(c, self.missing_values, "/missing_values") for c in self.found(columns))

    def reason(self) -> str:
        return self.error_message or f"with a missing {self.target()}"


@spec
class MissingPercent(MissingCount):
    """Compare the share of rows, from 0 to 100, in which any of the columns has no value."""

    type: ClassVar[str] = "missing_percent"
    percent: ClassVar[bool] = True
    bounds: ClassVar[tuple[int | None, int | None]] = (0, 100)
    whole: ClassVar[bool] = False
    units: ClassVar[tuple[Unit, ...]] = ("percent", "number")
