"""Measure, then judge: one aggregation for all plain metrics, one pass for all keys, one job for what needs its own.

A rule that cannot be measured gets an error of its own; the others still run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..columns import Columns, addressable
from ..custom import CustomRule
from ..document import Rule
from ..errors import Problem, SparquetError, pointer
from ..extension import ValidationResult
from ..faults import translate
from ..result import CheckResult, jsonable
from ..secrets import mask
from ..spec import render
from . import sources
from .keys import bounds, measure_keys
from .metrics import ROWS, Aggregate, Clock, Elsewhere, History, Keys, Known, Metric, Partnerless, Query, count_if

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

log = logging.getLogger("sparquet")

#: Most metrics that are measured inside another job's pass; more of them cost more there than in a pass of their own.
OBSERVABLE = 8

Failures = dict[Metric, SparquetError]


@dataclass
class Plan:
    """Which rule needs which metrics of which frame, and what could not be planned."""

    frame: DataFrame
    columns: Columns
    rules: tuple[tuple[str, Rule], ...]
    metrics: dict[str, tuple[Metric, ...]] = field(default_factory=dict)
    errors: dict[str, SparquetError] = field(default_factory=dict)

    def of(self, *kinds: type) -> list[Any]:
        """The distinct metrics of some kinds, in the order of the rules."""
        return list(dict.fromkeys(m for ms in self.metrics.values() for m in ms if isinstance(m, kinds)))

    @property
    def only_aggregates(self) -> bool:
        """True when one pass measures everything."""
        return not any(isinstance(r, CustomRule) for _, r in self.rules) and not self.of(Keys, Query, Partnerless, Elsewhere, History)


def placed(rules: Iterable[Rule], at: str) -> list[tuple[str, Rule]]:
    """The rules with their places; an entry with ``targets`` stands for several."""
    return [(at + pointer(i) + inside, rule) for i, entry in enumerate(rules) for inside, rule in entry.expanded()]


def rendered(rules: Iterable[Rule], at: str, variables: Mapping[str, Any]) -> list[tuple[str, Rule]]:
    """The rules with their places and with runtime variables replaced."""
    return [(place, render(rule, variables)) for place, rule in placed(rules, at)]


def plan_rules(df: DataFrame, rules: Iterable[tuple[str, Rule]]) -> Plan:
    """Ask every rule what it needs; the schema is checked here, before any job."""
    plan = Plan(*addressable(df), tuple(rules))
    for at, rule in plan.rules:
        if isinstance(rule, CustomRule):
            continue
        try:
            plan.metrics[at] = rule.metrics(plan.columns)
        except SparquetError as error:
            plan.errors[at] = error.below(at)
    return plan


def aggregates_of(plan: Plan) -> list[Aggregate]:
    """The aggregates of the shared pass, the number of rows among them."""
    return list(dict.fromkeys([ROWS, *plan.of(Aggregate)]))


def aggregate_columns(metrics: list[Aggregate]) -> list[Any]:
    """The metrics as named columns (``m0``, ``m1`` …) for ``agg`` or ``observe``."""
    from pyspark.sql import functions as F

    return [F.expr(f"{m.expression()} AS m{i}") for i, m in enumerate(metrics)]


def told_by_codes(plan: Plan) -> dict[str, Metric]:
    """Code to metric when the codes of the broken rules, one list a bad row, tell all that the rules need; empty when they do not."""
    found: dict[str, Metric] = {}
    for at, rule in plan.rules:
        first, *others = plan.metrics.get(at) or (None,)
        violation = rule.violation(plan.columns) if rule.blames_rows and at not in plan.errors else None
        if violation is None or first != count_if(violation, rule.filter) or any(m != ROWS for m in others) or code_of(rule) in found:
            return {}
        found[code_of(rule)] = first
    return found


def measure(df: DataFrame, plan: Plan, run: Run, measured: Mapping[Metric, Any] | None = None) -> list[CheckResult]:
    """Measure what is not ``measured`` yet and judge every rule; ``df`` is the frame that custom checks see."""
    frame = plan.frame
    values: dict[Metric, Any] = dict(measured or {})
    failures: Failures = {}
    values.update({m: m.value for m in plan.of(Known)})
    missing = [m for m in aggregates_of(plan) if m not in values]
    if missing:
        missing = list(dict.fromkeys([*missing, *(m for key in plan.of(Keys) for m in bounds(key) if m not in values)]))
        _aggregate(frame, missing, run, values, failures)
    if keys := plan.of(Keys):
        exact = {m for at, rule in plan.rules for m in plan.metrics.get(at, ()) if isinstance(m, Keys) and getattr(rule, "exact", False)}
        _together_or_alone(lambda some: measure_keys(frame, some, run, values, exact), keys, frame, values, failures)
    for metric in plan.of(Clock, Query, Partnerless, Elsewhere, History):
        try:
            values[metric] = sources.MEASURES[type(metric)](frame, metric, run.placed(""))
        except Exception as error:  # noqa: BLE001 - becomes the rule's own error
            failures[metric] = translate(error, "", df.columns)
    return [_judge(df, at, rule, plan, values, failures, run) for at, rule in plan.rules]


def _aggregate(df: DataFrame, metrics: list[Aggregate], run: Run, values: dict[Metric, Any], failures: Failures) -> None:
    """One pass for all."""

    def measured(some: list[Aggregate]) -> dict[Metric, Any]:
        # By default Spark generates no code for more than 100 columns.
        with run.engine.setting("spark.sql.codegen.wholeStage.maxFields", str(max(100, 2 * len(some)))):
            row = df.agg(*aggregate_columns(some)).collect()[0]
        return {m: row[i] for i, m in enumerate(some)}

    _together_or_alone(measured, metrics, df, values, failures)


def _together_or_alone(
    measured: Callable[[list[Any]], Mapping[Metric, Any]], metrics: list[Any], df: DataFrame, values: dict[Metric, Any], failures: Failures
) -> None:
    """Measure metrics in one job; when it fails, halves are tried until the culprit stands alone."""
    try:
        values.update(measured(metrics))
    except Exception as error:  # noqa: BLE001 - becomes the error of the rule that caused it
        if len(metrics) == 1:
            failures[metrics[0]] = translate(error, "", df.columns)
            return
        middle = len(metrics) // 2
        for half in (metrics[:middle], metrics[middle:]):
            _together_or_alone(measured, half, df, values, failures)


# --- judging -------------------------------------------------------------------------------------------------------
def _judge(df: DataFrame, at: str, rule: Rule, plan: Plan, values: Mapping[Metric, Any], failures: Failures, run: Run) -> CheckResult:
    result = CheckResult(
        rule.type,
        False,
        check_name=rule.name,
        code=code_of(rule),
        rule_uid=rule.uid(),
        dimension=rule.dimension,
        target=rule.target(),
        rule_params=mask(rule.parameters()),
        rows=values.get(ROWS),
        tags=list(rule.tags),
        weight=rule.weight,
        previous_name=rule.previous_name,
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
        error = raised
    except Exception as raised:  # noqa: BLE001 - one rule must not take the others with it
        error = translate(raised, "", df.columns)
    if error is not None:
        problem = error.below(at).problems[0]
        result.passed, result.severity = False, "fail"
        result.error, result.message = problem.to_dict(), f"could not run: [{problem.code}] {problem.message}"
    elif not result.passed and rule.error_message:
        result.message = rule.error_message
    return result


def code_of(rule: Rule) -> str:
    """The rule's code: its own, or the compact expression."""
    return rule.code or rule.expression()


def score(results: Iterable[CheckResult]) -> float | None:
    """The share of rules that passed, by their weights; None without rules."""
    weights = [(r.weight, r.passed) for r in results]
    total = sum(weight for weight, _ in weights)
    return round(sum(weight for weight, passed in weights if passed) / total, 4) if total else None


def _run_custom(df: DataFrame, rule: CustomRule, result: CheckResult, run: Run) -> None:
    frame = df.where(rule.filter) if rule.filter else df
    try:
        made = rule.make(run)
        found: ValidationResult | CheckResult = made.validate(frame) if hasattr(made, "validate") else made.run(frame)
        result.passed, result.message = bool(found.passed), str(found.message)
        result.failed_count, result.metric_value = int(found.failed_count or 0), found.metric_value
    except Exception as error:
        raise extension_fault(error, rule) from error
    severity = getattr(found, "severity", "")
    result.severity = severity if severity in ("pass", "warn", "fail") else ("pass" if result.passed else "fail")
    result.check_name = result.check_name or getattr(found, "check_name", None)


def that_ran(plan: Plan, results: Iterable[CheckResult]) -> list[tuple[str, Rule]]:
    """The rules that could be measured, with their places."""
    return [entry for entry, result in zip(plan.rules, results, strict=True) if not result.error]


def extension_fault(error: Exception, rule: CustomRule) -> SparquetError:
    """What went wrong in code of the user; what Spark says is told without values of the data."""
    from pyspark.errors import PySparkException

    reason = translate(error).problems[0].message if isinstance(error, PySparkException) else f"{type(error).__name__}: {error}"
    return SparquetError("EXTENSION_FAILED", found=f"{rule.implementation.__name__} ({rule.type})", reason=reason, cause=error)


def write_failed_rows(df: DataFrame, rules: Iterable[tuple[str, Rule]], run: Run, write: Callable[..., Any]) -> None:
    """Write the rows of every ``failed_rows`` query that has an output."""
    for at, rule in rules:
        output, query = getattr(rule, "output", None), getattr(rule, "failed_rows", None)
        if output is None or query is None:
            continue
        write(run.engine.query(df.where(rule.filter) if rule.filter else df, "_validation_df", query), output, at + "/output")


def add_samples(plan: Plan, results: list[CheckResult], limit: int) -> None:
    """Put up to ``limit`` failing rows (the target's columns only) into each failed row-level result."""
    from pyspark.sql import functions as F

    columns = plan.columns
    for (_, rule), result in zip(plan.rules, results, strict=True):
        if not result.failed_count or result.error:
            continue
        violation = rule.violation(columns)
        if violation is None:
            continue
        bad = plan.frame.where(violation)
        bad = bad.where(rule.filter) if rule.filter else bad
        picked = bad.select(*[F.expr(columns.find(n).sql).alias(n) for n in rule.shown()])
        result.samples = [jsonable(r.asDict(recursive=True)) for r in picked.limit(limit).collect()]


def failure(results: list[CheckResult], at: str) -> Problem:
    """The failed rules of a suite as one problem that names them."""
    failed = [r for r in results if r.severity == "fail"]
    names = "; ".join(f"{r.check_name or r.code} ({r.message})" for r in failed)
    return Problem("QUALITY_FAILED", at, {"count": len(failed), "total": len(results), "found": names})
