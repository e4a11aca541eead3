"""Check documents made of other documents: a whole pipeline, one part of it, a file of rules. Trees in, trees out; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .errors import is_near_miss
from .prepare.contract import with_target
from .text import plain

#: Keys of a document that say what is written, or what is left to the next run.
_OF_OUTPUTS = ("output", "outputs", "target_table", "catalog", "mode", "merge_keys", "watermark_columns")
#: Keys of ``validations`` that write, or say what is written.
_WRITING = ("report", "outputs", "quarantine", "annotate", "reasons", "annotate_valid", "quarantine_rules")
#: Options that only a writer has; all others are those of the format, for reading too.
_WRITER_OPTIONS = frozenset(
    "merge_keys merge_condition hash_columns hash_exclude effective_from allow_empty_snapshot mergeschema overwriteschema replacewhere "
    "partitionoverwritemode maxrecordsperfile txnappid txnversion usermetadata".split()
)


def kind_of(tree: Any) -> Literal["run", "check"]:
    """What a document is for: ``check`` when it has validations and nothing that is, or is nearly spelled, ``output``."""
    keys = [plain(str(k)) for k in tree] if isinstance(tree, Mapping) else []
    writes = any(key in ("output", "outputs", "target_table") or is_near_miss(key, ("output", "outputs")) for key in keys)
    return "check" if "validations" in keys and not writes else "run"


def as_check(tree: Any) -> Any:
    """A document as a check: its input, its steps, its rules. Of a pipeline nothing is written, neither outputs nor report nor quarantine."""
    if not isinstance(tree, Mapping) or kind_of(tree) == "check":
        return tree
    named = with_target(tree)
    kept = {k: v for k, v in named.items() if plain(str(k)) not in _OF_OUTPUTS}
    return {k: _without_writing(v) if k == "validations" else v for k, v in kept.items()}


def validations_of(tree: Any) -> Any:
    """The ``validations`` block that a file of rules stands for.

    It holds a list of rules, an object with ``rules``, such a block, or a document with one; a pipeline's own
    destinations (report, quarantine) stay its own.
    """
    if not isinstance(tree, Mapping):
        return {"rules": tree}
    if "validations" in tree:
        return as_check(tree)["validations"]
    return tree


def parts_of(tree: Any) -> list[str]:
    """The parts of a pipeline that :func:`source_of` can give: ``input``, and ``output`` or ``outputs/0``, ``outputs/1`` …"""
    tree = with_target(tree)
    if not isinstance(tree, Mapping):
        return []
    found = ["input"] if "input" in tree or "source" in tree else []
    outputs = tree.get("outputs")
    if isinstance(outputs, list) and outputs:  # a single output beside them does not count
        return found + [f"outputs/{i}" for i in range(len(outputs))]
    return found + (["output"] if "output" in tree else [])


def source_of(tree: Mapping[str, Any], part: str) -> Any:
    """One of :func:`parts_of` as an input block; an output is read back from where it was written."""
    if part == "input":
        return tree.get("input", tree.get("source"))
    tree = with_target(tree)
    key, _, number = part.partition("/")
    return _read_back(tree[key][int(number)] if number else tree[key])


def _read_back(output: Any) -> Any:
    """An output block as the input block that reads what was written."""
    if not isinstance(output, Mapping):
        return output
    source = {key: output[key] for key in ("format", "path") if key in output}
    options = output.get("options")
    if isinstance(options, Mapping):
        options = {k: v for k, v in options.items() if plain(str(k)).casefold() not in _WRITER_OPTIONS}
    return {**source, "options": options} if options else source


def _without_writing(validations: Any) -> Any:
    if not isinstance(validations, Mapping):
        return validations
    kept = {k: v for k, v in validations.items() if k not in _WRITING}
    rules, report = validations.get("rules"), validations.get("report")
    return {**kept, "rules": [_reading_only(rule, report) for rule in rules]} if isinstance(rules, list) else kept


def _reading_only(rule: Any, report: Any) -> Any:
    """A rule that writes nothing; one that looks back still finds earlier results where the report would go."""
    if not isinstance(rule, Mapping):
        return rule
    kind = plain(str(rule.get("type"))).casefold()
    if kind == "sql":
        return {k: v for k, v in rule.items() if k != "output"}
    if kind == "volume_anomaly" and "history" not in rule and isinstance(report, Mapping):
        return {**rule, "history": _read_back(report)}
    return rule
