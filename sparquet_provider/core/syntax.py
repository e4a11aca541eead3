"""JSON and YAML as trees; a placeholder outside of strings becomes a token, so that it parses."""

from __future__ import annotations

import json
import re
from typing import Any

from .errors import Problem
from .text import HIDE_BRACES, NAME, OPEN, SHOW_BRACES

_N = NAME.pattern
#: Outside strings: a placeholder, alone or inside a number (``1{zeros}``).
_BARE = re.compile(rf"(?:[-+.\deE]|\{{{_N}\}})*\{{{_N}\}}(?:[-+.\deE]|\{{{_N}\}})*")
#: What stands for it in the text that goes to the parser.
TOKEN = re.compile(f"{OPEN}([^{OPEN}]*){OPEN}")


def parse_json(text: str, problems: list[Problem]) -> Any:
    """A JSON text as a tree; None, with a problem, when it is none. Duplicate keys are problems too."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in items:
            if key in seen:
                problems.append(Problem("DUPLICATE_KEY", "", {"found": key}))
            seen[key] = value
        return seen

    try:
        return json.loads(_mark_bare(text), object_pairs_hook=pairs, strict=False)
    except json.JSONDecodeError as error:
        facts = {"reason": error.msg.lower(), "line": error.lineno, "column": error.colno}
        problems.append(Problem("INVALID_JSON", "", facts))
    except RecursionError:
        problems.append(Problem("INVALID_JSON", "", {"reason": "nested too deeply", "line": 1, "column": 1}))
    return None


def _mark_bare(text: str) -> str:
    """The text with every placeholder outside a JSON string turned into a string token, so that it parses."""
    out, pos, in_string = [], 0, False
    for match in re.finditer(rf'\\.|"|{_BARE.pattern}', text, re.DOTALL):
        token = match.group()
        if token == '"':
            in_string = not in_string
        elif "{" in token and not in_string:
            out.append(text[pos : match.start()])
            out.append(f'"{OPEN}{token}{OPEN}"')
            pos = match.end()
    return "".join(out) + text[pos:]


def parse_yaml(text: str, problems: list[Problem]) -> Any:
    """A YAML text as a tree with the data model of JSON; None, with a problem, when it is none."""
    try:
        import yaml
    except ImportError:
        problems.append(Problem("YAML_NOT_INSTALLED", "", {"found": "the document"}))
        return None

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """YAML with JSON's data model: ``on``, ``yes``, ``007`` and ``2026-01-01`` are texts."""

        yaml_implicit_resolvers: dict[str, Any] = {}

    def scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
        # A placeholder that is a whole unquoted scalar stands outside a string; any other is part of a text.
        text = str(node.value).translate(SHOW_BRACES)
        bare = node.style is None and TOKEN.fullmatch(text) and "{{" not in text
        return text if bare else TOKEN.sub(r"\1", text)

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            key = key if isinstance(key, str) else json.dumps(key)
            if key in seen:
                problems.append(Problem("DUPLICATE_KEY", "", {"found": key}))
            seen[key] = loader.construct_object(value_node, deep=True)
        return seen

    for tag, pattern, first in (
        ("bool", r"true|false|True|False", "tfTF"),
        ("null", r"null|~|", ["n", "~", ""]),
        ("int", r"-?(?:0|[1-9]\d*)", "-0123456789"),
        ("float", r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
    Loader.add_constructor("tag:yaml.org,2002:str", scalar)
    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))
    braces = re.compile(rf"\{{\{{\s*{_N}\s*\}}\}}|\{{{_N}\}}")
    try:
        return yaml.load(braces.sub(lambda m: (OPEN + m.group() + OPEN).translate(HIDE_BRACES), text), Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        problems.append(Problem("INVALID_YAML", "", {"reason": " ".join(str(error).replace(OPEN, "").split())}))
    return None
