"""From a result document to XComs and the task's state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import Problem
from ..hooks.compat import AirflowException, AirflowFailException, AirflowSkipException
from .links import XCOM_KEY

Document = dict[str, Any]

#: XCom keys that no variable can take.
RESERVED = ("return_value", "failed_rules", "warned_rules", "watermark", XCOM_KEY)


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


def _rules_without(*keys: str) -> Callable[[Document], Document]:
    return lambda d: {**d, "validation_results": [{k: v for k, v in rule.items() if k not in keys} for rule in d.get("validation_results", [])]}


def _outputs_without(key: str) -> Callable[[Document], Document]:
    return lambda d: {k: [_without(key)(o) for o in v] if k in ("outputs", "quarantine") else v for k, v in d.items()}


def _without(*keys: str) -> Callable[[Document], Document]:
    return lambda d: {k: v for k, v in d.items() if k not in keys}


def _shortened(document: Document) -> Document:
    return {k: v[:1000] + "…" if isinstance(v, str) and len(v) > 1000 else v for k, v in document.items()}


# What is left out first is what a later task needs least.
_CUTS: tuple[tuple[str, Callable[[Document], Document]], ...] = (
    ("columns of outputs", _outputs_without("columns")),
    ("samples of rules", _rules_without("samples")),
    ("variables", _without("variables")),
    ("steps", _without("steps")),
    ("parameters of rules", _rules_without("rule_params", "rule_uid", "metric_value")),
    ("details of outputs", _outputs_without("details")),
    ("params, warnings and problems", _without("params", "warnings", "problems", "unknown")),
    ("rules that passed", lambda d: {**d, "validation_results": [r for r in d.get("validation_results", []) if not r.get("passed")]}),
    ("rules and outputs", _without("validation_results", "outputs", "report", "quarantine", "engine")),
    ("long texts", _shortened),
)


def compact(result: Document, limit: int) -> tuple[Document, list[str]]:
    """The result within ``limit`` bytes of JSON as far as that goes, and what had to be left out."""
    dropped: list[str] = []
    for name, cut in _CUTS:
        if _size(result) <= limit:
            break
        smaller = cut(result)
        if smaller != result:
            result, dropped = smaller, [*dropped, name]
    return result, dropped


def push(ti: Any, result: Document, limit: int, place: str | None) -> tuple[Document, list[Problem]]:
    """Push every collected variable as its own XCom; returns the document for ``return_value``, and warnings.

    The names of failed and of warned rules are two more, ``failed_rules`` and ``warned_rules``, where there are rules;
    ``watermark`` is the mark for the next run, where the document has ``watermark_columns``.
    Nothing here fails the task: the data is written already.

    Args:
        ti: the task instance.
        result: the result document.
        limit: bytes of JSON for each XCom.
        place: where the full result is kept, if it is.
    """
    left_out: list[str] = []
    for name, value in (result.get("variables") or {}).items():
        if name in RESERVED or _size(value) > limit:
            left_out.append(f"the variable {name}")
        else:
            ti.xcom_push(key=name, value=value)
    if result.get("watermark"):
        ti.xcom_push(key="watermark", value=result["watermark"])
    if result.get("validation_results"):
        for key, severity in (("failed_rules", "fail"), ("warned_rules", "warn")):
            ti.xcom_push(key=key, value=[name_of(r) for r in rules_of(result, severity)])
    small, dropped = compact(result, limit)
    left_out += dropped
    warnings = []
    if left_out:
        facts = {"expected": limit, "found": ", ".join(left_out), "place": place or "no place now: set result_dir to keep it"}
        warnings.append(Problem("RESULT_TRIMMED", "", facts, "warning"))
        small = {**small, "warnings": [*small.get("warnings", []), warnings[0].to_dict()]}
    return small, warnings


def rules_of(result: Mapping[str, Any], severity: str) -> list[dict[str, Any]]:
    """The results of the rules that ended with a severity (pass, warn, fail)."""
    return [r for r in result.get("validation_results") or [] if r.get("severity") == severity]


def name_of(rule: Mapping[str, Any]) -> str:
    """A rule's name, otherwise its code."""
    return str(rule.get("check_name") or rule.get("code") or rule.get("rule_type"))


def failed_rules(result: Mapping[str, Any]) -> list[str]:
    """The rules that failed, each as ``name: message``."""
    return [f"{name_of(r)}: {r.get('message')}" for r in rules_of(result, "fail")]


def error_of(result: Mapping[str, Any], *, retry_on_quality_failure: bool = False) -> Exception | None:
    """The exception that a result deserves; None when the task succeeds.

    Skipped, never tried again (quality, document, data, internal faults) or worth another try (infrastructure).
    """
    status, reason = result.get("status"), result.get("reason")
    if status == "success":
        return None
    name = result.get("pipeline_name")
    if status == "skipped":
        return AirflowSkipException(str(result.get("message") or f"{name}: nothing to do"))
    lines = [f"{name}: {result.get('error') or result.get('message') or reason}"]
    if reason == "quality":
        lines += [f"- {rule}" for rule in failed_rules(result)]
    written = [o for o in result.get("outputs") or [] if o.get("status") == "written"]
    if written:
        lines.append("Written before: " + ", ".join(f"{o.get('format')} {o.get('path')} ({o.get('rows_written')} rows)" for o in written))
    retry = reason == "infrastructure" or (reason == "quality" and (retry_on_quality_failure or _lost(result)))
    return (AirflowException if retry else AirflowFailException)("\n".join(lines))


def _lost(result: Mapping[str, Any]) -> bool:
    """True when no rule was broken by the data: those that failed could not run, and the infrastructure is to blame."""
    failed = rules_of(result, "fail")
    return bool(failed) and all((r.get("error") or {}).get("category") == "infrastructure" for r in failed)
