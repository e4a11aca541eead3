"""Every case under ``tests/cases/quality``: by the engine, all rules of a case in one run, and by the oracle."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sparquet_provider.core.cola import Cola
from tests.core.quality.cases import all_cases, metric_of, rows_of, rules_of, world_of
from tests.core.quality.oracle import ANY, agrees, invalid_rows, judge
from tests.core.steps import cases as steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparquet_provider.core.result import CheckResult

CASES = [pytest.param(case, id=name) for name, case in all_cases()]


@pytest.mark.parametrize("case", CASES)
def test_the_oracle_agrees(case: dict[str, Any]) -> None:
    world = world_of(case)
    schema, rows = rows_of(case, world.zone)
    wrong = []
    for rule, check in zip(rules_of(case), case["checks"], strict=True):
        if not check.get("oracle", True):
            continue
        found = judge(rows, schema, rule, world)
        same = bool(check.get("error")) == found.error and ("error" in check or check.get("severity", found.severity) == found.severity)
        same = same and (found.error or check.get("failed", found.failed_count) == found.failed_count)
        if "metric" in check and found.metric_value is not ANY:
            expected, near = metric_of(check, world.zone)
            same = same and agrees(found.metric_value, expected, near + found.tolerance, world.zone)
        if "bad" in check:
            same = same and invalid_rows(rows, schema, [rule], world) == set(check["bad"])
        if not same:
            wrong.append(f"{check}\n   the oracle: {found}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("case", CASES)
def test_the_engine_agrees(case: dict[str, Any], spark: SparkSession) -> None:
    settings = {"spark.sql.session.timeZone": case.get("zone", "UTC"), **case.get("conf", {})}
    before = {key: spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        _compare(case, spark)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def _compare(case: dict[str, Any], spark: SparkSession) -> None:
    for name, table in case.get("tables", {}).items():
        steps.frame(spark, table["schema"], table["rows"]).createOrReplaceTempView(name)
    df = steps.frame(spark, case["schema"], case["rows"])
    rules, checks = rules_of(case), case["checks"]
    results = Cola().run(df, rules, as_of=case.get("as_of"))
    assert len(results) == len(checks)
    wrong = [text for check, found in zip(checks, results, strict=True) if (text := _difference(check, found, case.get("zone", "UTC"))) is not None]

    wanted = {rule["code"]: check["bad"] for rule, check in zip(rules, checks, strict=True) if "bad" in check}
    if wanted:
        split = Cola().split(df, [rule for rule in rules if rule["code"] in wanted], annotate="codes of the case")
        given, invalid = steps.rows_of(df), steps.rows_of(split.invalid)
        for check, (code, numbers) in zip([c for c in checks if "bad" in c], wanted.items(), strict=True):
            aside = [row[:-1] for row in invalid if code in row[-1]]
            if _counted(aside) != _counted([given[i] for i in numbers]):
                wrong.append(f"{check}\n   put aside: {aside}")
        together = [row[:-1] for row in invalid] + steps.rows_of(split.valid)
        assert _counted(together) == _counted(given)
    assert not wrong, "\n" + "\n".join(wrong)


def _difference(check: dict[str, Any], found: CheckResult, zone: str) -> str | None:
    code = found.error["code"] if found.error else None
    same = code == check.get("error")
    if "error" in check:
        same = same and found.severity == "fail"
    else:
        same = same and check.get("severity", found.severity) == found.severity
    same = same and found.passed == (found.severity != "fail") and check.get("failed", found.failed_count) == found.failed_count
    if "metric" in check:
        expected, near = metric_of(check, zone)
        same = same and agrees(found.metric_value, expected, near, zone)
    if same:
        return None
    return f"{check}\n   found severity={found.severity} passed={found.passed} failed={found.failed_count} metric={found.metric_value!r} error={found.error} {found.message!r}"


def _counted(rows: list[Any]) -> Counter[str]:
    return Counter(map(repr, rows))
