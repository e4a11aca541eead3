"""What a shape block does to rows, in plain Python.

A frame is a schema and rows. A type is ``int``, ``string``, ``boolean``, ``{"array": type}`` or ``{"struct": {name: type}}``; a struct's value is a
dict that has every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Type = Any
Row = dict[str, Any]

_INT = re.compile(r"\s*[+-]?\d+\s*")


@dataclass
class Frame:
    """Columns with their types, rows, and how many values were lost by the place of the part that lost them."""

    schema: dict[str, Type]
    rows: list[Row]
    lost: dict[str, int] = field(default_factory=dict)


class Collision(Exception):
    """Two columns of one name."""


def is_array(kind: Type) -> bool:
    return isinstance(kind, dict) and "array" in kind


def is_struct(kind: Type) -> bool:
    return isinstance(kind, dict) and "struct" in kind


def ddl(kind: Type) -> str:
    """The type as Spark writes it."""
    if is_array(kind):
        return f"array<{ddl(kind['array'])}>"
    if is_struct(kind):
        return "struct<" + ",".join(f"`{name}`:{ddl(inner)}" for name, inner in kind["struct"].items()) + ">"
    return str(kind)


# --- paths --------------------------------------------------------------------------------------------------------------
def paths(schema: Mapping[str, Type], *, indices: bool = False) -> Iterator[tuple[str, Type]]:
    """Every path that can be written, with its type. A field whose name has a dot cannot be reached, a column can."""
    for name, kind in schema.items():
        for path, found in _below(name, kind, indices):
            if resolve(schema, path) == _steps(schema, name, path):
                yield path, found


def _below(path: str, kind: Type, indices: bool) -> Iterator[tuple[str, Type]]:
    yield path, kind
    if is_struct(kind):
        for name, inner in kind["struct"].items():
            if "." not in name:
                yield from _below(f"{path}.{name}", inner, indices)
    elif is_array(kind) and indices:
        yield from _below(f"{path}[1]", kind["array"], indices)


def _steps(schema: Mapping[str, Type], column: str, path: str) -> list[Any]:
    return [column, *_tokens(path[len(column) :])]


def _tokens(text: str) -> list[Any]:
    return [int(i) if i else name for i, name in re.findall(r"\[(\d+)\]|\.?([^.\[\]]+)", text)]


def resolve(schema: Mapping[str, Type], path: str) -> list[Any]:
    """The column and the steps below it: the exact column wins, then the longest beginning that is one."""
    if path in schema:
        return [path]
    tokens = _tokens(path)
    for cut in range(len(tokens), 0, -1):
        head = ".".join(map(str, tokens[:cut]))
        if head in schema:
            return [head, *tokens[cut:]]
    raise KeyError(path)


def value_of(row: Row, steps: list[Any]) -> Any:
    """What the steps lead to: null behind null, and behind the end of an array."""
    value = row[steps[0]]
    for step in steps[1:]:
        if value is None:
            return None
        value = value[step] if not isinstance(step, int) else value[step] if step < len(value) else None
    return value


def type_of(schema: Mapping[str, Type], steps: list[Any]) -> Type:
    kind = schema[steps[0]]
    for step in steps[1:]:
        kind = kind["array"] if isinstance(step, int) else kind["struct"][step]
    return kind


# --- the parts ----------------------------------------------------------------------------------------------------------
def shaped(frame: Frame, block: Mapping[str, Any], kinds: Mapping[str, Type]) -> Frame:
    """The frame after a whole block; ``kinds`` are the types behind the schemas of parse_json."""
    for i, entry in enumerate(block.get("parse_json", [])):
        frame = parse_json(frame, entry, kinds[entry["schema"]], f"/parse_json/{i}/column")
    if "flatten" in block:
        frame = flatten(frame, block["flatten"])
    for entry in block.get("zip_arrays", []):
        frame = zip_arrays(frame, entry)
    for entry in block.get("arrays", []):
        frame = array(frame, entry)
    return project(frame, block["columns"]) if "columns" in block else frame


def parse_json(frame: Frame, entry: Mapping[str, Any], kind: Type, at: str) -> Frame:
    name = entry.get("alias", entry["column"])
    bad, rows = 0, []
    for row in frame.rows:
        value, wrong = read(row[entry["column"]], kind)
        bad += wrong
        rows.append({**row, name: value})
    schema = {**frame.schema, name: kind}
    if entry.get("drop_source") and name != entry["column"]:
        del schema[entry["column"]]
    return Frame(schema, [{c: row[c] for c in schema} for row in rows], {**frame.lost, **({at: bad} if bad else {})})


def read(text: str | None, kind: Type) -> tuple[Any, bool]:
    """The value of a text by a type (struct, or array of structs), and whether a part of it could not be read."""
    nothing = {name: None for name in kind["struct"]} if is_struct(kind) else None
    if text is None:
        return None, False
    if not text.strip():
        return None, True
    try:
        value = json.loads(text)
    except ValueError:
        return nothing, True
    if value is None:
        return nothing, False
    if is_array(kind) and isinstance(value, dict):
        value = [value]
    wrong: list[Any] = []
    found = _typed(value, kind, wrong)
    return (nothing if found is None else found), bool(wrong)


def _typed(value: Any, kind: Type, wrong: list[Any]) -> Any:
    if value is None:
        return None
    if is_struct(kind) and isinstance(value, dict):
        return {name: _typed(value.get(name), inner, wrong) for name, inner in kind["struct"].items()}
    if is_array(kind) and isinstance(value, list):
        before = len(wrong)
        items = [_typed(v, kind["array"], wrong) for v in value]
        whole = any(v is not None and item is None for v, item in zip(value, items, strict=True))
        return None if whole and len(wrong) > before else items
    if type(value) is {"int": int, "string": str, "boolean": bool}.get(kind if isinstance(kind, str) else ""):
        return value
    wrong.append(value)
    return None


def flatten(frame: Frame, entry: Mapping[str, Any]) -> Frame:
    separator, deepest = entry.get("separator", "_"), entry.get("max_depth", 10)
    include = entry.get("include") or list(frame.schema)
    exclude = [resolve(frame.schema, path) for path in entry.get("exclude", [])]
    made: list[tuple[str, list[Any]]] = []

    def walk(steps: list[Any], kind: Type, depth: int) -> None:
        if is_struct(kind) and depth <= deepest and steps not in exclude and (depth > 1 or steps[0] in include):
            for name, inner in kind["struct"].items():
                walk([*steps, name], inner, depth + 1)
        else:
            made.append((separator.join(steps), steps))

    for name, kind in frame.schema.items():
        walk([name], kind, 1)
    if len({name.casefold() for name, _ in made}) < len(made):
        raise Collision
    schema = {name: type_of(frame.schema, steps) for name, steps in made}
    return Frame(schema, [{name: value_of(row, steps) for name, steps in made} for row in frame.rows], frame.lost)


def zip_arrays(frame: Frame, entry: Mapping[str, Any]) -> Frame:
    sources = {name: resolve(frame.schema, path) for path, name in entry["columns"].items()}
    kind = {"array": {"struct": {name: type_of(frame.schema, steps)["array"] for name, steps in sources.items()}}}
    rows = []
    for row in frame.rows:
        arrays = {name: value_of(row, steps) or [] for name, steps in sources.items()}
        longest = max(map(len, arrays.values()))
        rows.append({**row, entry["alias"]: [{n: a[i] if i < len(a) else None for n, a in arrays.items()} for i in range(longest)]})
    return Frame({**frame.schema, entry["alias"]: kind}, rows, frame.lost)


def array(frame: Frame, entry: Mapping[str, Any]) -> Frame:
    steps, mode = resolve(frame.schema, entry["path"]), entry.get("mode", "keep")
    name = entry.get("alias") or re.sub(r"[.\[\]]+", "_", entry["path"])
    if name != steps[0] and name.casefold() in (c.casefold() for c in frame.schema) and entry["path"] != name:
        raise Collision
    kind = type_of(frame.schema, steps)
    made = {"keep": kind, "to_json": "string", "size": "int"}.get(mode, kind["array"])
    rows = []
    for row in frame.rows:
        items = value_of(row, steps)
        for value in _results(items, mode):
            rows.append({**row, name: value})
    return Frame({**frame.schema, name: made}, rows, frame.lost)


def _results(items: list[Any] | None, mode: str) -> list[Any]:
    if mode.startswith("explode"):
        return items or ([None] if mode == "explode_outer" else [])
    if items is None:
        return [None]
    if mode == "first":
        return [items[0] if items else None]
    return [{"keep": items, "size": len(items)}.get(mode, _text(items))]


def _text(value: Any) -> str:
    def without_nulls(v: Any) -> Any:
        if isinstance(v, dict):
            return {k: without_nulls(i) for k, i in v.items() if i is not None}
        return [without_nulls(i) for i in v] if isinstance(v, list) else v

    return json.dumps(without_nulls(value), ensure_ascii=False, separators=(",", ":"))


def project(frame: Frame, columns: Mapping[str, Mapping[str, Any]]) -> Frame:
    schema: dict[str, Type] = {}
    lost = dict(frame.lost)
    rows: list[Row] = [{} for _ in frame.rows]
    for path, how in columns.items():
        steps = resolve(frame.schema, path)
        name = how.get("alias") or re.sub(r"[.\[\]]+", "_", path).strip("_")
        if name.casefold() in (n.casefold() for n in schema):
            raise Collision
        kind = type_of(frame.schema, steps)
        schema[name] = how.get("cast", kind)
        missing = 0
        for row, out in zip(frame.rows, rows, strict=True):
            value = value_of(row, steps)
            out[name] = cast(value, kind, how["cast"]) if "cast" in how else value
            missing += value is not None and out[name] is None
        if missing:
            lost[f"/columns/{path.replace('~', '~0').replace('/', '~1')}/cast"] = missing
    return Frame(schema, rows, lost)


def cast(value: Any, kind: Type, target: str) -> Any:
    """A simple value as another type; null when it cannot be."""
    if value is None or kind == target:
        return value
    if target == "string":
        return str(value).lower() if isinstance(value, bool) else str(value)
    if target == "int":
        if isinstance(value, str):
            value = int(value) if _INT.fullmatch(value) else None
        return int(value) if value is not None and -(2**31) <= int(value) < 2**31 else None
    if isinstance(value, str):
        return {"true": True, "t": True, "yes": True, "y": True, "1": True, "false": False, "f": False, "no": False, "n": False, "0": False}.get(value.strip().lower())
    return bool(value)
