"""How a document will run, decided before Spark starts: what is computed once, which pass measures which rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .document import Check, Output, Pipeline, Rule, Source, Step, walk
from .errors import pointer
from .quality.engine import OBSERVABLE


@dataclass(frozen=True)
class Plan:
    """The decisions, each with its reason in words.

    ``with_write``: the rules are measured in the job of the first write. ``keep``: the final frame is kept in memory,
    since several jobs use it and it is small.
    """

    with_write: bool
    with_write_reason: str
    keep: bool
    keep_reason: str


def plan(document: Pipeline | Check) -> Plan:
    """Decide how the rules are measured and whether the final frame is kept."""
    shared, reason = _with_write(document)
    keep, keep_reason = _keep(document, shared)
    return Plan(shared, reason, keep, keep_reason)


def _with_write(document: Pipeline | Check) -> tuple[bool, str]:
    validations = document.validations
    if validations is None or not validations.rules:
        return False, "there are no rules"
    if validations.on_failure == "fail":
        return False, "on_failure is fail: nothing may be written before the verdict"
    if not document.destinations:
        return False, "nothing is written"
    if alone := next((r.type for r in validations.rules if not r.shares_pass), None):
        return False, f"the rule {alone} needs a job of its own"
    if len(validations.rules) > OBSERVABLE:
        return False, f"more than {OBSERVABLE} rules cost less in a pass of their own"
    if validations.sample_rows:
        return False, "failing rows are asked for"
    _, first = document.destinations[0]
    if first.transformations:
        return False, "the first output has transformations of its own"
    if first.canonical_mode not in ("overwrite", "append", "error"):
        return False, f"mode {first.mode} does not read every row once"
    if _reduced_after(document.transformations) is None:
        return False, "no step reduces the rows: a pass over pruned columns costs less"
    return True, "few metrics on a reduced frame: they ride on the first write"


def _keep(document: Pipeline | Check, with_write: bool) -> tuple[bool, str]:
    jobs = len(document.destinations)
    if document.validations and document.validations.rules and not with_write:
        jobs += 1
    if jobs < 2:
        return False, "one job uses the frame"
    reduced = _reduced_after(document.transformations)
    if reduced is None:
        return False, f"{jobs} jobs compute the frame anew: no step reduces the rows, so keeping it would cost more (add a checkpoint to decide otherwise)"
    return True, f"{jobs} jobs use the frame, and {reduced} made it small"


def _reduced_after(steps: tuple[Step, ...]) -> str | None:
    """The type of the last step that reduces rows, when nothing after it multiplies or materialises them."""
    for step in reversed(steps):
        if step.reduces:
            return step.type
        if (
            not step.passes_through
            and step.type not in ("with_column", "select", "filter", "rename", "drop", "cast", "fill_na", "sort", "struct")
            or step.type == "checkpoint"
        ):
            return None
    return None


def sources_of(document: Pipeline | Check) -> Iterator[tuple[str, Source]]:
    """Every source that the document reads, with its place."""
    yield "/input", document.input
    chains = [("/transformations", document.transformations)]
    chains += [(at + "/transformations", o.transformations) for at, o in document.destinations]
    for at, chain in chains:
        for place, step in walk(chain, at):
            for key, source in step.sources():
                yield place + pointer(key), source


def explain(document: Pipeline | Check) -> list[str]:
    """The plan in words: what is read once, what each pass measures, what is written where."""
    decided = plan(document)
    lines = [f"pipeline {document.name}", "read"]
    lines += [f"  {at}: {describe_source(source)}" for at, source in sources_of(document)]
    if document.transformations:
        lines.append(f"transform ({len(document.transformations)} steps, lazily; * runs a job)")
        lines += [
            f"  {i + 1}. {'* ' if step.type in ('collect', 'stop_if_empty', 'checkpoint', 'debug') else ''}{step.type}"
            for i, step in enumerate(document.transformations)
        ]
    lines.append(f"  keep the frame: {'yes' if decided.keep else 'no'} ({decided.keep_reason})")
    if document.validations is not None:
        lines += _explain_rules(document.validations.rules, decided, document.validations.on_failure)
    if document.destinations:
        lines.append("write")
        lines += [f"  {at}: {describe_output(output)}" for at, output in document.destinations]
    if document.validations is not None and document.validations.report is not None:
        lines.append(f"  /validations/report: {describe_output(document.validations.report)}, one row per rule, in every mode")
    return lines


def _explain_rules(rules: tuple[Rule, ...], decided: Plan, on_failure: str) -> Iterator[str]:
    yield f"measure ({len(rules)} rules, on_failure {on_failure})"
    plain = [r for r in rules if r.shares_pass]
    if plain:
        where = "in the job of the first write" if decided.with_write else "in one pass before any write"
        yield f"  {where} ({decided.with_write_reason}):"
        yield from (f"    {r.code or r.expression()}" for r in plain)
    for rule in rules:
        if not rule.shares_pass:
            yield f"  in a job of its own: {rule.code or rule.expression()}"


def describe_source(source: Source) -> str:
    """A source in a few words, without its options (they may hold secrets)."""
    return f"{source.format} {', '.join(source.paths)}".rstrip()


def describe_output(output: Output) -> str:
    """A destination in a few words, without its options."""
    by = f", partitioned by {', '.join(output.partition_by)}" if output.partition_by else ""
    steps = f", after {len(output.transformations)} steps of its own" if output.transformations else ""
    return f"{output.format} {output.path or ''} ({output.mode}){by}{steps}"
