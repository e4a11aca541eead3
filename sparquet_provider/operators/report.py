"""The full result of a run, kept in a folder: as JSON, and as a page for people."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1c2733;background:#fff}
h1{margin-bottom:0}table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #d5dbe1}
th{font-weight:600}.success,.pass,.written{color:#17703c}.failed,.fail,.error{color:#b3261e}.skipped,.warn,.warning{color:#8a5a00}
pre{white-space:pre-wrap;background:#f3f5f7;padding:.8rem;border-radius:.4rem}
@media(prefers-color-scheme:dark){body{background:#12171c;color:#dfe5ea}th,td{border-color:#333c45}pre{background:#1d242b}
.success,.pass,.written{color:#6fcf97}.failed,.fail,.error{color:#ff8a80}.skipped,.warn,.warning{color:#f2c14e}}
"""


@dataclass(frozen=True)
class Kept:
    """Where a result is kept: the JSON's place, and the page's address when pages are served."""

    place: str
    url: str | None


def keep(result: Mapping[str, Any], folder: Any, base_url: str | None, names: Iterable[str]) -> Kept:
    """Write ``result.json`` and ``report.html`` below a folder.

    Args:
        result: the result document.
        folder: a ``Path`` or an ``ObjectStoragePath``.
        base_url: the address under which the folder is served.
        names: dag, run, task and try, which become sub-folders.

    Raises:
        OSError: the folder could not be written.
    """
    parts = [re.sub(r"[^\w.\-]+", "_", name).strip(".") or "_" for name in names]
    target = folder
    for part in parts:
        target = target / part
    target.mkdir(parents=True, exist_ok=True)
    (target / "result.json").write_text(json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False), encoding="utf-8")
    (target / "report.html").write_text(page(result), encoding="utf-8")
    url = "/".join([base_url.rstrip("/"), *map(quote, parts), "report.html"]) if base_url else None
    return Kept(str(target / "result.json"), url)


def page(result: Mapping[str, Any]) -> str:
    """The result as one page that needs no other file."""
    name, status = result.get("pipeline_name") or "run", str(result.get("status"))
    figures = {
        "Rows read": result.get("rows_read"), "Rows written": result.get("rows_written"), "Score": result.get("score"),
        "Seconds": result.get("seconds"), "Started": result.get("started_at"), "Run": result.get("run_id"), "Engine": result.get("engine"),
    }
    body = [
        f"<h1>{_text(name)}</h1><p class='{_text(status)}'>{_text(status)} ({_text(result.get('reason'))}) {_text(result.get('message'))}</p>",
        f"<pre class=error>{_text(result['error'])}</pre>" if result.get("error") else "",
        _table("", ("", ""), [(k, v) for k, v in figures.items() if v not in (None, "", {})]),
        _table("Rules", ("severity", "code", "message", "failed_count", "metric_value", "rows"), result.get("validation_results")),
        _table("Outputs", ("status", "format", "path", "mode", "rows_written", "reason"), result.get("outputs")),
        _table("Steps", ("at", "type", "seconds", "note"), result.get("steps")),
        _table("Warnings", ("code", "at", "message", "remedy"), result.get("warnings")),
        _table("Parameters", ("", ""), list((result.get("params") or {}).items())),
        _table("Variables", ("", ""), list((result.get("variables") or {}).items())),
    ]
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{_text(name)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en>{head}<body>{''.join(body)}</body></html>"


def _table(title: str, columns: tuple[str, ...], rows: Any) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{_text(c.replace('_', ' '))}</th>" for c in columns) if any(columns) else ""
    lines = []
    for row in rows:
        cells = [row.get(c) for c in columns] if isinstance(row, Mapping) else list(row)
        kind = (row.get("severity") or row.get("status") or "") if isinstance(row, Mapping) else ""
        lines.append(f"<tr class='{_text(kind)}'>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>")
    return (f"<h2>{title}</h2>" if title else "") + f"<table>{head and f'<tr>{head}</tr>'}{''.join(lines)}</table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), quote=True)
