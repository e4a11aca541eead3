"""Check documents out of others: what counts as one, what is left out of a pipeline, how an output is read back."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core.gates import as_check, kind_of, parts_of, source_of, validations_of
from sparquet_provider.core.lint import lint_check

RULES = [{"type": "row_count", "min": 1}]
INPUT = {"format": "csv", "path": "/in"}
CHECK: dict[str, Any] = {"name": "c", "input": INPUT, "validations": {"rules": RULES, "report": {"format": "csv", "path": "/dq"}}}


@pytest.mark.parametrize(("tree", "kind"), [
    (CHECK, "check"),
    ({**CHECK, "output": {}}, "run"),
    ({**CHECK, "outputs": []}, "run"),
    ({**CHECK, "outptu": {}}, "run"),
    ({"name": "p", "input": INPUT}, "run"),
    ({**CHECK, "transformations": [{"type": "distinct"}], "description": "x"}, "check"),
    ({"input": INPUT, "target_table": "orders", "validations": {"rules": RULES}}, "run"),
    ([], "run"),
    (None, "run"),
])
def test_what_a_document_is_for(tree: Any, kind: str) -> None:
    assert kind_of(tree) == kind


def test_a_check_document_stays_as_it_is() -> None:
    assert as_check(CHECK) is CHECK


def test_a_pipeline_as_a_check_writes_nothing() -> None:
    destination = {"format": "parquet", "path": "/x", "mode": "append", "options": {"compression": "zstd"}}
    tree = {
        "name": "p", "input": INPUT, "transformations": [{"type": "distinct"}], "outputs": [destination],
        "validations": {
            "on_failure": "warn", "sample_rows": 2, "report": destination, "outputs": {"valid": destination}, "quarantine": True, "annotate": "a", "reasons": "r",
            "annotate_valid": True, "quarantine_rules": ["x"],
            "rules": [
                {"type": "sql", "failed_rows": "SELECT 1", "output": destination, "code": "x"}, {"type": "Volume_Anomaly"}, *RULES,
                {"type": "volume_anomaly", "history": {"format": "csv", "path": "/h"}},
            ],
        },
    }
    assert as_check(tree) == {
        "name": "p", "input": INPUT, "transformations": [{"type": "distinct"}],
        "validations": {
            "on_failure": "warn", "sample_rows": 2,
            "rules": [
                {"type": "sql", "failed_rows": "SELECT 1", "code": "x"},
                {"type": "Volume_Anomaly", "history": {"format": "parquet", "path": "/x", "options": {"compression": "zstd"}}}, *RULES,
                {"type": "volume_anomaly", "history": {"format": "csv", "path": "/h"}},
            ],
        },
    }
    assert lint_check(as_check(tree))[0] is not None
    assert tree["validations"]["rules"][0]["output"] is destination, "the pipeline itself is as it was"


@pytest.mark.parametrize("validations", [None, 5, {"rules": "x"}, {"rules": [5]}, {}])
def test_what_is_no_block_is_left_to_the_linter(validations: Any) -> None:
    tree = as_check({"name": "p", "input": INPUT, "output": {}, "validations": validations})
    assert lint_check(tree)[0] is None


@pytest.mark.parametrize(("content", "found"), [
    (RULES, {"rules": RULES}),
    ({"rules": RULES}, {"rules": RULES}),
    (CHECK["validations"], CHECK["validations"]),
    (CHECK, CHECK["validations"]),
    ({**CHECK, "output": {}}, {"rules": RULES}),
    (None, {"rules": None}),
])
def test_what_a_file_of_rules_may_hold(content: Any, found: Any) -> None:
    assert validations_of(content) == found


@pytest.mark.parametrize(("tree", "parts"), [
    ({"input": INPUT, "output": {}}, ["input", "output"]),
    ({"source": INPUT, "outputs": [{}, {}]}, ["input", "outputs/0", "outputs/1"]),
    ({"input": INPUT, "output": {}, "outputs": [{}]}, ["input", "outputs/0"]),
    (CHECK, ["input"]),
    ([], []),
])
def test_the_parts_of_a_document(tree: Any, parts: list[str]) -> None:
    assert parts_of(tree) == parts
    for part in parts:
        source_of(tree, part)


def test_an_output_is_read_back_without_what_only_a_writer_knows() -> None:
    options = {"merge_keys": ["id"], "MERGESCHEMA": True, "replaceWhere": "a = 1", "sep": ";"}
    output = {"format": "csv", "path": "/o", "mode": "overwrite", "partition_by": ["d"], "columns": ["a"], "options": options, "transformations": []}
    assert source_of({"output": output}, "output") == {"format": "csv", "path": "/o", "options": {"sep": ";"}}
    assert source_of({"outputs": [5]}, "outputs/0") == 5, "the linter names it"
    assert source_of({"source": INPUT}, "input") == INPUT


def test_a_contract_as_a_check_is_prepared_and_has_no_target() -> None:
    tree = {
        "source": INPUT, "target_table": "orders", "layer": "silver", "catalog": "main", "mode": "upsert", "merge_keys": ["id"], "watermark_columns": ["id"],
        "transform": {"cast": {"id": "int"}}, "validations": {"rules": RULES},
    }
    checked = as_check(tree)
    assert checked == {"name": "main.silver.orders", "source": INPUT, "layer": "silver", "transform": {"cast": {"id": "int"}}, "validations": {"rules": RULES}}
    document, problems = lint_check(checked)
    assert (problems, [o.label for o in document.preparation()]) == ([], ["cast", "control columns"])
    assert parts_of(tree) == ["input", "output"]
    assert source_of(tree, "output") == {"format": "delta", "path": "main.silver.orders"}
