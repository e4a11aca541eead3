"""Soda Core: a contract, verified on the session's view, nothing published."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

os.environ["SODA_CORE_TELEMETRY_ENABLED"] = "false"

from soda_core.contracts.api.verify_api import verify_contract_locally  # noqa: E402 - reads the environment when it is imported
from soda_sparkdf.common.data_sources.sparkdf_data_source import SparkDataFrameDataSourceImpl  # noqa: E402

from .. import orders  # noqa: E402
from .measure import measure  # noqa: E402


def _contract() -> str:
    checks: dict[str, list[str]] = {c: ["missing:"] for c in ("id", "order_code", "email", "status", "amount")}

    def add(column: str, check: str) -> None:
        checks.setdefault(column, []).append(check)

    for column in ("id", "order_code"):
        add(column, "duplicate:")
    for column, (low, high) in orders.BOUNDS.items():
        add(column, f"invalid: {{valid_min: {low}, valid_max: {high}}}")
    for column, pattern in (("email", orders.EMAIL), ("phone", orders.PHONE)):
        add(column, f"invalid: {{valid_format: {{name: {column}, regex: '{pattern}'}}}}")
    for column, values in (("country", orders.COUNTRIES), ("status", orders.STATUSES)):
        add(column, f"invalid: {{valid_values: [{orders.quoted(values)}]}}")
    add("discount", "missing: {threshold: {metric: percent, must_be_less_than: 6}}")
    add("email", "duplicate: {threshold: {metric: percent, must_be_less_than: 90}}")
    add("amount", "aggregate: {function: min, threshold: {must_be_greater_than_or_equal: -10000}}")
    add("qty", "aggregate: {function: max, threshold: {must_be_less_than_or_equal: 19}}")
    add("discount", "aggregate: {function: avg, threshold: {must_be_between: {greater_than: 0.2, less_than: 0.4}}}")
    lines = ["dataset: spark/orders", "columns:"]
    for column, found in checks.items():
        lines += [f"  - name: {column}", "    checks:", *(f"      - {check}" for check in found)]
    return "\n".join([*lines, "checks:", "  - row_count:", "  - freshness: {column: created_at, threshold: {unit: day, must_be_less_than: 9999}}", ""])


#: What the measured values of a check are facts of; what is invalid depends on the column.
_FACTS = {"missing_count": "null", "duplicate_count": "surplus", "min": "min", "max": "max", "avg": "avg"}
_INVALID = {column: kind for kind, column in map(str.split, orders.row_facts())}


def rules(spark: Any, place: Path) -> dict[str, float]:
    """The suite."""
    orders.read(spark, place).createOrReplaceTempView("orders")
    source = SparkDataFrameDataSourceImpl.from_existing_session(session=spark, name="spark")
    with tempfile.TemporaryDirectory() as folder:
        contract = Path(folder) / "contract.yml"
        contract.write_text(_contract())
        verified = verify_contract_locally(data_sources=[source], contract_file_path=str(contract), publish=False)
    found: dict[str, float] = {}
    for result in verified.contract_verification_results[0].check_results:
        assert not result.is_not_evaluated, result.check.definition
        kind, column, values = result.check.type, result.check.column_name, result.diagnostic_metric_values or {}
        if kind == "row_count":
            found["rows"] = values["check_rows_tested"]
        elif kind == "invalid":
            found[f"{_INVALID[column]} {column}"] = values["invalid_count"]
        elif kind != "freshness":
            found |= {f"{fact} {column}": float(values[name]) for name, fact in _FACTS.items() if name in values}
    return found


if __name__ == "__main__":
    measure({"soda-core": rules})
