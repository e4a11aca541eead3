"""Great Expectations: as it comes (counts of failures, the frame persisted), and told to give only yes or no without persisting."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx  # noqa: E402 - reads the environment when it is imported
import great_expectations.expectations as E  # noqa: E402

from .. import orders  # noqa: E402
from .measure import measure  # noqa: E402


def _expectations() -> list[Any]:
    return [
        *(E.ExpectColumnValuesToNotBeNull(column=c) for c in ("id", "order_code", "email", "status", "amount")),
        *(E.ExpectColumnValuesToBeUnique(column=c) for c in ("id", "order_code")),
        *(E.ExpectColumnValuesToBeBetween(column=c, min_value=low, max_value=high) for c, (low, high) in orders.BOUNDS.items()),
        E.ExpectColumnValuesToMatchRegex(column="email", regex=orders.EMAIL),
        E.ExpectColumnValuesToMatchRegex(column="phone", regex=orders.PHONE),
        E.ExpectColumnValuesToBeInSet(column="country", value_set=list(orders.COUNTRIES)),
        E.ExpectColumnValuesToBeInSet(column="status", value_set=list(orders.STATUSES)),
        E.ExpectTableRowCountToBeBetween(min_value=1),
        E.ExpectColumnValuesToNotBeNull(column="discount", mostly=0.94),
        E.ExpectColumnProportionOfUniqueValuesToBeBetween(column="email", min_value=0.1),
        E.ExpectColumnMinToBeBetween(column="amount", min_value=-10_000),
        E.ExpectColumnMaxToBeBetween(column="qty", max_value=19),
        E.ExpectColumnMeanToBeBetween(column="discount", min_value=0.2, max_value=0.4),
        E.ExpectColumnMaxToBeBetween(column="created_at", min_value=dt.datetime(2000, 1, 1)),
    ]


_COUNTS = {
    "expect_column_values_to_not_be_null": "null",
    "expect_column_values_to_be_unique": "repeated",
    "expect_column_values_to_be_between": "outside",
    "expect_column_values_to_match_regex": "mismatched",
    "expect_column_values_to_be_in_set": "other",
}
_VALUES = {"expect_table_row_count_to_be_between": "rows", "expect_column_min_to_be_between": "min", "expect_column_mean_to_be_between": "avg"}


def rules(spark: Any, place: Path, counts: bool) -> dict[str, float]:
    """The suite. Without counts it says yes or no, so a no stands for the fact that is true."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_spark("spark", persist=counts).add_dataframe_asset("orders")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": orders.read(spark, place)})
    try:
        suite = gx.ExpectationSuite(name="orders", expectations=_expectations())
        results = batch.validate(suite, result_format="BASIC" if counts else "BOOLEAN_ONLY").results
    finally:
        spark.catalog.clearCache()
    true, found = orders.facts(place), {}
    for result in results:
        assert not result.exception_info.get("raised_exception"), result.exception_info
        kind, settings = result.expectation_config.type, result.expectation_config.kwargs
        fact = f"{_COUNTS.get(kind) or _VALUES.get(kind)} {settings.get('column', '')}".strip()
        if kind in _COUNTS and counts:
            found[fact] = result.result["unexpected_count"]
        elif kind in _COUNTS and settings.get("mostly", 1) == 1:
            found[fact] = 0 if result.success else true[fact]
        elif kind in _VALUES and counts:
            found[fact] = result.result["observed_value"]
    return found


if __name__ == "__main__":
    measure({"Great Expectations": lambda s, p: rules(s, p, True), "Great Expectations, BOOLEAN_ONLY, not persisted": lambda s, p: rules(s, p, False)})
