"""The options of a block: Spark reads their names without case, and so do we."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..document import Output, Source
from ..errors import Problem, nearest

if TYPE_CHECKING:
    from ..context import Run

#: Options of ours; the writer never sees them.
OWN = ("merge_keys", "merge_condition", "hash_columns", "hash_exclude", "effective_from", "allow_empty_snapshot", "scope", "comments")


def option(options: Mapping[str, Any], name: str) -> Any:
    """The value of an option, whatever the case of its name; None when it is not there."""
    return next((v for k, v in options.items() if k.casefold() == name.casefold()), None)


def is_true(options: Mapping[str, Any], name: str) -> bool:
    """True for ``true`` as text or as a boolean."""
    return str(option(options, name)).casefold() == "true"


def names_in(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The column names of an option: a list, or a text with commas; empty when it is not there."""
    value = option(options, name)
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return tuple(value) if isinstance(value, list | tuple) else ()


def without(options: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The options without those."""
    left_out = {n.casefold() for n in names}
    return {k: v for k, v in options.items() if k.casefold() not in left_out}


def texts(defaults: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """The defaults and the options on top, as the texts that Spark takes."""
    kept = without(defaults, options)
    return {k: _text(v) for k, v in {**kept, **without(options, OWN)}.items() if v is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def is_dynamic(output: Output, run: Run) -> bool:
    """True when an overwrite replaces only the partitions that the frame holds."""
    name = "partitionOverwriteMode"
    asked = option(output.options, name) or run.spark.conf.get(f"spark.sql.sources.{name}", "static")
    return output.canonical_mode == "overwrite" and str(asked).casefold() == "dynamic"


def check_partial(output: Output, at: str) -> Iterator[Problem]:
    """Options that replace a part of the data, where they would do nothing or exclude each other."""
    place = at + "/options"
    dynamic, where = option(output.options, "partitionOverwriteMode"), option(output.options, "replaceWhere")
    if dynamic is not None and str(dynamic).casefold() not in ("static", "dynamic"):
        facts = {"found": dynamic, "expected": ["static", "dynamic"], "nearest": nearest(str(dynamic), ["static", "dynamic"])}
        yield Problem("WRONG_CHOICE", place + "/partitionOverwriteMode", facts)
    if where is not None and str(dynamic).casefold() == "dynamic":
        facts = {"found": "replaceWhere and partitionOverwriteMode=dynamic", "reason": "each says in its own way what is replaced"}
        yield Problem("KEYS_EXCLUDE", place, facts)
    for name, value in (("replaceWhere", where), ("partitionOverwriteMode", dynamic)):
        if value is not None and output.canonical_mode != "overwrite":
            yield does_nothing(f"{place}/{name}", name, f"in mode {output.mode}", "use mode overwrite")


def does_nothing(at: str, name: str, where: str, remedy: str) -> Problem:
    """A warning about a key without effect."""
    return Problem("INVALID_COMBINATION", at, {"reason": f"{name} does nothing {where}", "remedy": f"Remove it, or {remedy}."}, "warning")


def check_path(block: Source | Output, at: str, kind: str) -> Iterator[Problem]:
    """A path that is not there."""
    if block.path is None:
        yield Problem("MISSING_KEY", at, {"expected": "path", "nearest": "", "hint": f", {kind}"})
    elif isinstance(block, Output) and not block.path.strip():
        yield Problem("EMPTY_VALUE", at + "/path", {"expected": kind, "hint": ""})


def check_scope(source: Source, at: str) -> Iterator[Problem]:
    """``scope`` on a source that is no view."""
    if source.scope != "session":
        yield does_nothing(at + "/scope", "scope", f"for the format {source.format}", "use the format view")
