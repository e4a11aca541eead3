"""Paths into nested columns: ``a.b`` for fields, ``a[0]`` for items of arrays, ``a.key`` for entries of maps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..columns import Columns, Reference, quoted
from ..errors import Problem, SparquetError, nearest

if TYPE_CHECKING:
    from ..context import Run

_INDEXED = re.compile(r"[^\[\]]+(?:\[[0-9]{1,9}\](?:\.[^\[\]]+)?)*")
_TOKEN = re.compile(r"\[([0-9]+)\]|\.?([^.\[\]]+)")


def check_path(path: str, at: str, *, indices: bool = False) -> Iterator[Problem]:
    """The defect of a text that is no path."""
    if not path.strip():
        yield Problem("EMPTY_VALUE", at, {"expected": "a column or a path", "hint": ""})
    elif "[" in path or "]" in path:
        if not indices:
            yield Problem("PATH_INVALID", at, {"found": path, "reason": "indices have no place here", "remedy": "Use dots only; the whole array is meant."})
        elif not _INDEXED.fullmatch(path):
            yield Problem("PATH_INVALID", at, {"found": path, "reason": "brackets hold the number of an item", "remedy": "Write it as a.b[0].c."})


def check_alias(alias: str, at: str) -> Iterator[Problem]:
    """The defect of a text that cannot be the plain name of a column."""
    if not alias.strip() or any(c in alias for c in ".[]"):
        yield Problem("WRONG_TYPE", at, {"found": repr(alias), "expected": "a plain name of a top-level column", "hint": ""})


def default_alias(path: str) -> str:
    """The column that a path becomes when no alias is given: ``a.b[0]`` is ``a_b_0``."""
    return re.sub(r"[.\[\]]+", "_", path).strip("_")


def find(columns: Columns, path: str, run: Run, at: str) -> Reference:
    """What a path leads to: the exact column name first, then fields, items and entries.

    Raises:
        SparquetError: COLUMN_NOT_FOUND, or PATH_INVALID with the part that cannot be followed.
    """
    try:
        return _find(columns, path)
    except SparquetError as error:
        raise error.located(run.at + at) from None


def _find(columns: Columns, path: str) -> Reference:
    try:
        return columns.find(path)
    except SparquetError as error:
        if error.code == "COLUMN_AMBIGUOUS":
            raise
    tokens = [(int(index) if index else name) for index, name in _TOKEN.findall(path)]
    plain = next((i for i, token in enumerate(tokens) if isinstance(token, int)), len(tokens))
    for cut in range(plain, 0, -1):
        head = ".".join(str(t) for t in tokens[:cut])
        if head in columns:
            return _follow(columns.find(head), tokens[cut:], path)
    near = nearest(path, columns.names) or nearest(path.replace(".", "_"), columns.names)
    raise SparquetError("COLUMN_NOT_FOUND", found=path, nearest=near, expected=columns.shown)


def _follow(start: Reference, tokens: list[Any], path: str) -> Reference:
    sql, kind, walked = start.sql, start.type, start.name
    for token in tokens:
        found: Any = kind
        name = found.typeName()
        if isinstance(token, int) and name == "array":
            sql, kind, walked = f"get({sql}, {token})", found.elementType, f"{walked}[{token}]"
        elif isinstance(token, str) and name == "map" and found.keyType.typeName() == "string":
            key = token.replace("\\", "\\\\").replace("'", "\\'")
            sql, kind, walked = f"try_element_at({sql}, '{key}')", found.valueType, f"{walked}.{token}"
        elif isinstance(token, str) and name == "struct" and (field := _field(found, token)) is not None:
            sql, kind, walked = f"{sql}.{quoted(field.name)}", field.dataType, f"{walked}.{field.name}"
        else:
            raise SparquetError("PATH_INVALID", found=path, **_why(found, walked, token))
    return Reference(path, sql, kind)


def _field(kind: Any, name: str) -> Any:
    exact = [f for f in kind.fields if f.name == name]
    return (exact or [f for f in kind.fields if f.name.casefold() == name.casefold()] or [None])[0]


def _why(kind: Any, walked: str, token: int | str) -> dict[str, Any]:
    name = kind.typeName()
    if name == "array":
        return {"reason": f"{walked} is an array", "remedy": f"Take one item ({walked}[0]), or explode it in arrays and use the alias."}
    if name == "struct" and isinstance(token, str):
        near = nearest(token, kind.names)
        fields = ", ".join(kind.names[:40])
        return {"reason": f"{walked} has no field {token!r}", "remedy": f"Its fields are: {fields}." + (f" Nearest: {near!r}." if near else "")}
    return {"reason": f"{walked} is {kind.simpleString()}", "remedy": "End the path there."}
