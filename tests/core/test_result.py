"""The exchange formats: strict JSON both ways."""

from __future__ import annotations

import datetime as dt
import json
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core.errors import Problem, SparquetError
from sparquet_provider.core.result import CheckResult, PipelineResult, RunRequest, jsonable

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("1.500"), "1.500"),
        (Decimal("NaN"), None),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3), "2026-01-02T03:00:00"),
        (dt.datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (b"\x00\xff", "AP8="),
        (float("nan"), None),
        (float("inf"), None),
        (2**53, 2**53),
        (2**63, str(2**63)),
        (-(2**63), str(-(2**63))),
        ({"a": {1: [None, True]}}, {"a": {"1": [None, True]}}),
        ({dt.date(2026, 1, 2): 1}, {"2026-01-02": 1}),
        ([], []),
        (None, None),
        ((1, {2}), [1, [2]]),
        (dt.timedelta(minutes=1), 60.0),
    ],
)
def test_values_become_strict_json(value: Any, expected: Any) -> None:
    assert jsonable(value) == expected
    json.dumps(jsonable(value), allow_nan=False)


def test_rows_of_spark_become_objects() -> None:
    from pyspark.sql import Row

    assert jsonable(Row(a=1, b=Row(c=Decimal("2.0")))) == {"a": 1, "b": {"c": "2.0"}}


def test_a_check_result_by_position() -> None:
    good, bad = CheckResult("no_future_date", True), CheckResult("no_future_date", False, "3 future dates", 3)
    assert (good.severity, bad.severity, bad.message, bad.failed_count) == ("pass", "fail", "3 future dates", 3)
    assert str(bad) == "[FAIL] no_future_date: 3 future dates"


def test_a_failed_result_raises_only_when_asked() -> None:
    failed = PipelineResult("p", "failed", "data", problems=[Problem("COLUMN_NOT_FOUND", "/transformations/0", {"found": "x", "expected": ["y"]})])
    assert (failed.success, failed.skipped) == (False, False)
    with pytest.raises(SparquetError, match=r"\[COLUMN_NOT_FOUND\] /transformations/0: there is no column 'x'"):
        failed.raise_for_status()
    skipped = PipelineResult("p", "skipped")
    assert (skipped.success, skipped.skipped, skipped.error) == (True, True, None)
    assert skipped.raise_for_status() is skipped


def test_only_infrastructure_is_retried() -> None:
    assert SparquetError("WRITE_CONFLICT", found="t").retryable
    assert not SparquetError("DUPLICATE_MERGE_KEYS").retryable
    assert not SparquetError.of([Problem("WRITE_CONFLICT"), Problem("MISSING_KEY")]).retryable


def test_the_request_is_for_its_owner_only_and_versioned(tmp_path: Path) -> None:
    request = RunRequest("run", {"name": "x"}, "/tmp/result.json", params={"n": Decimal("1.5"), "d": dt.date(2026, 1, 2)})
    request.write(tmp_path / "r.json")
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o600
    read = RunRequest.read(tmp_path / "r.json")
    assert (read.task, read.tree, read.params) == ("run", {"name": "x"}, {"n": "1.5", "d": "2026-01-02"})
    (tmp_path / "new.json").write_text(json.dumps({"format_version": 2}))
    with pytest.raises(ValueError, match="format version 2, this driver reads 1"):
        RunRequest.read(tmp_path / "new.json")
