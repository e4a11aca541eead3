"""The language as classes: a frozen dataclass with ``Annotated`` fields gives the parser, the linter's form checks,
the JSON Schema, and the reference pages.

``Spec.parse`` turns a JSON value into an instance and reports every defect with its JSON Pointer; it never stops at
the first. Text that came from a parameter is still marked (see :mod:`text`), so that a field which holds SQL can
escape it for the quotes it stands in.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar, Union, cast, dataclass_transform, get_args, get_origin, get_type_hints

from .errors import Problem, Severity, is_near_miss, nearest, pointer
from .text import from_parameter, plain, plain_tree, render_text, sql_text

T = TypeVar("T")


@dataclass(frozen=True)
class Field:
    """What a key means: the text for users, an example, and how its value is to be read.

    Args:
        doc: one sentence for the reference page, the form and the completion of editors.
        example: a value that would be right.
        sql: the text (or each text inside) is Spark SQL: parameters and variables are quoted for their place.
        sql_keys: the keys of a free object, in lower case, whose texts are SQL; True for Spark's own, False for that of another database.
        choices: the accepted texts, compared without case.
        aliases: other spellings of the key that are accepted.
        minimum: the smallest number allowed.
        nonempty: an empty text, list or map is an error.
        free: the keys inside belong to the user (options, configs) and are never checked.
        runtime: ``{{variable}}`` is replaced in it while running.
        one_or_more: a single value is read as a list of one.
    """

    doc: str
    example: Any = None
    sql: bool = False
    sql_keys: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    minimum: int | None = None
    nonempty: bool = False
    free: bool = False
    runtime: bool = True
    one_or_more: bool = False


class Types(Protocol):
    """Where the names of steps, rules and formats are looked up (the registry implements it)."""

    def lookup(self, kind: str, name: str) -> Any:
        """The class of that name, or None."""

    def names(self, kind: str) -> list[str]:
        """All names of that kind."""


class Parse:
    """One pass over a document: the registry in, the problems out."""

    def __init__(self, types: Types, *, strict: bool = True, unknown_types: bool = False) -> None:
        self.types = types
        self.strict = strict
        self.unknown_types = unknown_types
        self.problems: list[Problem] = []
        #: Every part that was read without defect, with its place; also when a part around it has one.
        self.parsed: list[tuple[str, Spec]] = []

    def error(self, code: str, at: str, **facts: Any) -> None:
        """Record a defect that makes the document wrong."""
        self.problems.append(Problem(code, at, facts))

    def report(self, code: str, at: str, severity: Severity, **facts: Any) -> None:
        """Record a defect of the given weight."""
        self.problems.append(Problem(code, at, facts, severity))


class _Wrong:
    """The value could not be read; the defect is recorded."""


WRONG = _Wrong()


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def spec(cls: type[T]) -> type[T]:
    """Make a class a part of the language: a frozen dataclass whose fields are given by name."""
    return dataclass(frozen=True, kw_only=True)(cls)


@spec
class Spec:
    """Base of every part of the language."""

    #: Keys that every object of this family may carry beside its own fields (the type of a step, say).
    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ()
    #: Rendered on its own when its turn comes (a step); such a part is left alone when its parent is rendered.
    RENDERED_WHEN_RUN: ClassVar[bool] = False

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read a JSON object; None when it has defects (they are in ``parse.problems``)."""
        if not isinstance(raw, Mapping):
            parse.error("WRONG_TYPE", at, found=shown(raw), expected="an object")
            return None
        members = members_of(cls)
        spelled = {alias: name for name, m in members.items() for alias in (m.key, *m.field.aliases)}
        values: dict[str, Any] = {}
        wrong = False
        for raw_key, value in raw.items():
            key = plain(str(raw_key))
            name = spelled.get(key)
            if name is None:
                if key not in cls.EXTRA_KEYS:
                    _unknown_key(key, [*spelled, *cls.EXTRA_KEYS], at, parse)
                continue
            if name in values:
                other = next(k for k in map(plain, map(str, raw)) if spelled.get(k) == name and k != key)
                parse.error("KEYS_EXCLUDE", at + pointer(key), found=f"{other} and {key}", reason="they are two spellings of one key")
                continue
            result = _read(members[name].hint, members[name].field, value, at + pointer(key), parse)
            if result is WRONG:
                wrong = True
                values[name] = WRONG
            else:
                values[name] = result
        for name, member in members.items():
            if member.required and name not in values:
                known = [k for k in (plain(str(k)) for k in raw) if k not in spelled and k not in cls.EXTRA_KEYS]
                example = f", for example {{{member.key!r}: {member.field.example!r}}}" if member.field.example is not None else ""
                parse.error("MISSING_KEY", at, expected=member.key, nearest=nearest(member.key, known), hint=example)
                wrong = True
        if wrong:
            return None
        # With defects, too, the part goes on: what stands around it is then checked as well, and the document fails in the end.
        made = cls(**values)
        parse.problems.extend(made.check(at))
        parse.parsed.append((at, made))
        return made

    def check(self, at: str) -> Iterator[Problem]:
        """Defects that show only when several keys are seen together."""
        yield from ()

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what it does, for users."""
        return (cls.__doc__ or "").strip().split("\n", 1)[0]


@dataclass(frozen=True)
class Member:
    """A field of a spec: the key in the document, its type, its metadata."""

    key: str
    hint: Any
    field: Field
    required: bool
    default: Any


_MEMBERS: dict[type[Spec], dict[str, Member]] = {}


def members_of(cls: type[Spec]) -> dict[str, Member]:
    """The fields of a spec that stand in documents, by attribute name (a trailing ``_`` is dropped from the key)."""
    if cls not in _MEMBERS:
        _MEMBERS[cls] = _find_members(cls)
    return _MEMBERS[cls]


def _find_members(cls: type[Spec]) -> dict[str, Member]:
    hints = get_type_hints(cls, include_extras=True)
    found: dict[str, Member] = {}
    for f in fields(cls):
        hint = hints[f.name]
        if get_origin(hint) is not Annotated:
            continue
        meta = next((m for m in get_args(hint)[1:] if isinstance(m, Field)), None)
        if meta is None:
            continue
        required = f.default is MISSING and f.default_factory is MISSING
        default = None if required else (f.default if f.default is not MISSING else cast(Any, f.default_factory)())
        found[f.name] = Member(f.name.rstrip("_"), get_args(hint)[0], meta, required, default)
    return found


def shown(value: Any) -> str:
    """A value as an error names it: short, and by its JSON type when it is large."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = plain(value) if isinstance(value, str) else str(value)
    text = text if len(text) <= 60 else text[:57] + "…"
    return repr(text) if isinstance(value, str) else text


def _unknown_key(key: str, known: list[str], at: str, parse: Parse) -> None:
    near = is_near_miss(key, known)
    facts = {"found": key, "nearest": nearest(key, known), "expected": sorted(set(known))}
    if near and parse.strict:
        parse.error("MISSPELT_KEY", at + pointer(key), **facts)
    else:
        parse.report("UNKNOWN_KEY", at + pointer(key), "warning", **facts)


def _read(hint: Any, meta: Field, raw: Any, at: str, parse: Parse) -> Any:
    """One value by its annotation; WRONG when it has a defect."""
    before = len(parse.problems)
    value = _convert(hint, meta, raw, at, parse)
    if value is WRONG:
        if not any(p.severity == "error" for p in parse.problems[before:]):
            parse.error("WRONG_TYPE", at, found=shown(raw), expected=describe(hint), hint="")
        return WRONG
    if meta.nonempty and (value is None or (isinstance(value, str | tuple | Mapping) and not (value.strip() if isinstance(value, str) else value))):
        parse.error("EMPTY_VALUE", at, expected=describe(hint), hint=f", for example {meta.example!r}" if meta.example is not None else "")
        return WRONG
    if meta.minimum is not None and isinstance(value, int | float) and not isinstance(value, bool) and value < meta.minimum:
        parse.error("TOO_SMALL", at, found=value, expected=meta.minimum)
        return WRONG
    if meta.choices and isinstance(value, str):
        folded = {c.casefold(): c for c in meta.choices}
        if value.casefold() not in folded:
            parse.error("WRONG_CHOICE", at, found=value, expected=list(meta.choices), nearest=nearest(value, meta.choices))
            return WRONG
        return folded[value.casefold()]
    return value


def _convert(hint: Any, meta: Field, raw: Any, at: str, parse: Parse) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return plain_tree(raw)
    if hint is type(None):
        return None if raw is None else WRONG
    if origin in (Union, types.UnionType):
        return _convert_union(args, meta, raw, at, parse)
    if origin is Literal:
        text = plain(raw) if isinstance(raw, str) else raw
        return text if any(text == a and type(text) is type(a) for a in args) else WRONG
    if hint is str:
        if not isinstance(raw, str):
            return WRONG
        return sql_text(raw) if meta.sql else plain(raw)
    if hint is bool:
        return _bool(raw)
    if hint is int:
        number = _number(raw, whole=True)
        if number is not WRONG and not -(2**63) <= number < 2**63:
            parse.error("WRONG_TYPE", at, found=shown(raw), expected="a whole number of at most 64 bits", hint="")
            return WRONG
        return number
    if hint is float:
        return _number(raw, whole=False)
    if origin is tuple:
        if meta.one_or_more and not isinstance(raw, list | tuple | Mapping):
            raw = [raw]
        if not isinstance(raw, list | tuple):
            return WRONG
        items = [_read(args[0], inner(meta), item, at + pointer(i), parse) for i, item in enumerate(raw)]
        return WRONG if any(i is WRONG for i in items) else tuple(items)
    if origin in (dict, Mapping):
        if not isinstance(raw, Mapping):
            return WRONG
        pairs = {}
        for raw_key, item in raw.items():
            key = plain(str(raw_key))
            sparks = meta.sql_keys.get(key.casefold())
            is_sql = sparks is not None and isinstance(item, str)
            pairs[key] = sql_text(item, standard=not sparks) if is_sql else _read(args[1], inner(meta), item, at + pointer(key), parse)
        return WRONG if any(v is WRONG for v in pairs.values()) else pairs
    if isinstance(hint, type) and issubclass(hint, Spec):
        spec = hint.parse(raw, at, parse)
        return WRONG if spec is None else spec
    if hint is Tree:
        return _tree(raw, meta, at, parse)
    raise TypeError(f"the language has no values of type {hint!r}")


class Tree(dict[str, Any]):
    """A nested map whose leaves are SQL texts (the fields of a struct)."""


def _tree(raw: Any, meta: Field, at: str, parse: Parse) -> Any:
    if not isinstance(raw, Mapping):
        return WRONG
    out, wrong = Tree(), False
    for raw_key, value in raw.items():
        key = plain(str(raw_key))
        if isinstance(value, str):
            out[key] = sql_text(value)
        elif isinstance(value, Mapping):
            inner = _tree(value, meta, at + pointer(key), parse)
            wrong, out[key] = wrong or inner is WRONG, inner
        else:
            parse.error("WRONG_TYPE", at + pointer(key), found=shown(value), expected="an SQL expression or an object", hint="")
            wrong = True
    return WRONG if wrong else out


def inner(meta: Field) -> Field:
    """What of a field's metadata holds for the values inside a list or map."""
    return replace(meta, nonempty=isinstance(meta.example, list | tuple) and meta.nonempty, choices=meta.choices, minimum=None)


def _convert_union(args: tuple[Any, ...], meta: Field, raw: Any, at: str, parse: Parse) -> Any:
    # The alternative that fits the JSON type is read, so that defects inside it are reported where they are.
    for arg in args:
        if _fits(arg, raw):
            return _convert(arg, meta, raw, at, parse)
    if from_parameter(raw):
        for arg in args:
            value = _convert(arg, meta, raw, at, parse)
            if value is not WRONG:
                return value
    return WRONG


def _fits(hint: Any, raw: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any:
        return True
    if hint is type(None):
        return raw is None
    if origin is Literal:
        return any(raw == a and type(raw) is type(a) for a in get_args(hint))
    if hint is str:
        return isinstance(raw, str)
    if hint is bool:
        return isinstance(raw, bool)
    if hint is int:
        return isinstance(raw, int) and not isinstance(raw, bool)
    if hint is float:
        return isinstance(raw, int | float) and not isinstance(raw, bool)
    if origin is tuple:
        return isinstance(raw, list | tuple)
    if hint is Tree or origin in (dict, Mapping) or (isinstance(hint, type) and is_dataclass(hint)):
        return isinstance(raw, Mapping)
    return False


def _bool(raw: Any) -> Any:
    if isinstance(raw, bool):
        return raw
    # A parameter inside quotes arrives as text ("{flag}"): false and nothing are the empty text there.
    if from_parameter(raw):
        text = plain(raw).strip().casefold()
        if text in ("true", "false", ""):
            return text == "true"
    return WRONG


def _number(raw: Any, *, whole: bool) -> Any:
    if from_parameter(raw):
        try:
            raw = int(plain(raw).strip()) if whole else float(plain(raw).strip())
        except ValueError:
            return WRONG
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return WRONG
    if whole:
        return raw if isinstance(raw, int) else int(raw) if raw.is_integer() else WRONG
    return raw if isinstance(raw, float) or abs(raw) <= sys.float_info.max else WRONG


def describe(hint: Any) -> str:
    """A type in words: ``a list of texts``."""
    origin, args = get_origin(hint), get_args(hint)
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null", Any: "any value"}
    if hint in names:
        return names[hint]
    if origin in (Union, types.UnionType):
        return " or ".join(describe(a) for a in args if a is not type(None))
    if origin is Literal:
        return " or ".join(repr(a) for a in args)
    if origin is tuple:
        return "a list of " + {"a text": "texts", "true or false": "true or false"}.get(describe(args[0]), "objects")
    return "an object"


def render(spec: Any, variables: Mapping[str, Any]) -> Any:
    """The spec with every ``{{variable}}`` replaced, and braces that came from parameters put back.

    Steps inside it are left alone: they are rendered when they run. In SQL fields the value becomes a literal, in
    others plain text.
    """
    changes = {
        name: _render_field(getattr(spec, name), member.field, variables) for name, member in members_of(type(spec)).items() if member.field.runtime
    }
    return replace(spec, **changes)


def _render_field(value: Any, meta: Field, variables: Mapping[str, Any]) -> Any:
    if not meta.sql_keys or not isinstance(value, Mapping):
        return _render_value(value, meta.sql or isinstance(value, Tree), variables)
    return {_render_value(k, False, variables): _render_option(v, meta.sql_keys.get(k.casefold()), variables) for k, v in value.items()}


def _render_option(value: Any, sparks: bool | None, variables: Mapping[str, Any]) -> Any:
    """A value of a free object; ``sparks`` says whose SQL it is, None for no SQL."""
    if sparks is None or not isinstance(value, str):
        return _render_value(value, False, variables)
    return render_text(value, variables, sql=True, standard=not sparks)


def _render_value(value: Any, sql: bool, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return render_text(value, variables, sql=sql)
    if isinstance(value, Tree):
        return Tree({_render_value(k, False, variables): _render_value(v, True, variables) for k, v in value.items()})
    if isinstance(value, Mapping):
        return {_render_value(k, False, variables): _render_value(v, sql, variables) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(_render_value(v, sql, variables) for v in value)
    if isinstance(value, list):
        return [_render_value(v, sql, variables) for v in value]
    if isinstance(value, Spec) and not value.RENDERED_WHEN_RUN:
        return render(value, variables)
    return value


def texts(part: Spec, at: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a part in which variables are replaced, with its place; nested steps are left to their own turn."""
    for name, member in members_of(type(part)).items():
        if member.field.runtime:
            yield from _texts_of(getattr(part, name), at + pointer(member.key))


def _texts_of(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for k, v in value.items():
            yield from _texts_of(v, at + pointer(str(k)))
    elif isinstance(value, tuple | list):
        for i, v in enumerate(value):
            yield from _texts_of(v, at + pointer(i))
    elif isinstance(value, Spec) and not value.RENDERED_WHEN_RUN:
        yield from texts(value, at)
