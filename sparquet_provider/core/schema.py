"""The JSON Schema of the language, derived from its classes; editors take it for completion."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from .document import Output, Pipeline, Rule, Source, Step
from .registry import Registry
from .spec import Field, Spec, Tree, inner, members_of

_FAMILIES: dict[type, str] = {Step: "step", Rule: "rule"}


def pipeline_schema(registry: Registry | None = None) -> dict[str, Any]:
    """The schema (draft 2020-12) of a pipeline document.

    Types that are not built in are allowed: another process may have registered them.
    """
    known = registry or Registry()
    defs: dict[str, Any] = {}
    root = object_schema(Pipeline, defs, _FAMILIES)
    root["properties"]["$schema"] = {"type": "string"}
    del root["required"]
    root["anyOf"] = [{"required": ["name", "output"]}, {"required": ["name", "outputs"]}, {"required": ["target_table"]}]
    root["allOf"] = [{"anyOf": [{"required": ["input"]}, {"required": ["source"]}]}]
    for base, kind in ((Step, "transformation"), (Rule, "validator")):
        variants = {name: object_schema(known.lookup(kind, name), defs, _FAMILIES) for name in known.names(kind)}
        if base is Rule:
            variants = {name: _with_targets(schema) for name, schema in variants.items()}
        defs[_FAMILIES[base]] = _variants(base, variants)
    for cls, kind in ((Source, "reader"), (Output, "writer")):
        names = known.names(kind)
        defs[cls.__name__]["properties"]["format"] = {"description": "How the data is stored.", "anyOf": [{"enum": names}, {"type": "string"}]}
    include = {
        "type": "object",
        "description": "Put the steps of a file here.",
        "properties": {"$include": {"type": "string"}},
        "required": ["$include"],
        "additionalProperties": False,
    }
    defs["step"] = {"if": {"required": ["$include"]}, "then": include, "else": defs["step"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Sparquet pipeline", **root, "$defs": dict(sorted(defs.items()))}


def _with_targets(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule over columns, which ``targets`` may name instead."""
    if not {"column", "columns"} & set(rule["properties"]):
        return rule
    column = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    targets = {"type": "array", "items": column, "minItems": 1, "description": "Columns, or keys of several: a rule of its own for each."}
    return {**rule, "properties": {**rule["properties"], "targets": targets}}


def _variants(base: type, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    tag = {"description": f"Which {base.__name__.lower()} it is.", "anyOf": [{"enum": list(variants)}, {"type": "string"}]}
    branches = [
        {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": {k: v for k, v in schema.items() if k != "type"}}
        for name, schema in variants.items()
    ]
    return {"type": "object", "properties": {"type": tag}, "required": ["type"], "allOf": branches}


def schema_of(hint: Any, meta: Field, defs: dict[str, Any], families: Mapping[type, str]) -> dict[str, Any]:
    """The JSON Schema of a type; classes go into ``defs``. ``families`` names the shared definitions of step kinds."""
    origin, args = get_origin(hint), get_args(hint)
    simple: dict[Any, dict[str, Any]] = {str: {"type": "string"}, bool: {"type": "boolean"}, type(None): {"type": "null"}, Any: {}}
    if hint in simple:
        out = dict(simple[hint])
        if hint is str and meta.choices:
            out = {"anyOf": [{"enum": list(meta.choices)}, {"type": "string", "pattern": _any_case(meta.choices)}]}
        return out
    if hint in (int, float):
        out = {"type": "integer" if hint is int else "number"}
        return out | ({"minimum": meta.minimum} if meta.minimum is not None else {})
    if origin in (Union, types.UnionType):
        options = [schema_of(a, meta, defs, families) for a in args if a is not type(None)]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        items = schema_of(args[0], inner(meta), defs, families)
        array = {"type": "array", "items": items} | ({"minItems": 1} if meta.nonempty else {})
        return {"anyOf": [array, items]} if meta.one_or_more else array
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(args[1], inner(meta), defs, families)}
    if hint is Tree:
        return {"type": "object", "additionalProperties": {"type": ["string", "object"]}}
    if hint in families:
        return {"$ref": f"#/$defs/{families[hint]}"}
    name = hint.__name__
    if name not in defs:
        defs[name] = {}
        defs[name] = object_schema(hint, defs, families)
    return {"$ref": f"#/$defs/{name}"}


def object_schema(cls: type[Spec], defs: dict[str, Any], families: Mapping[type, str]) -> dict[str, Any]:
    """The JSON Schema of one class: a property for each field and alias."""
    properties: dict[str, Any] = {}
    required = []
    for member in members_of(cls).values():
        entry = schema_of(member.hint, member.field, defs, families) | {"description": member.field.doc}
        if member.field.example is not None:
            entry["examples"] = [member.field.example]
        for key in (member.key, *member.field.aliases):
            properties[key] = entry
        if member.required and not member.field.aliases:
            required.append(member.key)
    out: dict[str, Any] = {"type": "object", "description": cls.summary(), "properties": properties}
    return out | ({"required": required} if required else {})


def _any_case(choices: tuple[str, ...]) -> str:
    parts = ("".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in choice) for choice in choices)
    return f"^({'|'.join(parts)})$"
