"""The full result in a folder: JSON and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparquet_provider.core.page import page
from sparquet_provider.hooks.exchange import open_place
from sparquet_provider.operators.links import SparquetReportLink
from sparquet_provider.operators.report import keep

RESULT = {
    "pipeline_name": "<b>orders</b>", "status": "failed", "reason": "quality", "rows_read": 3, "error": "[QUALITY_FAILED] & more", "params": {"q": "<script>"},
    "validation_results": [{"code": "C1", "severity": "fail", "message": "a < b", "failed_count": 2}], "outputs": [{"status": "kept", "path": "/out"}],
}


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_result_and_page_are_kept_below_safe_names(tmp_path: Path, scheme: str) -> None:
    names = ["dag", "manual__2026-01-01T00:00:00+00:00", "group.task", "../../2"]
    kept = keep(RESULT, open_place(f"{scheme}{tmp_path}"), "https://host/reports/", names)
    folder = tmp_path / "dag" / "manual__2026-01-01T00_00_00_00_00" / "group.task" / "_.._2"
    assert json.loads((folder / "result.json").read_text()) == RESULT
    assert kept.place.endswith(f"{folder}/result.json")
    assert kept.url == "https://host/reports/dag/manual__2026-01-01T00_00_00_00_00/group.task/_.._2/report.html"
    assert (folder / "report.html").read_text() == page(RESULT)
    assert keep(RESULT, tmp_path, None, names).url is None


def test_the_link_is_the_pages_address() -> None:
    class Operator:
        report_url: str | None = "https://host/r.html"

    link = SparquetReportLink()
    assert link.get_link(Operator(), ti_key=None) == "https://host/r.html"
    Operator.report_url = None
    assert link.get_link(Operator(), ti_key=None) == ""
    assert (link.name, link.xcom_key) == ("Sparquet report", "sparquet_report_url")
