"""How a document will run, decided before Spark starts: what is computed once, which pass measures which rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .connections import Connections
from .document import Check, Output, Pipeline, Rule, Source, Step, Validations, walk
from .errors import pointer
from .packages import packages_of
from .quality.engine import OBSERVABLE, code_of, placed
from .quality.keys import DENSE_ROWS


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
    rules = [rule for _, rule in placed(validations.rules, "")]
    if alone := next((r.type for r in rules if r.measured_in not in ("pass", "schema")), None):
        return False, f"the rule {alone} needs a job of its own"
    if len(rules) > OBSERVABLE:
        return False, f"more than {OBSERVABLE} rules cost less in a pass of their own"
    if validations.sample_rows:
        return False, "failing rows are asked for"
    if validations.quarantine:
        return False, "the outputs get valid rows only, the rules see all"
    _, first = document.destinations[0]
    if first.transformations:
        return False, "the first output has transformations of its own"
    if first.canonical_mode not in ("overwrite", "append", "error", "replace_partitions"):
        return False, f"mode {first.mode} does not read every row once"
    if _reduced_after(document.transformations) is None:
        return False, "no step groups or deduplicates the rows: a pass over pruned columns costs less"
    return True, "few metrics on a reduced frame: they ride on the first write"


def _keep(document: Pipeline | Check, with_write: bool) -> tuple[bool, str]:
    jobs = len(document.destinations)
    if document.validations and document.validations.rules and not with_write:
        jobs += 1
    if document.validations and document.validations.outputs:
        jobs += len(document.validations.outputs.sides)
    if jobs < 2:
        return False, "one job uses the frame"
    reduced = _reduced_after(document.transformations)
    if reduced is None:
        why = "no step groups or deduplicates the rows, so keeping it would cost more (add a checkpoint to decide otherwise)"
        return False, f"{jobs} jobs compute the frame anew: {why}"
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
    if document.validations is not None:
        for at, rule in placed(document.validations.rules, "/validations/rules"):
            for key, source in rule.sources():
                yield at + pointer(key), source


def explain(document: Pipeline | Check, connections: Connections | None = None) -> list[str]:
    """The plan in words: what is read once, what each pass measures, what is written where, which packages that takes."""
    decided = plan(document)
    lines = [f"{'check' if isinstance(document, Check) else 'pipeline'} {document.name}", "read"]
    lines += [f"  {at}: {describe_source(source)}" for at, source in sources_of(document)]
    if about := list(_about(document)):
        lines[1:1] = ["about", *about]
    if operations := document.preparation():
        lines.append(f"prepare ({_counted(len(operations), 'operation')}, in this order)")
        lines += [f"  {i + 1}. {operation.label}" for i, operation in enumerate(operations)]
    if document.transformations:
        lines.append(f"transform ({_counted(len(document.transformations), 'step')}, lazily; * runs a job)")
        lines += [
            f"  {i + 1}. {'* ' if step.type in ('collect', 'stop_if_empty', 'checkpoint', 'debug') else ''}{step.type}"
            for i, step in enumerate(document.transformations)
        ]
    lines.append(f"  keep the frame: {'yes' if decided.keep else 'no'} ({decided.keep_reason})")
    if document.validations is not None:
        lines += _explain_validations(document.validations, decided)
    if document.destinations:
        lines.append("write" + (" (valid rows only)" if document.validations and document.validations.quarantine else ""))
        lines += [f"  {at}: {describe_output(output)}" for at, output in document.destinations]
    if document.validations is not None and document.validations.report is not None:
        lines.append(f"  /validations/report: {describe_output(document.validations.report)}, one row per rule, in every mode")
    packages = list(_packages(document, connections or Connections()))
    return [*lines, "packages", *packages] if packages else lines


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _packages(document: Pipeline | Check, connections: Connections) -> Iterator[str]:
    blocks: list[tuple[str, Source | Output]] = [*sources_of(document), *document.destinations]
    blocks += document.validations.destinations if document.validations is not None else ()
    for at, block in blocks:
        kind = connections.kind(block.connection) if block.connection else None
        packages = packages_of(block.format, block.options, kind)
        if packages:
            yield f"  {at}: {', '.join(packages)}"
        elif block.connection and block.format == "jdbc":
            yield f"  {at}: the driver of the connection {block.connection}"


def _about(document: Pipeline | Check) -> Iterator[str]:
    """What the document says of its table: descriptions, and who runs it."""
    notes = document.annotations
    if notes is not None:
        if notes.table_comment:
            yield f"  {notes.table_comment}"
        yield from (f"  {name}: {text}" for name, text in notes.comments.items())
    yield from (f"  {key}: {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}" for key, value in document.operations.items())


def _explain_validations(validations: Validations, decided: Plan) -> Iterator[str]:
    rules = [rule for _, rule in placed(validations.rules, "")]
    yield f"measure ({_counted(len(rules), 'rule')}, on_failure {validations.on_failure})"
    yield from (f"  {line}" for line in explain_rules(rules, decided))
    if validations.outputs is not None:
        together, why = sides_together(validations)
        yield f"split by the row-level rules, {'both sides in one write' if together else 'one write a side'} ({why})"
        yield from (f"  /validations/outputs/{key}: {describe_output(side)}" for key, side in validations.outputs.sides)


#: Where rules are measured, in words.
_PLACES = {
    "keys": f"in the pass over the keys (from {DENSE_ROWS:,} rows on, whole numbers that lie close together have one of their own)",
    "query": "by a query of its own",
    "source": "with another source",
    "schema": "by the schema alone, no job",
    "code": "by code of your own",
}


def explain_rules(rules: Iterable[Rule], decided: Plan | None = None) -> Iterator[str]:
    """Which rule is measured in which pass, in words."""
    groups: dict[str, list[str]] = {}
    for rule in rules:
        groups.setdefault(rule.measured_in, []).append(code_of(rule))
    for kind in ("schema", "pass", "keys", "query", "source", "code"):
        if kind not in groups:
            continue
        if kind == "pass":
            with_write = decided is not None and decided.with_write
            reason = f" ({decided.with_write_reason})" if decided is not None else ""
            yield f"{'in the job of the first write' if with_write else 'in one pass over the rows'}{reason}:"
        else:
            yield f"{_PLACES[kind]}:"
        yield from (f"  {code}" for code in groups[kind])


def sides_together(validations: Validations) -> tuple[bool, str]:
    """Whether valid and invalid rows may be written in one job, and why (not)."""
    sides = validations.outputs
    if sides is None or sides.valid is None or sides.invalid is None:
        return False, "there is one side"
    valid, invalid = sides.valid, sides.invalid
    if (validations.annotate or validations.reasons) and not validations.annotate_valid:
        return False, "only the invalid side has the columns of annotate and reasons; annotate_valid would allow one write"
    if (valid.format, valid.options) != (invalid.format, invalid.options):
        return False, "the sides differ in format or options"
    if any(s.canonical_mode != "overwrite" or s.partition_by or s.columns or s.transformations for s in (valid, invalid)):
        return False, "one write needs mode overwrite, and no columns, partitions or transformations of a side's own"
    return True, "where the format is one of files and renames are cheap"


def describe_source(source: Source) -> str:
    """A source in a few words, without its options (they may hold secrets)."""
    by = f" (connection {source.connection})" if source.connection else ""
    return f"{source.format} {', '.join(source.paths)}".rstrip() + by


def describe_output(output: Output) -> str:
    """A destination in a few words, without its options."""
    by = f", connection {output.connection}" if output.connection else ""
    by += f", partitioned by {', '.join(output.partition_by)}" if output.partition_by else ""
    steps = f", after {_counted(len(output.transformations), 'step')} of its own" if output.transformations else ""
    return f"{output.format} {output.path or ''} ({output.mode}){by}{steps}"
