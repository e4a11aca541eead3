"""From text to tree: JSON or YAML, ``{param}``, ``$include``; and ``{{variable}}`` in texts that are already parsed.

Nothing is pasted into raw text. A placeholder outside a string becomes a whole JSON value; inside a string its value
is put in between two marks, and the marks stay until the field is known (:func:`sql_text` escapes for the quotes
around it, :func:`plain` only drops the marks). So no value can break out, and inserted text is never scanned again.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from .errors import Problem, SparquetError, nearest, pointer

OPEN, CLOSE = "\ufdd0", "\ufdd1"
_LEFT, _RIGHT = "\ufdd2", "\ufdd3"
_MARKS = re.compile(f"[{OPEN}{CLOSE}{_LEFT}{_RIGHT}]")
_DROP_MARKS = str.maketrans("", "", OPEN + CLOSE)
_HIDE_BRACES = str.maketrans("{}", _LEFT + _RIGHT)
_SHOW_BRACES = str.maketrans(_LEFT + _RIGHT, "{}")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_N = NAME.pattern
#: ``{name}`` or ``{{name}}`` inside a text; not after ``$`` or ``\``, nor after a backslash and a letter (``\p{L}``).
_PLACEHOLDER = re.compile(rf"(?<![$\\])(?<!\\[A-Za-z])(?:\{{\{{\s*(?P<variable>{_N})\s*\}}\}}|\{{(?P<param>{_N})\}})")
#: Outside strings: a placeholder, alone or inside a number (``1{zeros}``).
_BARE = re.compile(rf"(?:[-+.\deE]|\{{{_N}\}})*\{{{_N}\}}(?:[-+.\deE]|\{{{_N}\}})*")
#: What stands for it in the text that goes to the parser.
_TOKEN = re.compile(f"{OPEN}([^{OPEN}]*){OPEN}")


@dataclass
class Loaded:
    """A document as a tree, with what was found on the way.

    ``tree`` is the JSON value with parameters bound and fragments included. ``problems`` has every defect so far.
    ``files`` maps the place of an included fragment to its file.
    """

    tree: Any
    problems: list[Problem] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def load(
    document: str | Path | Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    *,
    root: str | Path | None = None,
    base: str | Path | None = None,
    strict: bool = True,
) -> Loaded:
    """Read a document: substitute parameters, parse, include fragments.

    Args:
        document: the path of a ``.json``, ``.yaml`` or ``.yml`` file, or the document itself as a mapping.
        params: the values of ``{name}``: text, numbers, booleans, dates, None, flat lists of those.
        root: when set, included files outside this folder are refused.
        base: the folder that includes of a mapping are relative to (a file's own folder otherwise).
        strict: placeholders without a value are errors, otherwise warnings.

    Returns:
        the tree and every defect found; ``tree`` is None when the text itself could not be read.
    """
    loader = _Loader(dict(params or {}), Path(root).resolve() if root else None, strict)
    if isinstance(document, Mapping):
        tree = loader.bind(_json_like(document), "")
        folder, chain = Path(base) if base else Path.cwd(), tuple[Path, ...]()
    else:
        path = Path(document)
        tree = loader.read(path, "", missing="DOCUMENT_NOT_FOUND", expected=str(path.resolve().parent))
        folder, chain = path.resolve().parent, (path.resolve(),)
    if isinstance(tree, dict):
        tree = loader.include_all(tree, folder, chain)
    loader.finish()
    return Loaded(tree, loader.problems, loader.files)


class _Loader:
    def __init__(self, params: dict[str, Any], root: Path | None, strict: bool) -> None:
        self.params, self.root, self.strict = params, root, strict
        self.problems: list[Problem] = []
        self.files: dict[str, str] = {}
        self.used: set[str] = set()
        for name, value in params.items():
            if not NAME.fullmatch(str(name)):
                self.problems.append(Problem("PARAMETER_NAME", "", {"found": str(name)}))
            elif (kind := _no_text_form(value)) is not None:
                self.problems.append(Problem("PARAMETER_TYPE", "", {"found": name, "type": kind}))
                self.params[name] = None

    def finish(self) -> None:
        known = sorted({str(p.facts["found"]).strip("{}") for p in self.problems if p.code == "PARAMETER_WITHOUT_VALUE"})
        for name in sorted(set(self.params) - self.used):
            if NAME.fullmatch(str(name)):
                facts = {"found": name, "nearest": nearest(name, known)}
                self.problems.append(Problem("PARAMETER_NOT_USED", "", facts, "warning"))

    def read(self, path: Path, at: str, *, missing: str, expected: str) -> Any:
        """A file as a bound tree; None when it cannot be read."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            self.problems.append(Problem(missing, at, {"found": str(path), "expected": expected}))
            return None
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(Problem("DOCUMENT_NOT_READABLE", at, {"found": str(path), "reason": str(error)}))
            return None
        if mark := _MARKS.search(text):
            self.problems.append(Problem("RESERVED_CHARACTER", at, {"found": f"U+{ord(mark.group()):04X}"}))
            return None
        found: list[Problem] = []
        tree = _parse_yaml(text, found) if path.suffix.lower() in (".yaml", ".yml") else _parse_json(text, found)
        file = str(path) if at else None
        self.problems.extend(Problem(p.code, at + p.at, p.facts, p.severity, file) for p in found)
        if any(p.severity == "error" and p.code != "DUPLICATE_KEY" for p in found):
            return None
        return self.bind(tree, at)

    def bind(self, tree: Any, at: str) -> Any:
        """The tree with every ``{name}`` that has a value replaced."""
        if isinstance(tree, str):
            if bare := _TOKEN.fullmatch(tree):
                return self._bare(bare.group(1), at)
            return self._inside(tree, at)
        if isinstance(tree, dict):
            return {self._inside(_TOKEN.sub(r"\1", k), at): self.bind(v, at + pointer(k)) for k, v in tree.items()}
        if isinstance(tree, list):
            return [self.bind(v, at + pointer(i)) for i, v in enumerate(tree)]
        return tree

    def _bare(self, token: str, at: str) -> Any:
        name = token[1:-1]
        if not NAME.fullmatch(name):
            number = plain(self._inside(token, at))
            try:
                return json.loads(number)
            except ValueError:
                self.problems.append(Problem("WRONG_TYPE", at, {"found": number, "expected": "a number"}))
                return None
        if name not in self.params:
            self._missing(name, at)
            return None
        self.used.add(name)
        return _json_value(self.params[name])

    def _inside(self, text: str, at: str) -> str:
        def insert(match: re.Match[str]) -> str:
            name = match["param"]
            if name is None:
                return match.group()
            if name not in self.params:
                self._missing(name, at)
                return match.group()
            self.used.add(name)
            return OPEN + parameter_text(self.params[name]).translate(_HIDE_BRACES) + CLOSE

        return _PLACEHOLDER.sub(insert, text) if "{" in text else text

    def _missing(self, name: str, at: str) -> None:
        facts = {"found": "{" + name + "}", "nearest": nearest(name, self.params)}
        self.problems.append(Problem("PARAMETER_WITHOUT_VALUE", at, facts, "error" if self.strict else "warning"))

    # --- $include --------------------------------------------------------------------------------------------
    def include_all(self, tree: dict[str, Any], folder: Path, chain: tuple[Path, ...]) -> dict[str, Any]:
        """The document with the fragments of every list of transformations in place."""
        out = dict(tree)
        if isinstance(tree.get("transformations"), list):
            out["transformations"] = self._steps(tree["transformations"], folder, chain, "/transformations")
        for key, place in (("output", "/output"), ("outputs", "/outputs")):
            value = out.get(key)
            if isinstance(value, dict):
                out[key] = self._nested(value, folder, chain, place)
            elif isinstance(value, list):
                out[key] = [self._nested(v, folder, chain, place + pointer(i)) if isinstance(v, dict) else v for i, v in enumerate(value)]
        return out

    def _nested(self, step: dict[str, Any], folder: Path, chain: tuple[Path, ...], at: str) -> dict[str, Any]:
        out = dict(step)
        for key in ("transformations", "with_transformations"):
            if isinstance(step.get(key), list):
                out[key] = self._steps(step[key], folder, chain, at + pointer(key))
        return out

    def _steps(self, steps: list[Any], folder: Path, chain: tuple[Path, ...], at: str) -> list[Any]:
        out: list[Any] = []
        for step in steps:
            place = at + pointer(len(out))
            if isinstance(step, dict) and "$include" in step:
                out.extend(self._fragment(step, folder, chain, at, len(out)))
            elif isinstance(step, dict):
                out.append(self._nested(step, folder, chain, place))
            else:
                out.append(step)
        return out

    def _fragment(self, step: dict[str, Any], folder: Path, chain: tuple[Path, ...], at: str, index: int) -> list[Any]:
        place = at + pointer(index)
        if others := sorted(set(step) - {"$include"}):
            self.problems.append(Problem("INCLUDE_MISPLACED", place, {"found": ", ".join(others)}))
            return []
        if not isinstance(step["$include"], str):
            self.problems.append(Problem("WRONG_TYPE", place + "/$include", {"found": type(step["$include"]).__name__, "expected": "the path of a file"}))
            return []
        name = plain(step["$include"]).translate(_SHOW_BRACES)
        path = (folder / name).resolve()
        if self.root is not None and not path.is_relative_to(self.root):
            self.problems.append(Problem("INCLUDE_OUTSIDE_ROOT", place, {"found": name, "expected": str(self.root)}))
            return []
        if path in chain:
            circle = " -> ".join(p.name for p in (*chain[chain.index(path):], path))
            self.problems.append(Problem("INCLUDE_CYCLE", place, {"found": circle}))
            return []
        fragment = self.read(path, place, missing="INCLUDE_NOT_FOUND", expected=f"here {folder}")
        if fragment is None:
            return []
        items = fragment if isinstance(fragment, list) else [fragment]
        if not all(isinstance(i, dict) for i in items):
            self.problems.append(Problem("INCLUDE_NOT_STEPS", place, {"found": name, "type": "something else"}))
            return []
        out: list[Any] = []
        for item in items:
            offset = index + len(out)
            if "$include" in item:
                out.extend(self._fragment(item, path.parent, (*chain, path), at, offset))
            else:
                out.append(self._nested(item, path.parent, (*chain, path), at + pointer(offset)))
            for i in range(offset, index + len(out)):
                self.files.setdefault(at + pointer(i), str(path))
        return out


def _parse_json(text: str, problems: list[Problem]) -> Any:
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
            out.append(text[pos:match.start()])
            out.append(f'"{OPEN}{token}{OPEN}"')
            pos = match.end()
    return "".join(out) + text[pos:]


def _parse_yaml(text: str, problems: list[Problem]) -> Any:
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
        text = str(node.value).translate(_SHOW_BRACES)
        bare = node.style is None and _TOKEN.fullmatch(text) and "{{" not in text
        return text if bare else _TOKEN.sub(r"\1", text)

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
        return yaml.load(braces.sub(lambda m: (OPEN + m.group() + OPEN).translate(_HIDE_BRACES), text), Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        problems.append(Problem("INVALID_YAML", "", {"reason": " ".join(str(error).replace(OPEN, "").split())}))
    return None


def _json_like(value: Any) -> Any:
    """A mapping given from Python as the JSON value it stands for (tuples are lists)."""
    if isinstance(value, Mapping):
        return {str(k): _json_like(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json_like(v) for v in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    return value


# --- values ------------------------------------------------------------------------------------------------------
_SCALARS = (str, bool, int, float, Decimal, dt.date, type(None))


def _no_text_form(value: Any) -> str | None:
    """The name of the value's type when a parameter cannot have it."""
    if isinstance(value, str) and _MARKS.search(value):
        return "text with a reserved character"
    if isinstance(value, _SCALARS):
        return None
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return next((f"list that holds a {type(v).__name__}" for v in value if not isinstance(v, _SCALARS)), None)
    return type(value).__name__


def parameter_text(value: Any) -> str:
    """A parameter inside a text: dates ISO, True ``true``, False and None empty, lists joined by commas."""
    if value is None or value is False:
        return ""
    if value is True:
        return "true"
    if isinstance(value, str):
        return value
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, int | float | Decimal):
        return str(value)
    return ", ".join(_quote(v.isoformat()) if isinstance(v, dt.date) else literal(v) for v in value)


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return OPEN + value.translate(_HIDE_BRACES) + CLOSE
    if isinstance(value, dt.date):
        return OPEN + value.isoformat() + CLOSE
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Sequence):
        return [_json_value(v) for v in value]
    return value


def _quote(text: str) -> str:
    # A backslash escape, because '' means a quote or nothing depending on spark.sql.legacy.consecutiveStringLiterals.
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: Any) -> str:
    """A runtime value as a Spark SQL literal; a list is joined by commas, an empty list is ``NULL``."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"double('{value}')"
    if isinstance(value, int | Decimal):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, Sequence):
        return ", ".join(literal(v) for v in value) if value else "NULL"
    raise SparquetError("WRONG_TYPE", found=type(value).__name__, expected="a value with an SQL literal", hint="")


def _words(value: Any) -> str:
    """A runtime value in a field that is not SQL: a path, a message."""
    if isinstance(value, list | tuple):
        return ", ".join(_words(v) for v in value)
    return parameter_text(value) if value is not False else "false"


# --- texts after parsing ------------------------------------------------------------------------------------------
def from_parameter(value: Any) -> bool:
    """True when a text holds an inserted parameter, so that it may stand for a number or a boolean."""
    return isinstance(value, str) and OPEN in value


def plain(text: str) -> str:
    """A text for a field that is not SQL: the inserted values as they are."""
    return text.translate(_DROP_MARKS)


def plain_tree(value: Any) -> Any:
    """A JSON value whose texts are :func:`plain`."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(str(k)): plain_tree(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_tree(v) for v in value]
    return value


def sql_text(text: str) -> str:
    """A text for a field that holds SQL: inserted values are escaped for the quotes around them."""
    if OPEN not in text:
        return text
    out: list[str] = []
    state = _Quotes()
    for i, part in enumerate(re.split(f"[{OPEN}{CLOSE}]", text)):
        piece = _escape(part, state.quote) if i % 2 and state.quote else part
        out.append(piece)
        state.feed(piece)
    return "".join(out)


def _escape(text: str, quote: str) -> str:
    if quote == "`":
        return text.replace("`", "``")
    return text.replace("\\", "\\\\").replace(quote, "\\" + quote)


class _Quotes:
    """Follows SQL text: which quote is open."""

    def __init__(self) -> None:
        self.quote = ""
        self._comment = ""

    def feed(self, text: str) -> None:
        i = 0
        while i < len(text):
            c = text[i]
            if self._comment:
                if text.startswith(self._comment, i):
                    i += len(self._comment) - 1
                    self._comment = ""
            elif self.quote:
                if c == "\\" and self.quote != "`":
                    i += 1
                elif c == self.quote:
                    self.quote = ""
            elif c in "'\"`":
                self.quote = c
            elif text.startswith("--", i):
                self._comment = "\n"
            elif text.startswith("/*", i):
                self._comment = "*/"
            i += 1


def render_text(text: str, variables: Mapping[str, Any], *, sql: bool) -> str:
    """A text with each ``{{variable}}`` that is known replaced, and braces of inserted values put back."""
    if "{{" in text:
        out: list[str] = []
        state, pos = _Quotes(), 0
        for match in _PLACEHOLDER.finditer(text):
            if match["variable"] not in variables:
                continue
            before = text[pos:match.start()]
            state.feed(before)
            value = variables[match["variable"]]
            if not sql:
                piece = _words(value)
            elif state.quote:
                piece = _escape(_words(value), state.quote)
            else:
                piece = literal(value)
            out += [before, piece.translate(_HIDE_BRACES)]
            pos = match.end()
        text = "".join(out) + text[pos:]
    return text.translate(_SHOW_BRACES)


def variables_in(text: str) -> list[str]:
    """The names of the ``{{variables}}`` that a text uses."""
    return [m["variable"] for m in _PLACEHOLDER.finditer(text) if m["variable"]] if "{{" in text else []
