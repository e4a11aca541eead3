"""JSON and YAML as trees; a placeholder outside of strings becomes a token, so that it parses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .errors import Problem, pointer
from .text import HIDE_BRACES, NAME, OPEN, RESERVED, SHOW_BRACES

_N = NAME.pattern
#: Outside strings: a placeholder, alone or inside a number (``1{zeros}``).
_BARE = re.compile(rf"(?:[-+.\deE]|\{{{_N}\}})*\{{{_N}\}}(?:[-+.\deE]|\{{{_N}\}})*")
#: What stands for it in the text that goes to the parser.
TOKEN = re.compile(f"{OPEN}([^{OPEN}]*){OPEN}")
#: Objects and lists inside each other; a document needs a tenth of it.
MAX_DEPTH = 100
#: What the aliases of a YAML text may add to the values that it writes out.
MAX_ALIASED = 100_000
#: What may be a reserved character, written as an escape.
_ESCAPED = re.compile(r"\\(?:u|U0000)(?:fdd[0-3]|d[89a-f])", re.IGNORECASE)
_STRING = r'"(?:\\.|[^"\\])*"'
#: Two halves of one character, as escapes of JSON write it.
_PAIRS = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_JSON_TAGS = frozenset("tag:yaml.org,2002:" + name for name in ("str", "int", "float", "bool", "null", "seq", "map"))


def parse_json(text: str, problems: list[Problem]) -> Any:
    """A JSON text as a tree; None, with a problem, when it is none. Duplicate keys are problems too."""
    repeated: list[tuple[Any, str]] = []
    try:
        tree = _json(_mark_bare(text), repeated)
    except json.JSONDecodeError as error:
        facts = {"reason": error.msg[:1].lower() + error.msg[1:], "line": error.lineno, "column": error.colno}
        problems.append(Problem("INVALID_JSON", "", facts))
        return None
    return _checked(text, tree, repeated, lambda: _json(_mark_bare(text, lambda _: "0"), []), problems)


def _json(text: str, repeated: list[tuple[Any, str]]) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in items:
            if key in seen:
                repeated.append((seen, key))
            seen[key] = value
        return seen

    def fault(pattern: str, reason: str) -> NoReturn:
        places = (m.start() for m in re.finditer(f"{_STRING}|({pattern})", text, re.DOTALL) if m[1])
        raise json.JSONDecodeError(reason, text, next(places, 0))

    def constant(name: str) -> NoReturn:
        fault(re.escape(name), f"there is no {name} in JSON")

    def whole(digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            fault(digits, f"a number of {len(digits)} digits is too long")

    def fraction(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else fault(re.escape(digits), f"the number {digits[:40]} is too large")

    if text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_depth(text)
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=whole, parse_float=fraction, strict=False)
    except RecursionError:
        fault(r"[\[{]", "nested too deep")


def _refuse_depth(text: str) -> None:
    depth = 0
    for match in re.finditer(rf"{_STRING}|[\[{{\]}}]", text, re.DOTALL):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth > MAX_DEPTH:
            raise json.JSONDecodeError(f"nested too deep (more than {MAX_DEPTH} levels)", text, match.start())


def _checked(text: str, tree: Any, repeated: list[tuple[Any, str]], without_marks: Callable[[], Any], problems: list[Problem]) -> Any:
    """The tree; None when it holds reserved characters. Escapes are looked for in a tree that has no marks of ours."""
    probe = without_marks() if _ESCAPED.search(text) else None
    if found := [reserved_character(at, match.group()) for at, value in _texts_in(probe) if (match := RESERVED.search(value))]:
        problems.extend(found)
        return None
    if repeated:
        places = {id(value): at for at, value in reversed(list(_walk(tree)))}
        problems.extend(Problem("DUPLICATE_KEY", places.get(id(part), ""), {"found": TOKEN.sub(r"\1", key)}) for part, key in repeated)
    return tree


def reserved_character(at: str, character: str) -> Problem:
    """The problem of a character that no document can hold."""
    return Problem("RESERVED_CHARACTER", at, {"found": f"U+{ord(character):04X}"})


def _texts_in(tree: Any) -> Iterator[tuple[str, str]]:
    """Every text with its place; a key counts as a text of its object."""
    for at, value in _walk(tree):
        if isinstance(value, str):
            yield at, value
        elif isinstance(value, dict):
            yield from ((at, key) for key in value)


def _walk(tree: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    yield at, tree
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _walk(value, at + pointer(TOKEN.sub(r"\1", key)))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from _walk(value, at + pointer(i))


def _mark_bare(text: str, stand_in: Callable[[str], str] = lambda token: f"{OPEN}{token}{OPEN}") -> str:
    """The text with every placeholder outside a JSON string turned into a string token, so that it parses."""
    out, pos, in_string = [], 0, False
    for match in re.finditer(rf'\\.|"|{_BARE.pattern}', text, re.DOTALL):
        token = match.group()
        if token == '"':
            in_string = not in_string
        elif "{" in token and not in_string:
            out.append(text[pos : match.start()])
            out.append(f'"{stand_in(token)}"')
            pos = match.end()
    return "".join(out) + text[pos:]


def parse_yaml(text: str, problems: list[Problem]) -> Any:
    """A YAML text as a tree with the data model of JSON; None, with a problem, when it is none."""
    try:
        import yaml
    except ImportError:
        problems.append(Problem("YAML_NOT_INSTALLED", "", {"found": "the document"}))
        return None
    repeated: list[tuple[Any, str]] = []
    braces = re.compile(rf"\{{\{{\s*{_N}\s*\}}\}}|\{{{_N}\}}")
    try:
        tree = _yaml(braces.sub(lambda m: (OPEN + m.group() + OPEN).translate(HIDE_BRACES), text), repeated)
        return _checked(text, tree, repeated, lambda: _yaml(braces.sub("0", text), [], marked=False), problems)
    except RecursionError:
        reason = "nested too deep"
    except yaml.YAMLError as error:
        reason = " ".join(str(error).replace(OPEN, "").translate(SHOW_BRACES).split())
    problems.append(Problem("INVALID_YAML", "", {"reason": reason}))
    return None


def _yaml(text: str, repeated: list[tuple[Any, str]], *, marked: bool = True) -> Any:
    import yaml

    def refuse(node: yaml.Node, reason: str, cause: Exception | None = None) -> NoReturn:
        raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark) from cause

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """YAML with JSON's data model: ``on``, ``yes``, ``007`` and ``2026-01-01`` are texts."""

        yaml_implicit_resolvers: dict[str, Any] = {}

        def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep=deep)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                what = repr(node.value if len(node.value) <= 40 else node.value[:40] + "…") if isinstance(node.value, str) else "this"
                refuse(node, f"{what} is no value of the type {node.tag.rpartition(':')[2]}", error)

    def scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
        # A placeholder that is a whole unquoted scalar stands outside a string; any other is part of a text.
        text = _PAIRS.sub(lambda m: m.group().encode("utf-16", "surrogatepass").decode("utf-16"), loader.construct_scalar(node))
        if not marked:
            return text
        text = text.translate(SHOW_BRACES)
        bare = node.style is None and TOKEN.fullmatch(text) and "{{" not in text
        return text if bare else TOKEN.sub(r"\1", text)

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.value == "<<" and key_node.style is None:
                parts = loader.construct_object(value_node, deep=True)
                for part in parts if isinstance(parts, list) else [parts]:
                    merged = {**part, **merged} if isinstance(part, dict) else refuse(value_node, "the merge key << takes a mapping, or a list of them")
                continue
            key = loader.construct_object(key_node, deep=True)
            key = key if isinstance(key, str) else json.dumps(key)
            if key in seen:
                repeated.append((seen, key))
            seen[key] = loader.construct_object(value_node, deep=True)
        for key, value in merged.items():
            seen.setdefault(key, value)
        return seen

    def fraction(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
        number = float(loader.construct_scalar(node))
        return number if math.isfinite(number) else refuse(node, f"{node.value[:40]} is no number in JSON")

    for tag, pattern, first in (
        ("bool", r"true|false|True|False", "tfTF"),
        ("null", r"null|~|", ["n", "~", ""]),
        ("int", r"-?(?:0|[1-9]\d*)", "-0123456789"),
        ("float", r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
    Loader.add_constructor("tag:yaml.org,2002:str", scalar)
    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    Loader.add_constructor("tag:yaml.org,2002:float", fraction)
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _measure(root, refuse)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _measure(root: Any, refuse: Callable[[Any, str], NoReturn]) -> None:
    """Refuse what cannot be a tree of JSON's types, or what its aliases make too large; each node is visited once."""
    sizes: dict[int, tuple[int, int]] = {}
    entered: set[int] = set()
    written = 0
    stack = [(root, False)]
    while stack:
        node, children_done = stack.pop()
        if not children_done and id(node) in sizes:
            continue
        children = [] if isinstance(node.value, str) else [n for item in node.value for n in (item if isinstance(item, tuple) else (item,))]
        own = 1 + (len(node.value) // 100 if isinstance(node.value, str) else 0)
        if children_done:
            entered.discard(id(node))
            inside = [sizes[id(child)] for child in children]
            sizes[id(node)] = own + sum(size for size, _ in inside), (1 + max((depth for _, depth in inside), default=0)) if node.id != "scalar" else 0
            if sizes[id(node)][1] > MAX_DEPTH:
                refuse(node, f"nested too deep (more than {MAX_DEPTH} levels)")
            continue
        if id(node) in entered:
            refuse(node, "an alias stands inside the value that it names")
        if node.tag not in _JSON_TAGS:
            refuse(node, f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not known here")
        entered.add(id(node))
        written += own
        stack += [(node, True), *((child, False) for child in children)]
    if sizes[id(root)][0] - written > MAX_ALIASED:
        refuse(root, f"the aliases expand to more than {MAX_ALIASED} values")
