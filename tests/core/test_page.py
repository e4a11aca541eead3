"""The report page: complete, escaped, alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from sparquet_provider.core.errors import Problem
from sparquet_provider.core.page import page
from sparquet_provider.core.result import CheckResult, OutputResult, PipelineResult


def result(**changes: Any) -> dict[str, Any]:
    rules = [
        CheckResult("row_count", True, "3 rows", metric_value=1234, code="row_count", dimension="volume", rows=1234, rule_params={"min": 1}),
        CheckResult(
            "not_null", False, "a < b", 617, 617, "<b>have a key</b>", code="C1", dimension="completeness", rows=1234, tags=["finance"],
            samples=[{"id": None, "<i>": 7}],
        ),
        CheckResult("missing_percent", True, "m", 12, 0.97, severity="warn", code="m", rows=1234, rule_params={"must_be": "< 5%", "warn": "= 0"}),
        CheckResult("freshness", True, "f", metric_value=93784.5, code="f", rows=1234, rule_params={"must_be": "< 2d"}),
        CheckResult("range", False, "could not run", code="r", rows=1234, error=Problem("COLUMN_NOT_FOUND", "/x", {"found": "a", "expected": ["b"]}).to_dict()),
    ]
    found = PipelineResult(
        "<b>orders</b>", "failed", "quality", rows_read=1234, rows_written=0, validation_results=rules, score=0.6, params={"q": "<script>"}, seconds=1.26,
        problems=[Problem("QUALITY_FAILED", "/validations", {"count": 2, "total": 5, "found": "x"})], started_at="2026-01-01T06:00:00+00:00",
        quarantine=[OutputResult("/validations/outputs/invalid", "delta", "/bad?a=1&b=2", "append", "written", 617, version=3)],
        warnings=[Problem("COLUMN_REPLACED", "/input", {"found": "ingestion_ts"}, "warning")], engine={"name": "spark", "spark": "4.1.1"},
    )
    return {**found.to_dict(), **changes}


def words(text: str) -> str:
    """What a reader sees."""
    class Reader(HTMLParser):
        found = ""

        def handle_data(self, data: str) -> None:
            self.found += f" {data}"

    reader = Reader()
    reader.feed(re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    return " ".join(reader.found.replace("\N{NO-BREAK SPACE}", " ").split())


def test_everything_is_there() -> None:
    seen = words(page(result()))
    for part in (
        "<b>orders</b>", "failed quality", "Score 60%", "2 pass", "1 warn", "2 fail", "Rows read 1,234", "<b>have a key</b> C1 completeness · finance",
        "617 of 1,234 (50.0 %)", "1 of the bad rows", "0.97 %", "must be < 5%", "warns unless = 0", "12 of 1,234 (1.0 %)", "1d 2h", "must be < 2d",
        "Correct the name; columns here: b", "Quarantine", "/bad?a=1&b=2", "COLUMN_REPLACED", "Rename it at the source", "q <script>", "2026-01-01 06:00:00", "spark 4.1.1",
    ):
        assert part in seen, part


def test_the_worst_comes_first() -> None:
    seen = page(result())
    assert seen.index(">C1<") < seen.index(">m<") < seen.index(">row_count<")


def test_the_bar_is_the_share_of_bad_rows_and_only_where_rows_are_counted() -> None:
    text = page(result())
    assert re.findall(r"<i style='width:([\d.]+)%", text) == ["60.0", "50.0", "1.0"], "the score, not_null, missing_percent; not row_count, freshness, nor what could not run"
    whole = CheckResult("sql", False, "m", 1, False, code="s", rows=10, rule_params={"query": "SELECT false"}).to_dict()
    some = CheckResult("mine", False, "m", 1, code="c", rows=10_000).to_dict()
    text = page(result(validation_results=[whole, some], score=None))
    assert re.findall(r"<i style='width:([\d.]+)%", text) == ["0.0"]
    assert "< 0.1 %" in words(text)


def test_nothing_runs_and_nothing_is_loaded() -> None:
    text = page(result())
    assert text.startswith("<!doctype html>")
    for part in ("<script", "src=", "href=", "url(", "@import", "<b>orders", "<i>:"):
        assert part not in text
    assert "prefers-color-scheme:dark" in text
    assert "name=viewport" in text


def test_faults_come_with_their_remedy() -> None:
    problems = [Problem("MISSING_KEY", "/input", {"expected": "format"}).to_dict(), Problem("CANCELLED", "", {"reason": "x"}).to_dict()]
    seen = words(page({"pipeline_name": "p", "status": "failed", "reason": "document", "problems": problems, "error": "never twice"}))
    for part in ("MISSING_KEY /input the key 'format' is missing. Add it.", "CANCELLED / the run was ended: x."):
        assert part in seen
    assert "never twice" not in seen


@pytest.mark.parametrize("given", [{"status": "success"}, {}, {"status": "skipped", "message": "nothing", "validation_results": None, "params": None}])
def test_a_bare_result_has_a_page(given: dict[str, Any]) -> None:
    assert "<h1>run</h1>" in page(given)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0s"), (59.9, "59s"), (3600, "1h"), (90061, "1d 1h"), (-90, "-1m 30s")])
def test_ages_in_words(seconds: float, shown: str) -> None:
    rule = CheckResult("freshness", True, "", metric_value=seconds, code="f").to_dict()
    assert f"<b>{shown}</b>" in page({"validation_results": [rule]})
