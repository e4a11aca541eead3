"""A result as a page for people: one file, no script, nothing loaded from elsewhere; for phones and for dark rooms, too."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2733;--soft:#5b6875;--line:#d9dfe5;--paper:#fff;--card:#f5f7f9;--good:#17703c;--bad:#b3261e;--odd:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#e2e8ee;--soft:#9aa7b4;--line:#333d47;--paper:#12171c;--card:#1b2229;--good:#6fcf97;--bad:#ff8a80;--odd:#f2c14e}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1.2rem 1rem 3rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .4rem}p{margin:.3rem 0}small,.soft{color:var(--soft)}small{font-size:.85em}
code{font:.9em ui-monospace,monospace}
.success,.pass,.written{--tone:var(--good)}.failed,.fail,.error{--tone:var(--bad)}.skipped,.warn,.warning,.kept{--tone:var(--odd)}
.badge{display:inline-block;color:var(--tone);border:1px solid;border-radius:1rem;padding:0 .55rem;font-size:.85em;font-weight:600;white-space:nowrap}
.figures{display:flex;flex-wrap:wrap;gap:.6rem;margin:1rem 0}
.figure{flex:0 1 auto;background:var(--card);border-radius:.5rem;padding:.5rem .8rem;min-width:7rem}.figure b{display:block;font-size:1.15rem}
.bar{height:.45rem;background:var(--line);border-radius:1rem;overflow:hidden;min-width:5rem;margin:.35rem 0 .1rem}
.bar i{display:block;height:100%;background:var(--tone,var(--good))}
.problem{border-left:.25rem solid var(--tone);background:var(--card);padding:.5rem .8rem;margin:.5rem 0;border-radius:0 .4rem .4rem 0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);font-size:.85em}
td[data-name=Measured] small{white-space:nowrap}.scroll{overflow-x:auto}details{margin-top:.3rem}summary{cursor:pointer;color:var(--soft)}
@media(max-width:46rem){.figure{flex-grow:1}.cards thead{display:none}.cards,.cards tbody,.cards tr,.cards td{display:block}
.cards tr{background:var(--card);border-left:.25rem solid var(--tone);border-radius:.4rem;padding:.5rem .7rem;margin:.6rem 0}
.cards td{border:0;padding:.15rem 0}.cards td:empty{display:none}.cards td[data-name]:not(:empty)::before{content:attr(data-name) ": ";color:var(--soft)}}
"""

#: Rules whose failed_count is not a number of rows.
_WHOLE_FRAME = frozenset(
    "row_count distinct_count min max avg sum stddev freshness schema quantile completeness reconciliation volume_anomaly".split()
)
_FIGURES = (("Rows read", "rows_read"), ("Rows written", "rows_written"), ("Seconds", "seconds"))
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def page(result: Mapping[str, Any]) -> str:
    """A result document (``result.to_dict()``) as the text of an HTML file."""
    name, status = str(result.get("pipeline_name") or "run"), str(result.get("status"))
    rules: list[Mapping[str, Any]] = result.get("validation_results") or []
    # That rules failed is told by the rules.
    problems = [p for p in result.get("problems") or [] if not rules or p.get("code") != "QUALITY_FAILED"]
    outputs = [*(result.get("outputs") or []), *([result["report"]] if result.get("report") else [])]
    body = [
        f"<h1>{_text(name)}</h1><p><span class='badge {_text(status)}'>{_text(status)}</span> {_text(result.get('reason'))}</p>",
        "" if problems or rules else f"<p>{_text(result.get('error') or result.get('message'))}</p>",
        f"<p><small>{_origin(result)}</small></p>",
        _figures(result, rules),
        *(_problem(p, "error") for p in problems),
        _section("Rules", _rules(rules)),
        _section("Quarantine", _written(result.get("quarantine"))),
        _section("Outputs", _written(outputs)),
        _section("Warnings", "".join(_problem(p, "warning") for p in result.get("warnings") or [])),
        _section("Parameters", _pairs(result.get("params"))),
        _section("Variables", _pairs(result.get("variables"))),
        _section("Steps", _table(("at", "type", "seconds", "note"), result.get("steps"))),
    ]
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'><title>{_text(name)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(body)}</body></html>"


def _origin(result: Mapping[str, Any]) -> str:
    """When, by which run, on what."""
    engine = result.get("engine") or {}
    parts = (str(result.get("started_at") or "")[:19].replace("T", " "), result.get("run_id"), " ".join(map(str, engine.values())))
    return " · ".join(_text(part) for part in parts if part)


def _figures(result: Mapping[str, Any], rules: list[Mapping[str, Any]]) -> str:
    tiles = []
    if isinstance(score := result.get("score"), int | float):
        tone = "pass" if score == 1 else "fail" if any(r.get("severity") == "fail" for r in rules) else "warn"
        tiles.append(f"<div class='figure {tone}'><small>Score</small><b>{score:.0%}</b>{_bar(float(score))}</div>")
    if rules:
        counts = [(sum(r.get("severity") == kind for r in rules), kind) for kind in ("pass", "warn", "fail")]
        words = " ".join(f"<span class='badge {kind}'>{number} {kind}</span>" for number, kind in counts if number)
        tiles.append(f"<div class=figure><small>Rules</small><b>{len(rules)}</b>{words}</div>")
    for title, key in _FIGURES:
        if isinstance(value := result.get(key), int | float):
            tiles.append(f"<div class=figure><small>{title}</small><b>{f'{value:,}' if isinstance(value, int) else f'{value:,.1f}'}</b></div>")
    return f"<div class=figures>{''.join(tiles)}</div>" if tiles else ""


# --- rules ---------------------------------------------------------------------------------------------------------
def _rules(rules: list[Mapping[str, Any]]) -> str:
    if not rules:
        return ""
    worst_first = sorted(rules, key=lambda r: ("fail", "warn", "pass").index(str(r.get("severity"))) if r.get("severity") in ("fail", "warn", "pass") else 3)
    head = "".join(f"<th>{title}</th>" for title in ("", "Rule", "Measured", "Bad rows", "What was found"))
    return f"<table class=cards><thead><tr>{head}</tr></thead><tbody>{''.join(map(_rule, worst_first))}</tbody></table>"


def _rule(rule: Mapping[str, Any]) -> str:
    severity, code, name = str(rule.get("severity")), rule.get("code") or rule.get("rule_type"), rule.get("check_name")
    title = f"<b>{_text(name)}</b><br><code>{_text(code)}</code>" if name and name != code else f"<b><code>{_text(code)}</code></b>"
    about = " · ".join(_text(v) for v in (rule.get("dimension"), *(rule.get("tags") or [])) if v)
    cells = (
        ("", f"<span class='badge {_text(severity)}'>{_text(severity)}</span>"),
        ("", title + (f"<br><small>{about}</small>" if about else "")),
        ("Measured", _measured(rule)),
        ("Bad rows", _bad_rows(rule)),
        ("", _text(rule.get("message")) + _remedy(rule.get("error")) + _samples(rule.get("samples"))),
    )
    return f"<tr class='{_text(severity)}'>{''.join(_cell(name, cell) for name, cell in cells)}</tr>"


def _measured(rule: Mapping[str, Any]) -> str:
    """The metric against its threshold."""
    if rule.get("error"):
        return ""
    kind, value, params = str(rule.get("rule_type")), rule.get("metric_value"), rule.get("rule_params") or {}
    words = [f"<b>{_text(_figure(kind, value))}</b>"] if value is not None else []
    asked = [f"{label} {params[key]}" for key, label in (("must_be", "must be"), ("warn", "warns unless"), ("min", "min"), ("max", "max")) if key in params]
    return "<br>".join([*words, *(f"<small>{_text(a)}</small>" for a in asked)])


def _figure(kind: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if kind == "freshness":
        return _duration(float(value))
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f"{text}\u00a0%" if kind.endswith("_percent") or kind == "completeness" else text


def _duration(seconds: float) -> str:
    """Seconds in the two largest units: ``1d 2h``."""
    left, words = int(abs(seconds)), []
    for size, unit in _UNITS:
        number, left = divmod(left, size)
        if number:
            words.append(f"{number}{unit}")
    return ("-" if seconds < 0 else "") + (" ".join(words[:2]) or "0s")


def _bad_rows(rule: Mapping[str, Any]) -> str:
    failed, rows = rule.get("failed_count"), rule.get("rows")
    whole = rule.get("rule_type") in _WHOLE_FRAME or "query" in (rule.get("rule_params") or {})
    if whole or rule.get("error") or not isinstance(failed, int) or not isinstance(rows, int) or rows <= 0:
        return ""
    share = min(failed / rows, 1.0)
    percent = "0" if not failed else "< 0.1" if share < 0.001 else f"{share * 100:.1f}"
    return f"{failed:,} of {rows:,} <small>({percent}&nbsp;%)</small>{_bar(share)}"


def _bar(share: float) -> str:
    return f"<div class=bar><i style='width:{100 * share:.1f}%'></i></div>"


def _remedy(error: Any) -> str:
    return f"<br><small>{_text(error.get('remedy'))}</small>" if isinstance(error, Mapping) and error.get("remedy") else ""


def _samples(samples: Any) -> str:
    if not samples:
        return ""
    return f"<details><summary>{len(samples)} of the bad rows</summary><div class=scroll>{_table(tuple(samples[0]), samples)}</div></details>"


# --- the rest ------------------------------------------------------------------------------------------------------
def _problem(problem: Mapping[str, Any], kind: str) -> str:
    place = " ".join(_text(v) for v in (problem.get("at") or "/", problem.get("file")) if v)
    return (
        f"<div class='problem {kind}'><b>{_text(problem.get('code'))}</b> <small><code>{place}</code></small>"
        f"<p>{_text(problem.get('message'))}.</p><p class=soft>{_text(problem.get('remedy'))}</p></div>"
    )


def _written(outputs: Any) -> str:
    return _table(("status", "at", "format", "path", "mode", "rows_written", "version", "reason"), outputs)


def _pairs(values: Any) -> str:
    return _table((), list(values.items()) if isinstance(values, Mapping) else None)


def _section(title: str, content: str) -> str:
    return f"<h2>{title}</h2>{content}" if content else ""


def _table(columns: tuple[str, ...], rows: Any) -> str:
    """Rows that are mappings or tuples; columns that no row fills are left out."""
    if not rows:
        return ""
    columns = tuple(c for c in columns if any(not isinstance(r, Mapping) or r.get(c) is not None for r in rows))
    head = "".join(f"<th>{_text(c.replace('_', ' '))}</th>" for c in columns)
    lines = []
    for row in rows:
        cells = [(c, row.get(c)) for c in columns] if isinstance(row, Mapping) else [("", cell) for cell in row]
        kind = _text(row.get("status") or "") if isinstance(row, Mapping) else ""
        shown = "".join(_cell(c.replace("_", " "), _text(cell)) for c, cell in cells)
        lines.append(f"<tr class='{kind}'>{shown}</tr>")
    return f"<table class=cards>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{''.join(lines)}</tbody></table>"


def _cell(name: str, content: str) -> str:
    """A cell that says its name where a phone shows no head."""
    return f"<td data-name='{_text(name)}'>{content}</td>" if name else f"<td>{content}</td>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), quote=True)
