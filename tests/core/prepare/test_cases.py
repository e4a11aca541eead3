"""Every case under ``tests/cases/prepare``, and that every field and rule of a preparation has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.prepare.cases import all_cases, documents, lint_of, named, prepared, run
from tests.core.steps.cases import assert_problems, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(all_cases())
FORM = [pytest.param(case, id=name) for name, case in CASES if "lint" in case]
RUNS = [
    pytest.param(case, id=name, marks=[pytest.mark.classic_only(case["classic_only"])] if "classic_only" in case else [])
    for name, case in CASES
    if "lint" not in case
]

#: The fields of transform and of shape, the keys beside them, the guards and the rules of a preparation.
FIELDS = """
    shape  cast  standardize  derive
    standardize.<column>.trim  standardize.<column>.lower  standardize.<column>.upper  standardize.<column>.normalize_whitespace
    standardize.<column>.empty_as_null
    deduplicate.keys  deduplicate.order_by  deduplicate.order_by[].column  deduplicate.order_by[].direction  deduplicate.order_by[].nulls
    shape.parse_json  shape.parse_json[].column  shape.parse_json[].schema  shape.parse_json[].schema_ref  shape.parse_json[].alias
    shape.parse_json[].drop_source
    shape.flatten.enabled  shape.flatten.separator  shape.flatten.max_depth  shape.flatten.include  shape.flatten.exclude
    shape.zip_arrays  shape.zip_arrays[].alias  shape.zip_arrays[].columns
    shape.arrays  shape.arrays[].path  shape.arrays[].mode  shape.arrays[].alias  shape.arrays[].allow_cartesian
    shape.columns  shape.columns.<path>.alias  shape.columns.<path>.cast  shape.columns.<path>.expression
    shape.allow_cardinality_change_on_bronze
    select_columns  column_mapping  filter_expression  custom_keys  watermark_columns  schemas  source.read.schema  layer  target_table
""".split()
RULES = [
    "fixed order",
    "short form of transform.shape",
    "control columns",
    "projection keeps only its columns",
    "metadata stays outside",
    "nested arrays in any order",
    "parent and child explode",
    "SQL fragments in order_by",
    "example",
    "guard: explicit schema",
    "guard: bronze cardinality",
    "guard: sibling arrays",
    "guard: deterministic order",
    "guard: lower and upper",
    "guard: columns exist",
]


@pytest.mark.parametrize("case", FORM)
def test_the_linter_finds_it_before_spark(case: dict[str, Any]) -> None:
    for doc in documents(case):
        parsed, found = lint_of(case, doc)
        assert_problems(found, case["lint"], "")
        assert (parsed is None) == any(p.severity == "error" for p in found)


@pytest.mark.parametrize("case", RUNS)
def test_the_preparation_does_it(case: dict[str, Any], spark: SparkSession) -> None:
    given = frame(spark, case["in"]["schema"], case["in"]["rows"])
    for keys in case.get("documents", [case.get("document")]):
        result = run(spark, given, keys, case.get("params"), columns=case.get("literals"), strict=case.get("strict", True), **case.get("run", {}))
        expected = case.get("errors", [case["error"]] if "error" in case else [])
        assert_problems(result.problems, expected, "")
        assert_problems(result.warnings, case.get("warnings", []), "")
        assert result.status == ("failed" if expected else "success")
        if "mark" in case:
            assert result.to_dict()["watermark"] == case["mark"]
        if "out" in case:
            schema, rows = prepared(keys)
            assert schema == case["out"]["schema"]
            assert sorted(rows, key=repr) == sorted([tuple(row) for row in case["out"]["rows"]], key=repr)


@pytest.mark.parametrize("name", [*FIELDS, *RULES])
def test_every_field_and_rule_has_a_case(name: str) -> None:
    assert any(name in named(case) for _, case in CASES)


def test_cases_are_for_something_that_is_known() -> None:
    assert {name for _, case in CASES for name in named(case)} <= {*FIELDS, *RULES}
