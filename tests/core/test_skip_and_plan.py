"""What is decided before Spark starts."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core.lint import lint
from sparquet_provider.core.load import load
from sparquet_provider.core.plan import explain, plan, sides_together

GROUP = {"type": "group_by", "by": ["k"], "agg": ["count(*) AS n"]}
PLAIN = [{"type": "not_null", "columns": ["k"]}, {"type": "row_count", "min": 1}]


def made(steps: list[Any], validations: Any = None, outputs: list[Any] | None = None) -> Any:
    raw = {"name": "p", "input": {"format": "parquet", "path": "/in"}, "transformations": steps, "outputs": outputs or [{"format": "parquet", "path": "/out"}]}
    document, problems = lint(load(raw | ({"validations": validations} if validations else {})).tree)
    assert document is not None, problems
    return document


@pytest.mark.parametrize(
    ("steps", "validations", "outputs", "with_write"),
    [
        ([GROUP], {"on_failure": "warn", "rules": PLAIN}, None, True),
        ([GROUP, {"type": "with_column", "column": "x", "expression": "1"}], {"on_failure": "skip", "rules": PLAIN}, None, True),
        ([GROUP], {"on_failure": "fail", "rules": PLAIN}, None, False),
        ([], {"on_failure": "warn", "rules": PLAIN}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": [*PLAIN, {"type": "unique", "columns": ["k"]}]}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": PLAIN * 5}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": PLAIN, "sample_rows": 3}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": PLAIN, "quarantine": True}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": [{"type": "not_null", "targets": list("abcdefghi")}]}, None, False),
        ([GROUP], {"on_failure": "warn", "rules": PLAIN}, [{"format": "parquet", "path": "/o", "transformations": [{"type": "distinct"}]}], False),
        ([GROUP], {"on_failure": "warn", "rules": PLAIN}, [{"format": "delta", "path": "/o", "mode": "merge", "options": {"merge_keys": ["k"]}}], False),
        ([GROUP, {"type": "join", "with": {"format": "parquet", "path": "/d"}, "on": "k"}], {"on_failure": "warn", "rules": PLAIN}, None, False),
    ],
)
def test_which_rules_ride_on_the_write(steps: list[Any], validations: Any, outputs: list[Any] | None, with_write: bool) -> None:
    assert plan(made(steps, validations, outputs)).with_write is with_write


@pytest.mark.parametrize(
    ("steps", "validations", "outputs", "keep"),
    [
        ([GROUP], None, None, False),
        ([GROUP], None, [{"format": "parquet", "path": "/a"}, {"format": "parquet", "path": "/b"}], True),
        ([], None, [{"format": "parquet", "path": "/a"}, {"format": "parquet", "path": "/b"}], False),
        ([GROUP], {"rules": PLAIN}, None, True),
        ([GROUP, {"type": "checkpoint"}], {"rules": PLAIN}, None, False),
    ],
)
def test_when_the_frame_is_kept(steps: list[Any], validations: Any, outputs: list[Any] | None, keep: bool) -> None:
    assert plan(made(steps, validations, outputs)).keep is keep


def test_the_plan_in_words() -> None:
    join = {"type": "join", "with": {"format": "delta", "path": "ref.dim", "options": {"password": "x"}}, "on": "k"}
    lines = explain(
        made(
            [join, GROUP],
            {"on_failure": "warn", "rules": [*PLAIN, {"type": "unique", "columns": ["k"]}], "report": {"format": "csv", "path": "/dq", "mode": "append"}},
        )
    )
    text = "\n".join(lines)
    assert "/input: parquet /in" in text and "/transformations/0/with: delta ref.dim" in text
    assert "in one pass over the rows (the rule unique needs a job of its own):\n    not_null(k)\n    row_count(1,)" in text
    assert "in the pass over the keys (from 1,000,000 rows on, whole numbers that lie close together have one of their own):\n    unique(k)" in text
    assert "/outputs/0: parquet /out (overwrite)" in text and "/validations/report: csv /dq (append)" in text
    assert "password" not in text


SIDES = {"valid": {"format": "parquet", "path": "/v"}, "invalid": {"format": "parquet", "path": "/i"}}


@pytest.mark.parametrize(
    ("validations", "together"),
    [
        ({"outputs": SIDES}, True),
        ({"outputs": SIDES, "annotate": "_broken"}, False),
        ({"outputs": SIDES, "annotate": "_broken", "annotate_valid": True}, True),
        ({"outputs": {"invalid": SIDES["invalid"]}}, False),
        ({"outputs": {**SIDES, "valid": {"format": "json", "path": "/v"}}}, False),
        ({"outputs": {**SIDES, "valid": {**SIDES["valid"], "mode": "append"}}}, False),
        ({"outputs": {**SIDES, "valid": {**SIDES["valid"], "columns": ["k"]}}}, False),
    ],
)
def test_when_both_sides_of_a_split_are_written_in_one_job(validations: dict[str, Any], together: bool) -> None:
    document = made([], {"rules": PLAIN, **validations})
    assert sides_together(document.validations)[0] is together
    words = "both sides in one write" if together else "one write a side"
    assert any(words in line for line in explain(document))


def test_the_plan_says_what_the_document_says_of_its_table() -> None:
    document, problems = lint({
        "input": {"format": "csv", "path": "/in"}, "target_table": "orders", "layer": "silver", "transform": {"cast": {"id": "int"}},
        "annotations": {"description": "One row an order.", "columns": {"id": {"description": "its number", "pii": False}, "n": {"tags": ["x"]}}},
        "operations": {"owners": ["sales", "data"], "criticality": "high"},
    })
    assert document is not None, problems
    lines = explain(document)
    assert lines[:6] == ["pipeline silver.orders", "about", "  One row an order.", "  id: its number", "  owners: sales, data", "  criticality: high"]
    assert lines[lines.index("prepare (2 operations, in this order)") + 1 :][:2] == ["  1. cast", "  2. control columns"]
    assert "  /output: delta silver.orders (append)" in lines
