"""Measure, then judge: one aggregation for all plain metrics, one pass for each key, one query for each sql rule.

A rule that cannot be measured gets an error of its own; the others still run.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..columns import Columns
from ..custom import CustomRule
from ..document import Rule
from ..errors import Problem, SparquetError, pointer
from ..extension import ValidationResult
from ..faults import translate
from ..result import CheckResult, jsonable
from ..spec import members_of, render
from .metrics import ROWS, Aggregate, Metric, Query, RepeatedRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

log = logging.getLogger("sparquet")

#: Most metrics that are measured inside another job's pass; more of them cost more there than in a pass of their own.
OBSERVABLE = 8


@dataclass
class Plan:
    """Which rule needs which metrics, and what could not be planned."""

    rules: tuple[tuple[str, Rule], ...]
    metrics: dict[str, tuple[Metric, ...]] = field(default_factory=dict)
    errors: dict[str, SparquetError] = field(default_factory=dict)

    def of(self, kind: type) -> list[Any]:
        """The distinct metrics of one kind, in the order of the rules."""
        return list(dict.fromkeys(m for ms in self.metrics.values() for m in ms if isinstance(m, kind)))

    @property
    def only_aggregates(self) -> bool:
        """True when one pass measures everything."""
        return not self.of(RepeatedRows) and not self.of(Query) and not any(isinstance(r, CustomRule) for _, r in self.rules)


def plan_rules(df: DataFrame, rules: Iterable[tuple[str, Rule]]) -> Plan:
    """Ask every rule what it needs; the schema is checked here, before any job."""
    plan = Plan(tuple(rules))
    columns = Columns.of(df)
    for at, rule in plan.rules:
        if isinstance(rule, CustomRule):
            continue
        try:
            plan.metrics[at] = rule.metrics(columns)
        except SparquetError as error:
            plan.errors[at] = error.located(at)
    return plan


def aggregates_of(plan: Plan) -> list[Aggregate]:
    """The aggregates of the shared pass, the number of rows among them."""
    return list(dict.fromkeys([ROWS, *plan.of(Aggregate)]))


def aggregate_columns(metrics: list[Aggregate]) -> list[Any]:
    """The metrics as named columns (``m0``, ``m1`` …) for ``agg`` or ``observe``."""
    from pyspark.sql import functions as F

    return [F.expr(m.expression()).alias(f"m{i}") for i, m in enumerate(metrics)]


def measure(df: DataFrame, plan: Plan, run: Run, measured: Mapping[Metric, Any] | None = None) -> list[CheckResult]:
    """Measure what is not ``measured`` yet and judge every rule."""
    values: dict[Metric, Any] = dict(measured or {})
    failures: dict[Metric, SparquetError] = {}
    missing = [m for m in aggregates_of(plan) if m not in values]
    if missing:
        _aggregate(df, missing, values, failures)
    for metric in [*plan.of(RepeatedRows), *plan.of(Query)]:
        try:
            values[metric] = _repeated_rows(df, metric) if isinstance(metric, RepeatedRows) else _query(df, metric, run)
        except Exception as error:  # noqa: BLE001 - becomes the rule's own error
            failures[metric] = translate(error, "", df.columns)
    return [_judge(df, at, rule, plan, values, failures, run) for at, rule in plan.rules]


def _aggregate(df: DataFrame, metrics: list[Aggregate], values: dict[Metric, Any], failures: dict[Metric, SparquetError]) -> None:
    """One pass for all; when it fails, halves are tried until the culprit stands alone."""
    try:
        row = df.agg(*aggregate_columns(metrics)).collect()[0]
        values.update({m: row[i] for i, m in enumerate(metrics)})
    except Exception as error:  # noqa: BLE001 - becomes the error of the rule that caused it
        if len(metrics) == 1:
            failures[metrics[0]] = translate(error, "", df.columns)
            return
        middle = len(metrics) // 2
        for half in (metrics[:middle], metrics[middle:]):
            _aggregate(df, half, values, failures)


def _repeated_rows(df: DataFrame, metric: RepeatedRows) -> int:
    from pyspark.sql import functions as F

    rows = df.where(metric.filter) if metric.filter else df
    keys = rows.select(*[F.expr(c).alias(f"k{i}") for i, c in enumerate(metric.columns)])
    counts = keys.groupBy(*keys.columns).agg(F.count(F.lit(1)).alias("n"))
    return int(counts.where("n > 1").agg(F.coalesce(F.sum("n"), F.lit(0))).collect()[0][0])


def _query(df: DataFrame, metric: Query, run: Run) -> Any:
    result = run.engine.query(df.where(metric.filter) if metric.filter else df, "_validation_df", metric.sql)
    if metric.counts_rows:
        return int(result.count())
    rows = result.limit(1).collect()
    return rows[0][0] if rows else None


# --- judging -------------------------------------------------------------------------------------------------------
def _judge(df: DataFrame, at: str, rule: Rule, plan: Plan, values: Mapping[Metric, Any], failures: Mapping[Metric, SparquetError], run: Run) -> CheckResult:
    result = CheckResult(
        rule.type,
        False,
        check_name=rule.name,
        code=rule.code or rule.expression(),
        rule_uid=rule_uid(rule),
        dimension=rule.dimension,
        target=rule.target(),
        rule_params=parameters_of(rule),
        rows=values.get(ROWS),
    )
    error = plan.errors.get(at) or next((failures[m] for m in plan.metrics.get(at, ()) if m in failures), None)
    try:
        if error is None and isinstance(rule, CustomRule):
            _run_custom(df, rule, result, run)
        elif error is None:
            verdict = rule.judge(plan.metrics[at], values)
            result.passed, result.message = verdict.passed, verdict.message
            result.failed_count, result.metric_value = verdict.failed_count, verdict.metric_value
            result.severity = "fail" if not verdict.passed else "warn" if verdict.warned else "pass"
    except SparquetError as raised:
        error = raised.located(at)
    if error is not None:
        problem = error.located(at).problems[0]
        result.passed, result.severity = False, "fail"
        result.error, result.message = problem.to_dict(), f"could not run: [{problem.code}] {problem.message}"
    elif not result.passed and rule.error_message:
        result.message = rule.error_message
    return result


def _run_custom(df: DataFrame, rule: CustomRule, result: CheckResult, run: Run) -> None:
    made = rule.make(run)
    frame = df.where(rule.filter) if rule.filter else df
    try:
        found: ValidationResult | CheckResult = made.validate(frame) if hasattr(made, "validate") else made.run(frame)
    except Exception as error:
        raise SparquetError("EXTENSION_FAILED", found=f"{type(made).__name__} ({rule.type})", reason=f"{type(error).__name__}: {error}", cause=error) from error
    result.passed, result.message = bool(found.passed), found.message
    result.failed_count, result.metric_value = int(found.failed_count or 0), found.metric_value
    severity = getattr(found, "severity", "")
    result.severity = severity if severity in ("pass", "warn", "fail") else ("pass" if result.passed else "fail")
    result.check_name = result.check_name or getattr(found, "check_name", None)


def parameters_of(rule: Rule) -> dict[str, Any]:
    """The rule's own keys as they count, without those that hold their default."""
    if isinstance(rule, CustomRule):
        return dict(jsonable(rule.params))
    found = {m.key: getattr(rule, name) for name, m in members_of(type(rule)).items() if name != "output"}
    common = {"name", "code", "error_message", "tags"}
    return {k: jsonable(v) for k, v in found.items() if k not in common and v not in (None, (), {})}


def rule_uid(rule: Rule) -> str:
    """A stable short hash of what is measured, not of the rule's name, code or severity."""
    text = json.dumps([rule.type, parameters_of(rule)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_failed_rows(df: DataFrame, rules: Iterable[tuple[str, Rule]], run: Run, write: Callable[..., Any]) -> None:
    """Write the rows of every ``failed_rows`` query that has an output."""
    for at, rule in rules:
        output, query = getattr(rule, "output", None), getattr(rule, "failed_rows", None)
        if output is None or query is None:
            continue
        write(run.engine.query(df.where(rule.filter) if rule.filter else df, "_validation_df", query), output, at + "/output")


def add_samples(df: DataFrame, plan: Plan, results: list[CheckResult], limit: int) -> None:
    """Put up to ``limit`` failing rows (the target's columns only) into each failed row-level result."""
    columns = Columns.of(df)
    for (_, rule), result in zip(plan.rules, results, strict=True):
        if result.passed or result.error:
            continue
        violation = rule.violation(columns)
        if violation is None:
            continue
        bad = df.where(violation)
        bad = bad.where(rule.filter) if rule.filter else bad
        names = [c.strip() for c in (rule.target() or "").split(",")]
        picked = bad.selectExpr(*[columns.find(n).sql for n in names])
        result.samples = [jsonable(r.asDict(recursive=True)) for r in picked.limit(limit).collect()]


def rendered(rules: Iterable[Rule], at: str, variables: Mapping[str, Any]) -> list[tuple[str, Rule]]:
    """The rules with their places and with runtime variables replaced."""
    return [(at + pointer(i), render(rule, variables)) for i, rule in enumerate(rules)]


def failure(results: list[CheckResult], at: str) -> Problem:
    """The failed rules of a suite as one problem that names them."""
    failed = [r for r in results if r.severity == "fail"]
    names = "; ".join(f"{r.check_name or r.code} ({r.message})" for r in failed)
    return Problem("QUALITY_FAILED", at, {"count": len(failed), "total": len(results), "found": names})
