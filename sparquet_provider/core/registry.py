"""Name → class for steps, rules, readers and writers; built-in and custom ones meet here.

Readers and writers registered from Python are shared by the process, transformations and validators belong to one
registry. The classes of :mod:`extension` (``BaseTransformation`` …) are adapted to the interfaces that the built-ins
have, so nothing else knows the difference.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, Literal

from . import formats, steps
from .custom import adapt_check, adapt_reader, adapt_transformation, adapt_writer
from .document import Rule, Step
from .errors import Problem, SparquetError
from .formats.base import Format
from .formats.connectors import connector_formats
from .quality import checks

Kind = Literal["transformation", "validator", "reader", "writer"]


@cache
def built_in_steps() -> dict[str, type[Step]]:
    """The transformations that come with the package, by type; one module each under ``steps/``."""
    return {c.type: c for c in _classes(steps, Step) if c.type}


@cache
def built_in_rules() -> dict[str, type[Rule]]:
    """The rules that come with the package, by type; one module each under ``quality/checks/``."""
    return {c.type: c for c in _classes(checks, Rule) if c.type}


@cache
def built_in_formats() -> dict[str, Format]:
    """The formats that come with the package, by name; one module each under ``formats/``, and the table of connectors."""
    return {f.name: f for f in [*(c() for c in _classes(formats, Format) if c.name), *connector_formats()]}


def _classes(package: Any, base: type) -> list[Any]:
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found += [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base) and c.__module__ == module.__name__]
    return found


#: What a class must have one of.
_METHODS: dict[Kind, tuple[str, ...]] = {"transformation": ("apply",), "validator": ("validate", "run"), "reader": ("read",), "writer": ("write",)}

#: Custom readers and writers of this process.
_READERS: dict[str, Any] = {}
_WRITERS: dict[str, Any] = {}


class Registry:
    """The types that one ``Sparquet`` or one lint run knows."""

    def __init__(self) -> None:
        self._steps: dict[str, type[Step]] = dict(built_in_steps())
        self._rules: dict[str, type[Rule]] = dict(built_in_rules())
        self.problems: list[Problem] = []

    def lookup(self, kind: str, name: str) -> Any:
        """The class (steps, rules) or format object of that name; None when there is none.

        The name ``*`` stands for a type that only the driver knows: it accepts every key.
        """
        if name == "*":
            return adapt_transformation("*", None) if kind == "transformation" else adapt_check("*", None)
        return self._table(kind).get(name.lower() if kind in ("reader", "writer", "validator") else name)

    def names(self, kind: str) -> list[str]:
        """All names of that kind, built-in ones first."""
        return list(self._table(kind))

    def register(self, kind: Kind, name: str, cls: type) -> None:
        """Add a custom type; replacing a built-in one is recorded as a warning in ``problems``.

        Raises:
            SparquetError: EXTENSION_FAILED, the name is no text, or what is registered is no class with the method of its kind.
        """
        methods = _METHODS[kind]
        if not isinstance(name, str) or not name.strip() or not isinstance(cls, type) or not any(callable(getattr(cls, m, None)) for m in methods):
            reason = f"a {kind} is a name and a class with {' or '.join(methods)}"
            raise SparquetError("EXTENSION_FAILED", found=f"{name!r}: {cls!r}", reason=reason)
        built_in: dict[str, Any] = dict(built_in_formats())
        if kind == "transformation":
            built_in = dict(built_in_steps())
        elif kind == "validator":
            built_in = dict(built_in_rules())
        if (name if kind == "transformation" else name.lower()) in built_in:
            self.problems.append(Problem("BUILT_IN_REPLACED", "", {"kind": kind, "found": name}, "warning"))
        if kind == "transformation":
            self._steps[name] = adapt_transformation(name, cls)
        elif kind == "validator":
            self._rules[name.lower()] = adapt_check(name, cls)
        elif kind == "reader":
            _READERS[name.lower()] = adapt_reader(name.lower(), cls)
        else:
            _WRITERS[name.lower()] = adapt_writer(name.lower(), cls)

    def capabilities(self) -> dict[str, list[str]]:
        """What this process can do, custom types included."""
        return {f"{kind}s": self.names(kind) for kind in ("transformation", "reader", "writer", "validator")}

    def _table(self, kind: str) -> dict[str, Any]:
        if kind == "transformation":
            return dict(self._steps)
        if kind == "validator":
            return dict(self._rules)
        formats = built_in_formats().items()
        if kind == "reader":
            return {**{n: f for n, f in formats if f.readable}, **_READERS}
        return {**{n: f for n, f in formats if f.writable}, **_WRITERS}


def reset_shared() -> None:
    """Forget the process-wide custom readers and writers (for tests)."""
    _READERS.clear()
    _WRITERS.clear()
