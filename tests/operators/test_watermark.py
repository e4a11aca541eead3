"""The watermark of an earlier run: in by the argument, out by an XCom of its own."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.operators import SparquetRunOperator
from sparquet_provider.operators.sparquet import mark_of

MARK = {"ts": "2026-01-02T00:00:00.000001+00:00", "id": 7}


@pytest.mark.parametrize(("given", "expected"), [
    (None, None), ("", None), ("None", None), ("null", None), ({}, None), ("{}", None), (MARK, MARK), (str(MARK), MARK),
    ('{"ts": null, "id": 7}', {"ts": None, "id": 7}),
])
def test_what_a_template_leaves(given: Any, expected: Any) -> None:
    assert mark_of(given) == expected


@pytest.mark.parametrize("given", ["yesterday", "[1]", 3, "2026-01-01"])
def test_what_is_no_mark_is_named(given: Any) -> None:
    with pytest.raises(AirflowFailException, match="watermark"):
        mark_of(given)


def test_the_mark_travels_in_the_request_and_back_by_xcom(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    seen = answer(watermark=MARK)
    pipeline["watermark_columns"] = ["ts", "id"]
    operator = SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/in"}, watermark=str(MARK))
    value = operator.execute({"ti": ti})
    assert seen[0][0].watermark == MARK
    assert ti.pushed["watermark"] == value["watermark"] == MARK
    assert "watermark" in operator.template_fields


@pytest.mark.parametrize(("map_index", "earlier"), [(-1, MARK), (3, MARK), (-1, None)])
def test_the_mark_of_the_tasks_own_earlier_run(answer: Any, pipeline: dict[str, Any], map_index: int, earlier: Any) -> None:
    class Ti:
        dag_id, run_id, task_id, try_number = "dag", "r", "t", 1

        def __init__(self) -> None:
            self.map_index, self.asked = map_index, {}

        def xcom_pull(self, **asked: Any) -> Any:
            self.asked = asked
            return earlier

        def xcom_push(self, key: str, value: Any) -> None:
            """Nobody reads it here."""

    seen, ti = answer(), Ti()
    pipeline["watermark_columns"] = ["ts", "id"]
    SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/in"}, watermark="previous").execute({"ti": ti})
    assert seen[0][0].watermark == earlier
    assert ti.asked == {"task_ids": "t", "key": "watermark", "include_prior_dates": True, "map_indexes": map_index}


def test_no_mark_no_xcom(answer: Any, ti: Any, pipeline: dict[str, Any]) -> None:
    seen = answer(watermark={})
    SparquetRunOperator(task_id="t", pipeline=pipeline, pipeline_params={"src": "/in"}).execute({"ti": ti})
    assert seen[0][0].watermark is None
    assert "watermark" not in ti.pushed


def test_a_contract_without_an_output_block_gets_the_package_of_its_table(answer: Any, ti: Any) -> None:
    seen = answer()
    contract = {"input": {"format": "csv", "path": "/in"}, "layer": "silver", "target_table": "orders"}
    SparquetRunOperator(task_id="t", pipeline=contract).execute({"ti": ti})
    assert any("delta-spark" in package for package in seen[0][1].settings.packages)
    assert seen[0][0].tree["target_table"] == "orders"
