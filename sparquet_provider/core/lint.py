"""A document's defects, all of them, before Spark starts: no I/O, no pyspark, milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from .document import Check, Output, Pipeline, Rule, Source, Step
from .errors import Problem, nearest, pointer
from .formats.base import Format
from .formats.options import does_nothing, is_true
from .formats.safety import document_conflicts
from .jars import DELTA, ICEBERG, spark_version
from .prepare.contract import PLACES, Contract
from .registry import Registry
from .secrets import embedded, is_secret
from .spec import Parse, members_of, texts
from .text import from_parameter, plain, variables_in

D = TypeVar("D", Pipeline, Check)

#: A text that is a placeholder as a whole.
_PLACEHOLDER = re.compile(r"\{{1,2}\s*[A-Za-z_]\w*\s*\}{1,2}")

#: Order in which the parts of a document run, whatever the order of its keys.
_RUN_ORDER = ("input", "source", *members_of(Contract), "transformations", "validations", "output", "outputs")


def lint(
    tree: Any, registry: Registry | None = None, *, strict: bool = True, unknown_types: bool = False, files: Mapping[str, str] | None = None
) -> tuple[Pipeline | None, list[Problem]]:
    """Read a pipeline document and report every defect.

    Args:
        tree: the document as :func:`load.load` gives it.
        registry: the types that are known (the built-in ones by default).
        strict: misspelt keys and variables without a value are errors, not warnings.
        unknown_types: types that are not registered are left to the driver, where extensions register theirs.
        files: places of included fragments and their files, for the messages.

    Returns:
        the pipeline, None when it has errors; and the problems (severity error or warning).
    """
    return _lint(Pipeline, tree, registry, strict, unknown_types, files)


def lint_check(
    tree: Any, registry: Registry | None = None, *, strict: bool = True, unknown_types: bool = False, files: Mapping[str, str] | None = None
) -> tuple[Check | None, list[Problem]]:
    """Read a check document (input and rules) and report every defect; see :func:`lint`."""
    return _lint(Check, tree, registry, strict, unknown_types, files)


def _lint(
    cls: type[D], tree: Any, registry: Registry | None, strict: bool, unknown_types: bool, files: Mapping[str, str] | None
) -> tuple[D | None, list[Problem]]:
    types = registry or Registry()
    parse = Parse(types, strict=strict, unknown_types=unknown_types)
    document = cls.parse(tree, "", parse)
    problems = parse.problems
    problems += check_formats(parse, types, unknown_types)
    problems += _check_variables(parse, tree, strict)
    problems += _plain_secrets(tree)
    if isinstance(tree, Mapping):
        problems += _check_packages(tree)
    if document is not None:
        problems += document_conflicts(document)
    if isinstance(tree, Mapping) and "target_table" in tree and "output" not in tree:
        problems = [_at_target(p) for p in problems]
    problems = [_in_file(p, files or {}) for p in problems]
    problems.sort(key=lambda p: p.severity)
    failed = any(p.severity == "error" for p in problems)
    return (None if failed else document), problems


def check_formats(parse: Parse, types: Registry, unknown: bool) -> Iterator[Problem]:
    """What the formats say of the input and output blocks that were read."""
    for at, part in parse.parsed:
        if isinstance(part, Source):
            yield from _check_source(part, at, types, unknown)
        elif isinstance(part, Output):
            yield from _check_output(part, at, types, unknown)


def _check_source(source: Source, at: str, types: Registry, unknown: bool) -> Iterator[Problem]:
    found: Format | None = types.lookup("reader", source.format)
    if found is not None:
        yield from found.check_source(source, at)
        yield from _check_connection(source, found, at)
    elif types.lookup("writer", source.format) is not None:
        yield Problem("FORMAT_NOT_READABLE", at + "/format", {"found": source.format, "expected": types.names("reader")})
    elif not unknown:
        yield _unknown_format("reader", source.format, at, types)


def _check_output(output: Output, at: str, types: Registry, unknown: bool) -> Iterator[Problem]:
    found: Format | None = types.lookup("writer", output.format)
    if found is None:
        if types.lookup("reader", output.format) is not None:
            yield Problem("FORMAT_NOT_WRITABLE", at + "/format", {"found": output.format, "expected": types.names("writer")})
        elif not unknown:
            yield _unknown_format("writer", output.format, at, types)
        return
    if found.modes is not None and output.canonical_mode not in found.modes:
        facts = {"format": output.format, "found": output.mode, "expected": list(found.modes), "nearest": nearest(output.mode, found.modes)}
        yield Problem("MODE_NOT_SUPPORTED", at + "/mode", facts)
    if is_true(output.options, "comments") and type(found).comment is Format.comment:
        yield does_nothing(at + "/options/comments", "comments", f"for the format {output.format}", "write to a table of Delta or Iceberg")
    yield from found.check_output(output, at)
    yield from _check_connection(output, found, at)


def _check_connection(block: Source | Output, found: Format, at: str) -> Iterator[Problem]:
    if block.connection is not None and not found.takes_connection:
        reason, remedy = f"the format {block.format} takes no connection", "Remove it; the session's settings (spark.configs) hold such logins."
        yield Problem("INVALID_COMBINATION", at + "/connection", {"reason": reason, "remedy": remedy})


def _unknown_format(kind: str, name: str, at: str, types: Registry) -> Problem:
    known = types.names(kind)
    return Problem("UNKNOWN_TYPE", at + "/format", {"kind": kind, "found": name, "nearest": nearest(name, known), "expected": known})


# --- {{variables}} -------------------------------------------------------------------------------------------------
def _check_variables(parse: Parse, tree: Any, strict: bool) -> Iterator[Problem]:
    order: dict[str, int] = {}
    collected: dict[str, int] = {}
    for number, (at, raw) in enumerate(_in_run_order(tree)):
        order[at] = number
        name = raw.get("as")
        if raw.get("type") == "collect" and isinstance(name, str):
            collected.setdefault(plain(name), number)
    seen: set[tuple[str, str]] = set()
    for at, found in parse.parsed:
        part = found.own_keys if isinstance(found, Contract) else found
        if not isinstance(part, Step | Source | Output | Rule | Contract):
            continue
        for place, text in texts(part):
            for name in variables_in(text):
                earlier = collected.get(name, 10**9) < order.get(at, 10**9)
                if not earlier and (at + place, name) not in seen:
                    seen.add((at + place, name))
                    facts = {"found": "{{" + name + "}}", "nearest": nearest(name, collected)}
                    yield Problem("VARIABLE_NOT_COLLECTED", at + place, facts, "error" if strict else "warning")


def _in_run_order(raw: Any, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(raw, Mapping):
        yield at, raw
        keys = [plain(str(k)) for k in raw]
        if not at:
            keys.sort(key=lambda k: _RUN_ORDER.index(k) if k in _RUN_ORDER else -1)
        by_plain = {plain(str(k)): v for k, v in raw.items()}
        for key in keys:
            yield from _in_run_order(by_plain[key], at + pointer(key))
    elif isinstance(raw, list):
        for i, item in enumerate(raw):
            yield from _in_run_order(item, at + pointer(i))


# --- logins --------------------------------------------------------------------------------------------------------
def _plain_secrets(raw: Any, at: str = "") -> Iterator[Problem]:
    """Logins that stand in the options of a block; those that come from a parameter are not in the document."""
    if isinstance(raw, Mapping):
        options = raw.get("options")
        if isinstance(raw.get("format"), str) and isinstance(options, Mapping):
            for key, value in options.items():
                name = plain(str(key))
                if _is_login(name, value):
                    yield Problem("SECRET_IN_DOCUMENT", at + pointer("options", name), {"found": name}, "warning")
        for key, value in raw.items():
            yield from _plain_secrets(value, at + pointer(plain(str(key))))
    elif isinstance(raw, list):
        for i, value in enumerate(raw):
            yield from _plain_secrets(value, at + pointer(i))


def _is_login(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not value or from_parameter(value) or _PLACEHOLDER.fullmatch(value.strip()):
        return False
    return name.casefold() in ("user", "username", "sfuser") or is_secret(name) or bool(embedded(value))


# --- packages ------------------------------------------------------------------------------------------------------
def spark_line() -> str:
    """The Spark line that packages must fit, such as ``4.1``: of the installed pyspark, otherwise the tested one."""
    return ".".join(spark_version().split(".")[:2])


def _check_packages(tree: Mapping[str, Any]) -> Iterator[Problem]:
    spark = tree.get("spark")
    configs = spark.get("configs") if isinstance(spark, Mapping) else None
    packages = configs.get("spark.jars.packages") if isinstance(configs, Mapping) else None
    if not isinstance(packages, str):
        return
    for package in (p.strip() for p in plain(packages).split(",") if p.strip()):
        if (expected := package_for_this_spark(package)) != package:
            yield Problem("PACKAGE_VERSION", "/spark/configs/spark.jars.packages", {"found": package, "expected": expected})


def package_for_this_spark(package: str) -> str:
    """The package itself when it fits this Spark and Scala line, otherwise the one that does."""
    group, _, rest = package.partition(":")
    artifact, _, version = rest.partition(":")
    line = spark_line()
    if group == "io.delta" and re.match(r"delta-(spark|core)(_\d[\d.]*)?_2\.1\d$", artifact):
        fits = artifact in (f"delta-spark_{line}_2.13", "delta-spark_2.13") and int(version.split(".")[0] or 0) >= 4
        return package if fits else DELTA.replace("_4.1_", f"_{line}_")
    if match := re.match(r"iceberg-spark-runtime-(\d+\.\d+)_(2\.1\d)$", artifact):
        return package if match.groups() == (line, "2.13") else ICEBERG.replace("-4.1_", f"-{line}_")
    if artifact.endswith(("_2.12", "_2.11")):
        return f"{group}:{artifact[:-5]}_2.13:{version}"
    return package


def _at_target(problem: Problem) -> Problem:
    """A problem of the output that target_table stands for, at the key that the document has."""
    place = next((key for key in PLACES if problem.at == key or problem.at.startswith(key + "/")), None)
    return problem if place is None else replace(problem, at=PLACES[place] + problem.at.removeprefix(place))


def _in_file(problem: Problem, files: Mapping[str, str]) -> Problem:
    for place, file in sorted(files.items(), key=lambda item: -len(item[0])):
        if problem.at == place or problem.at.startswith(place + "/"):
            return replace(problem, file=problem.file or file)
    return problem
