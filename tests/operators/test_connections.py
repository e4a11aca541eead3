"""Connections that a document names, from Airflow to the request; a stand-in takes the place of the submission."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.core.result import RunRequest
from sparquet_provider.hooks.settings import Settings
from sparquet_provider.hooks.submission import _fingerprint
from sparquet_provider.operators import SparquetRunOperator

SECRET = "s3cr'et pa\"ss/w@rd"
SHOP = {"conn_type": "postgres", "host": "db", "port": 5432, "schema": "shop", "login": "me", "password": SECRET, "extra": {"jdbc": {"sslpassword": "deep-secret"}}}


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps({**SHOP, "extra": json.dumps(SHOP["extra"])}))
    return {"name": "x", "input": {"format": "jdbc", "connection": "shop", "path": "t"}, "output": {"format": "parquet", "path": "/out", "mode": "append"}}


def test_the_request_carries_the_fields_and_the_packages_the_driver(answer: Any, ti: Any, document: dict[str, Any]) -> None:
    seen = answer()
    SparquetRunOperator(task_id="t", pipeline=document).execute({"ti": ti})
    (request, submission, _), = seen
    assert request.connections == {"shop": SHOP}
    assert [p.split(":")[1] for p in submission.settings.packages] == ["postgresql"]
    shown = json.dumps([request.tree, submission.settings.conf, {k: str(v) for k, v in submission.options.items()}]) + repr(request)
    assert SECRET not in shown and "deep-secret" not in shown


def test_what_the_driver_repeats_is_hidden(answer: Any, ti: Any, document: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    answer(status="failed", reason="infrastructure", error=f"refused {SECRET} and deep-secret", problems=[{"category": "infrastructure", "code": "X", "message": SECRET}])
    with pytest.raises(Exception, match="refused") as error:
        SparquetRunOperator(task_id="t", pipeline=document).execute({"ti": ti})
    text = str(error.value) + json.dumps(ti.pushed) + caplog.text
    assert SECRET not in text and "deep-secret" not in text


def test_every_missing_connection_is_named_before_anything_is_submitted(answer: Any, ti: Any, document: dict[str, Any]) -> None:
    seen = answer()
    document["input"]["connection"] = "shopp"
    document["output"] = {"format": "jdbc", "connection": "other", "path": "t"}
    with pytest.raises(AirflowFailException) as error:
        SparquetRunOperator(task_id="t", pipeline=document).execute({"ti": ti})
    assert "/input/connection: there is no connection 'shopp'" in str(error.value) and "/output/connection" in str(error.value)
    assert seen == []


def test_a_new_password_is_the_same_request_and_another_host_is_not() -> None:
    def asked(**change: Any) -> str:
        return _fingerprint(RunRequest("run", {"name": "x"}, "", connections={"shop": {**SHOP, **change}}), Settings("x"))

    assert asked() == asked(password="renewed") != asked(host="elsewhere")
