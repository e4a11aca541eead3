"""Every case under ``tests/cases/steps``: the step, the rows that go in, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sparquet_provider.core.registry import built_in_steps
from tests.core.steps.cases import all_cases, assert_problems, document, frame, problems_of, run, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(all_cases())
FORM = [pytest.param(case, id=name) for name, case in CASES if "lint" in case]
RUNS = [
    pytest.param(case, id=name, marks=[pytest.mark.classic_only(case["classic_only"])] if "classic_only" in case else [])
    for name, case in CASES
    if "lint" not in case
]


def steps_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case["steps"] if "steps" in case else [case["step"]]


@pytest.mark.parametrize("case", FORM)
def test_the_linter_finds_it_before_spark(case: dict[str, Any]) -> None:
    parsed, found = problems_of(document(*steps_of(case)), case.get("params"), case.get("strict", True))
    assert_problems(found, case["lint"])
    assert (parsed is None) == any(p.severity == "error" for p in found)


@pytest.mark.parametrize("case", RUNS)
def test_the_step_does_it(case: dict[str, Any], spark: SparkSession) -> None:
    for name, table in case.get("sources", {}).items():
        frame(spark, table["schema"], table["rows"]).createOrReplaceTempView(name)
    given = frame(spark, case["in"]["schema"], case["in"]["rows"])
    result = run(spark, given, *steps_of(case), params=case.get("params"), **case.get("literals", {}))
    expected = case.get("errors", [case["error"]] if "error" in case else [])
    assert_problems(result.problems, expected)
    assert_problems(result.warnings, case.get("warnings", []))
    assert result.status == ("failed" if expected else "skipped" if "skipped" in case else "success")
    if "skipped" in case:
        assert (result.message, result.rows_written) == (case["skipped"], 0)
    if "variables" in case:
        assert result.to_dict()["variables"] == case["variables"]
    if "out" in case:
        schema, rows = written()
        assert schema == case["out"]["schema"]
        assert _sorted(rows, case) == _sorted([tuple(row) for row in case["out"]["rows"]], case)


def _sorted(rows: list[tuple[Any, ...]], case: dict[str, Any]) -> list[tuple[Any, ...]]:
    return rows if case["out"].get("ordered") else sorted(rows, key=repr)


@pytest.mark.parametrize("name", sorted(built_in_steps()))
def test_every_step_has_cases(name: str) -> None:
    used = [step for _, case in CASES for step in steps_of(case) if step["type"] == name]
    assert len(used) >= 3
