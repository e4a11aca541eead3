"""The write modes of tables: which there are, which options they take, and what is wrong with an output. No Spark.

| mode | what it writes |
|---|---|
| append, overwrite, ignore, error | as the word says |
| replace_partitions | exactly the partitions that the frame holds rows of |
| merge, also called upsert | every row, matched by ``merge_keys`` |
| hash_diff_upsert | of those only the rows that differ from the table's (:mod:`keyed`) |
| snapshot_soft_delete | the same, and a mark on the rows that are gone (:mod:`keyed`) |
| historical | a new version of every row that differs (:mod:`history`) |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..document import Output
from ..errors import Problem
from ..spec import shown
from .options import does_nothing, is_true, names_in, option

#: Modes that compare a hash of the rows with the one that the table keeps, and the columns that they keep in it.
HASHED: Mapping[str, Mapping[str, str]] = {
    "hash_diff_upsert": {"row_hash": "STRING"},
    "historical": {"row_hash": "STRING", "valid_from": "TIMESTAMP", "valid_to": "TIMESTAMP", "is_current": "BOOLEAN"},
    "snapshot_soft_delete": {"row_hash": "STRING", "is_deleted": "BOOLEAN", "deleted_at": "TIMESTAMP"},
}
TABLE_MODES = ("overwrite", "append", "merge", "upsert", "replace_partitions", *HASHED, "ignore", "error")

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`", re.DOTALL)
_WITH_KEYS = ("merge", *HASHED)
#: Options that belong to some modes only.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "merge_keys": _WITH_KEYS,
    "merge_condition": ("merge",),
    "hash_columns": tuple(HASHED),
    "hash_exclude": tuple(HASHED),
    "effective_from": ("historical",),
    "allow_empty_snapshot": ("snapshot_soft_delete",),
}


def check_mode(output: Output, at: str) -> Iterator[Problem]:
    """Defects of the options that belong to modes."""
    mode, options, place = output.canonical_mode, output.options, at + "/options"
    for name, modes in _OPTIONS.items():
        if option(options, name) is None or mode in modes:
            continue
        if name == "merge_condition" and mode in HASHED:
            reason = f"merge_condition cannot be kept in mode {output.mode}: rows that it keeps from matching would be inserted by every run"
            yield Problem("INVALID_COMBINATION", f"{place}/{name}", {"reason": reason, "remedy": "Remove it, or use mode merge."})
        else:
            yield does_nothing(f"{place}/{name}", name, f"in mode {output.mode}", "use mode " + " or ".join(modes))
    condition = option(options, "merge_condition")
    if condition is not None and mode == "merge":
        yield from _check_condition(condition, f"{place}/merge_condition")
    if mode in _WITH_KEYS:
        yield from check_merge_keys(output, at)
    if mode in HASHED:
        yield from _check_hashed(output, place)
    if mode == "replace_partitions" and is_true(options, "overwriteSchema"):
        facts = {"found": "mode replace_partitions and overwriteSchema", "reason": "another schema would replace the whole table"}
        yield Problem("KEYS_EXCLUDE", place, facts)


def _check_condition(condition: object, at: str) -> Iterator[Problem]:
    """A condition that would leave the brackets that it is put in."""
    if not isinstance(condition, str) or not condition.strip():
        yield Problem("WRONG_TYPE", at, {"found": shown(condition), "expected": "an SQL condition", "hint": " over T (the table) and S (the rows)"})
        return
    depth = 0
    for c in _QUOTED.sub("", condition):
        depth += (c == "(") - (c == ")")
        if depth < 0:
            break
    if depth or "'" in _QUOTED.sub("", condition):
        yield Problem("SQL_INVALID", at, {"reason": "its brackets or quotes do not fit", "found": condition})


def check_merge_keys(output: Output, at: str) -> Iterator[Problem]:
    """Merge keys that are missing, or are no names."""
    keys = option(output.options, "merge_keys")
    given = any(k.casefold() == "merge_keys" for k in output.options)
    if given and not isinstance(keys, str | list | tuple):
        yield _no_names(keys, at + "/options/merge_keys")
    elif not _are_names(output.merge_keys):
        place = "/merge_keys" if keys is not None else ""
        yield Problem("MERGE_KEYS_MISSING", at + "/options" + place, {"found": output.mode})


def _check_hashed(output: Output, place: str) -> Iterator[Problem]:
    both = [name for name in ("hash_columns", "hash_exclude") if option(output.options, name) is not None]
    if len(both) == 2:
        yield Problem("KEYS_EXCLUDE", place, {"found": " and ".join(both), "reason": "each says in its own way which columns are compared"})
    for name in both:
        if not _are_names(names_in(output.options, name)):
            yield _no_names(option(output.options, name), f"{place}/{name}")
    start, allowed = option(output.options, "effective_from"), option(output.options, "allow_empty_snapshot")
    if start is not None and not (isinstance(start, str) and start.strip()):
        yield Problem("WRONG_TYPE", place + "/effective_from", {"found": shown(start), "expected": "a column name", "hint": ""})
    if allowed is not None and str(allowed).casefold() not in ("true", "false"):
        yield Problem("WRONG_TYPE", place + "/allow_empty_snapshot", {"found": shown(allowed), "expected": "true or false", "hint": ""})


def _are_names(names: tuple[object, ...]) -> bool:
    return bool(names) and all(isinstance(name, str) and name.strip() for name in names)


def _no_names(found: object, at: str) -> Problem:
    return Problem("WRONG_TYPE", at, {"found": shown(found), "expected": "a column name, or a list of column names", "hint": ", such as [\"id\"]"})
