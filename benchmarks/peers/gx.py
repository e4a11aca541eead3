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
        E.ExpectColumnMaxToBeBetween(column="created_at", min_value=dt.datetime(2000, 1, 1)),  # noqa: DTZ001 - Spark's timestamps have no zone here
    ]


_KINDS = {
    "expect_column_values_to_not_be_null": "null",
    "expect_column_values_to_be_unique": "repeated",
    "expect_column_values_to_be_between": "outside",
    "expect_column_values_to_match_regex": "mismatched",
    "expect_column_values_to_be_in_set": "other",
    "expect_column_min_to_be_between": "min",
    "expect_column_mean_to_be_between": "avg",
}


def rules(spark: Any, place: Path, persist: bool, result_format: str) -> dict[str, float]:
    """The suite."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_spark("spark", persist=persist).add_dataframe_asset("orders")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": orders.read(spark, place)})
    try:
        results = batch.validate(gx.ExpectationSuite(name="orders", expectations=_expectations()), result_format=result_format).results
    finally:
        spark.catalog.clearCache()
    failed = [r for r in results if r.exception_info and "exception_message" in str(r.exception_info) and r.exception_info.get("raised_exception")]
    assert not failed, failed[0].exception_info
    if result_format == "BOOLEAN_ONLY":
        # A rule that holds and a rule that doesn't are all that can be compared.
        true = orders.facts(place)
        kinds = {(r.expectation_config.type, r.expectation_config.kwargs.get("column")): r.success for r in results}
        assert all(
            kinds[name, c] == (true[f"{kind} {c}"] == 0) for (name, c) in kinds if (kind := _KINDS.get(name)) in ("repeated", "outside", "mismatched", "other")
        ), kinds
        return {"rows": true["rows"]}
    found: dict[str, float] = {}
    for r in results:
        kind, column = _KINDS.get(r.expectation_config.type), r.expectation_config.kwargs.get("column")
        value = r.result.get("unexpected_count", r.result.get("observed_value"))
        if kind:
            found[f"{kind} {column}"] = value
        elif "row_count" in r.expectation_config.type:
            found["rows"] = value
    return found


if __name__ == "__main__":
    measure(
        {
            "Great Expectations": lambda s, p: rules(s, p, True, "BASIC"),
            "Great Expectations, BOOLEAN_ONLY, not persisted": lambda s, p: rules(s, p, False, "BOOLEAN_ONLY"),
        }
    )
