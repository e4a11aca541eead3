"""The JSON Schema of the language, derived from its classes; editors take it for completion."""

from __future__ import annotations

from typing import Any

from .document import Output, Pipeline, Rule, Source, Step
from .registry import Registry
from .spec import object_schema

_FAMILIES: dict[type, str] = {Step: "step", Rule: "rule"}


def pipeline_schema(registry: Registry | None = None) -> dict[str, Any]:
    """The schema (draft 2020-12) of a pipeline document.

    Types that are not built in are allowed: another process may have registered them.
    """
    types = registry or Registry()
    defs: dict[str, Any] = {}
    root = object_schema(Pipeline, defs, _FAMILIES)
    root["properties"]["$schema"] = {"type": "string"}
    root["required"] = ["name", "input"]
    root["anyOf"] = [{"required": ["output"]}, {"required": ["outputs"]}]
    for base, kind in ((Step, "transformation"), (Rule, "validator")):
        variants = {name: object_schema(types.lookup(kind, name), defs, _FAMILIES) for name in types.names(kind)}
        defs[_FAMILIES[base]] = _variants(base, variants)
    for cls, kind in ((Source, "reader"), (Output, "writer")):
        names = types.names(kind)
        defs[cls.__name__]["properties"]["format"] = {"description": "How the data is stored.", "anyOf": [{"enum": names}, {"type": "string"}]}
    include = {"type": "object", "description": "Put the steps of a file here.", "properties": {"$include": {"type": "string"}}, "required": ["$include"], "additionalProperties": False}
    defs["step"] = {"if": {"required": ["$include"]}, "then": include, "else": defs["step"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Sparquet pipeline", **root, "$defs": dict(sorted(defs.items()))}


def _variants(base: type, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    tag = {"description": f"Which {base.__name__.lower()} it is.", "anyOf": [{"enum": list(variants)}, {"type": "string"}]}
    branches = [
        {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": {k: v for k, v in schema.items() if k != "type"}}
        for name, schema in variants.items()
    ]
    return {"type": "object", "properties": {"type": tag}, "required": ["type"], "allOf": branches}
