"""From a file or mapping to a tree: ``{param}`` bound, ``$include`` expanded; every defect on the way."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import Problem, nearest, pointer
from .syntax import MAX_DEPTH, TOKEN, parse_json, parse_yaml, reserved_character
from .text import (
    CLOSE,
    HIDE_BRACES,
    MARKS,
    MAX_DIGITS,
    NAME,
    OPEN,
    PLACEHOLDER,
    RESERVED,
    SHOW_BRACES,
    json_value,
    no_text_form,
    parameter_text,
    plain,
    too_long,
)

#: Files that include each other in a row.
MAX_INCLUDES = 50


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
        tree = loader.bind(loader.json_like(document, ""), "")
        folder, chain = Path(base) if base else Path.cwd(), tuple[Path, ...]()
    else:
        path = Path(document)
        whole = _resolved(path)
        tree = loader.read(path, "", missing="DOCUMENT_NOT_FOUND", expected=str(whole.parent))
        folder, chain = whole.parent, (whole,)
        if tree is None and not any(p.severity == "error" for p in loader.problems):
            loader.problems.append(Problem("WRONG_TYPE", "", {"found": "null (or an empty text)", "expected": "an object"}))
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
            elif (kind := no_text_form(value)) is not None:
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
        except (OSError, ValueError) as error:
            self.problems.append(Problem("DOCUMENT_NOT_READABLE", at, {"found": str(path).replace("\0", "\\0"), "reason": str(error)}))
            return None
        if mark := MARKS.search(text):
            self.problems.append(reserved_character(at, mark.group()))
            return None
        found: list[Problem] = []
        tree = parse_yaml(text, found) if path.suffix.lower() in (".yaml", ".yml") else parse_json(text, found)
        file = str(path) if at else None
        self.problems.extend(Problem(p.code, at + p.at, p.facts, p.severity, file) for p in found)
        if any(p.severity == "error" and p.code != "DUPLICATE_KEY" for p in found):
            return None
        return self.bind(tree, at)

    def json_like(self, value: Any, at: str) -> Any:
        """A mapping given from Python as the JSON value it stands for (tuples are lists); what no document can hold is left out."""
        if isinstance(value, Mapping | list | tuple) and at.count("/") >= MAX_DEPTH:
            self.problems.append(Problem("WRONG_TYPE", at, {"found": "a value that is nested too deep", "expected": f"at most {MAX_DEPTH} levels"}))
            return None
        if isinstance(value, Mapping):
            keys = {key: self._allowed(str(key), at) for key in value}
            return {keys[k]: self.json_like(v, at + pointer(keys[k])) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.json_like(v, at + pointer(i)) for i, v in enumerate(value)]
        if isinstance(value, dt.date):
            return value.isoformat()
        if too_long(value):
            self.problems.append(Problem("WRONG_TYPE", at, {"found": f"a number of more than {MAX_DIGITS} digits", "expected": "a shorter one"}))
            return None
        return self._allowed(value, at) if isinstance(value, str) else value

    def _allowed(self, text: str, at: str) -> str:
        if found := RESERVED.search(text):
            self.problems.append(reserved_character(at, found.group()))
            return RESERVED.sub("\ufffd", text)
        return text

    def bind(self, tree: Any, at: str) -> Any:
        """The tree with every ``{name}`` that has a value replaced."""
        if isinstance(tree, str):
            if bare := TOKEN.fullmatch(tree):
                return self._bare(bare.group(1), at)
            return self._inside(tree, at)
        if isinstance(tree, dict):
            return self._bound_object(tree, at)
        if isinstance(tree, list):
            return [self.bind(v, at + pointer(i)) for i, v in enumerate(tree)]
        return tree

    def _bound_object(self, tree: dict[str, Any], at: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        seen: set[str] = set()
        for raw, value in tree.items():
            key = self._inside(TOKEN.sub(r"\1", raw), at)
            if plain(key) in seen:  # two keys that parameters make one
                self.problems.append(Problem("DUPLICATE_KEY", at + pointer(plain(key)), {"found": plain(key)}))
            seen.add(plain(key))
            out[key] = self.bind(value, at + pointer(TOKEN.sub(r"\1", raw)))
        return out

    def _bare(self, token: str, at: str) -> Any:
        name = token[1:-1]
        if not NAME.fullmatch(name):
            number = plain(self._inside(token, at))
            try:
                value = json.loads(number)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
                self.problems.append(Problem("WRONG_TYPE", at, {"found": number, "expected": "a number"}))
                return None
            return value
        if name not in self.params:
            self._missing(name, at)
            return json_value(token)
        self.used.add(name)
        return json_value(self.params[name])

    def _inside(self, text: str, at: str) -> str:
        def insert(match: re.Match[str]) -> str:
            name = match["param"]
            if name is None:
                return match.group()
            if name not in self.params:
                self._missing(name, at)
                return match.group()
            self.used.add(name)
            return OPEN + parameter_text(self.params[name]).translate(HIDE_BRACES) + CLOSE

        return PLACEHOLDER.sub(insert, text) if "{" in text else text

    def _missing(self, name: str, at: str) -> None:
        facts = {"found": "{" + name + "}", "nearest": nearest(name, self.params)}
        self.problems.append(Problem("PARAMETER_WITHOUT_VALUE", at, facts, "error" if self.strict else "warning"))

    # --- $include --------------------------------------------------------------------------------------------
    def include_all(self, tree: dict[str, Any], folder: Path, chain: tuple[Path, ...]) -> dict[str, Any]:
        """The document with the fragments of every list of transformations in place."""
        out = dict(tree)
        if isinstance(tree.get("transformations"), list):
            out["transformations"] = self._steps(tree["transformations"], folder, chain, "/transformations")
        for key in ("output", "outputs"):
            out |= self._output_at(key, out, folder, chain, "")
        if isinstance(block := tree.get("validations"), dict):
            place = "/validations"
            block = {**block, **self._output_at("outputs", block, folder, chain, place), **self._output_at("report", block, folder, chain, place)}
            if isinstance(rules := block.get("rules"), list):
                places = [place + pointer("rules", i) for i in range(len(rules))]
                block["rules"] = [
                    {**r, **self._output_at("output", r, folder, chain, p)} if isinstance(r, dict) else r for r, p in zip(rules, places, strict=True)
                ]
            out["validations"] = block
        return out

    def _output_at(self, key: str, block: dict[str, Any], folder: Path, chain: tuple[Path, ...], at: str) -> dict[str, Any]:
        """The key with its destination, list of destinations, or sides of a split expanded; nothing when it is not there."""
        value, place = block.get(key), at + pointer(key)
        if isinstance(value, list):
            return {key: [self._nested(v, folder, chain, place + pointer(i)) if isinstance(v, dict) else v for i, v in enumerate(value)]}
        if not isinstance(value, dict):
            return {}
        sides = {s: self._nested(value[s], folder, chain, place + pointer(s)) for s in ("valid", "invalid") if isinstance(value.get(s), dict)}
        return {key: {**self._nested(value, folder, chain, place), **sides}}

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
        name = plain(step["$include"]).translate(SHOW_BRACES)
        path = _resolved(folder / name)
        if self.root is not None and not path.is_relative_to(self.root):
            self.problems.append(Problem("INCLUDE_OUTSIDE_ROOT", place, {"found": name, "expected": str(self.root)}))
            return []
        if path in chain:
            circle = " -> ".join(p.name for p in (*chain[chain.index(path) :], path))
            self.problems.append(Problem("INCLUDE_CYCLE", place, {"found": circle}))
            return []
        if len(chain) > MAX_INCLUDES or place.count("/") > MAX_DEPTH:
            self.problems.append(Problem("WRONG_TYPE", place, {"found": "fragments that are nested too deep", "expected": f"at most {MAX_DEPTH} levels"}))
            return []
        before = len(self.problems)
        fragment = self.read(path, place, missing="INCLUDE_NOT_FOUND", expected=f"here {folder}")
        if fragment is None:
            if not any(p.severity == "error" for p in self.problems[before:]):
                self.problems.append(Problem("INCLUDE_NOT_STEPS", place, {"found": name, "type": "nothing"}))
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


def _resolved(path: Path) -> Path:
    """The path without links and dots; as it is when the system cannot follow it, so that reading it says why."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path.absolute()
