"""Write the reference pages and the JSON Schema from the classes of the language: ``python scripts/reference.py [FOLDER]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from sparquet_provider.cli import command_line  # noqa: E402
from sparquet_provider.core.document import Check, Output, Pipeline, Quarantine, Rule, Source, SparkBlock, Step, Validations  # noqa: E402
from sparquet_provider.core.errors import CATALOGUE  # noqa: E402
from sparquet_provider.core.prepare.arrays import ArrayStep  # noqa: E402
from sparquet_provider.core.prepare.contract import Annotations, Contract  # noqa: E402
from sparquet_provider.core.prepare.deduplicate import Deduplicate, Order  # noqa: E402
from sparquet_provider.core.prepare.flatten import Flatten  # noqa: E402
from sparquet_provider.core.prepare.parse_json import ParseJson  # noqa: E402
from sparquet_provider.core.prepare.projection import Projected  # noqa: E402
from sparquet_provider.core.prepare.shape import Shape  # noqa: E402
from sparquet_provider.core.prepare.standardize import Standardize  # noqa: E402
from sparquet_provider.core.prepare.transform import Transform  # noqa: E402
from sparquet_provider.core.prepare.zip_arrays import ZipArrays  # noqa: E402
from sparquet_provider.core.quality.named_formats import FORMATS  # noqa: E402
from sparquet_provider.core.registry import Registry, built_in_formats  # noqa: E402
from sparquet_provider.core.schema import pipeline_schema  # noqa: E402
from sparquet_provider.core.spec import Spec, describe, members_of  # noqa: E402

HEAD = "<!-- Written by scripts/reference.py from the classes; do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated file, by its path below ``docs/``."""
    types = Registry()
    return {
        "reference/document.md": HEAD
        + "# The document\n\n"
        + "\n".join(_spec(c.__name__, c) for c in (Pipeline, SparkBlock, Source, Output, Validations, Quarantine, Check)),
        "reference/preparation.md": HEAD + _preparation(),
        "reference/transformations.md": HEAD + _variants("Transformations", "transformation", Step, types),
        "reference/rules.md": HEAD + _variants("Rules", "validator", Rule, types),
        "reference/formats.md": HEAD + _formats(),
        "reference/errors.md": HEAD + _errors(),
        "reference/command-line.md": HEAD + _command_line(),
        "named-formats.md": HEAD + _named_formats(),
        "schema/pipeline.json": json.dumps(pipeline_schema(), ensure_ascii=False, indent=2) + "\n",
    }


def _preparation() -> str:
    parts = (Contract, Transform, Shape, ParseJson, Flatten, ZipArrays, ArrayStep, Projected, Standardize, Deduplicate, Order, Annotations)
    words = (
        "# Preparation\n\nThe keys of a contract stand at the top of a document and act after the read, before the transformations, in this order:\n"
        "select_columns, column_mapping, shape (parse_json, flatten, zip_arrays, arrays, columns), cast, standardize, derive, filter_expression, custom_keys,\n"
        "watermark_columns, deduplicate, control columns. The order of the keys in the document does not matter.\n\n"
    )
    return words + "\n".join(_spec(c.__name__, c) for c in parts)


def _command_line() -> str:
    parser = command_line()
    commands = next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    lines = ["# The command `sparquet`\n", f"{parser.epilog}\n"]
    for name, command in commands.items():
        lines += [f"## {name}\n", f"{command.description}\n", "| argument | what it does |", "|---|---|"]
        lines += [f"| `{_argument(a)}` | {a.help} |" for a in command._actions if a.dest != "help"]
        lines.append("")
    return "\n".join(lines)


def _argument(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if action.nargs == 0:
        return action.option_strings[0]
    if action.option_strings:
        return f"{action.option_strings[0]} {value}"
    return value.upper() + {"+": " …", "?": " (optional)"}.get(str(action.nargs), "")


def _variants(title: str, kind: str, base: type[Spec], types: Registry) -> str:
    names = types.names(kind)
    shared = [m for m in members_of(base).values()]
    lines = [f"# {title}\n", "| type | what it does |", "|---|---|"]
    lines += [f"| [`{n}`](#{n}) | {types.lookup(kind, n).summary()} |" for n in names]
    if shared:
        lines += ["\nEvery one of them also takes:\n", *_table(base)]
    return "\n".join(lines) + "\n\n" + "\n".join(_spec(n, types.lookup(kind, n), without=set(members_of(base))) for n in names)


def _spec(title: str, cls: type[Spec], without: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    lines = [f"## {title}\n", cleandoc(cls.__doc__ or "") + "\n", *_table(cls, without)]
    if notes := getattr(cls, "notes", ()):
        lines += ["\nWorth knowing:\n", *(f"- {note}" for note in notes)]
    if hasattr(cls, "type") and cls.type:
        lines += ["\n```json", json.dumps(example(cls, without), ensure_ascii=False), "```"]
    return "\n".join(lines) + "\n"


def example(cls: Any, without: set[str]) -> dict[str, Any]:
    """A document part from the examples of the required keys; optional ones only when nothing is required."""
    members = {n: m for n, m in members_of(cls).items() if n not in without and m.field.example is not None}
    chosen = {n: m for n, m in members.items() if m.required} or dict(list(members.items())[:1])
    return {"type": cls.type, **{m.key: m.field.example for m in chosen.values()}}


def _table(cls: type[Spec], without: set[str] = frozenset()) -> Iterator[str]:  # type: ignore[assignment]
    members = [m for n, m in members_of(cls).items() if n not in without]
    if not members:
        yield "No keys of its own."
        return
    yield "| key | value | required | meaning |"
    yield "|---|---|---|---|"
    for m in members:
        words = describe(m.hint) + (f": {', '.join(m.field.choices)}" if m.field.choices else "")
        default = "yes" if m.required else _default(m.default)
        also = f" Also spelled {', '.join(f'`{a}`' for a in m.field.aliases)}." if m.field.aliases else ""
        shown = f" Example: `{json.dumps(m.field.example, ensure_ascii=False)}`" if m.field.example is not None else ""
        yield f"| `{m.key}` | {words} | {default} | {m.field.doc}{also}{shown} |".replace("||", "\\|\\|")


def _default(value: Any) -> str:
    if value in (None, (), {}) or isinstance(value, Spec):
        return "no"
    return f"no (`{json.dumps(value)}`)"


def _formats() -> str:
    lines = ["# Formats\n", "| format | read | write | modes |", "|---|---|---|---|"]
    formats = built_in_formats()
    for name, found in formats.items():
        modes = ", ".join(found.modes or ()) if found.writable else ""
        lines.append(f"| [`{name}`](#{name}) | {'yes' if found.readable else ''} | {'yes' if found.writable else ''} | {modes} |")
    for name, found in formats.items():
        lines += [f"\n## {name}\n", cleandoc(type(found).__doc__ or "")]
        if found.package:
            lines.append(f"\nNeeds the package `{found.package}`.")
        if found.notes:
            lines += ["\nWorth knowing:\n", *(f"- {note}" for note in found.notes)]
    return "\n".join(lines) + "\n"


def _errors() -> str:
    lines = [
        "# Errors and warnings\n",
        "Each names its place in the document as a JSON Pointer. Only *infrastructure* is retried by Airflow.\n",
        "| code | who acts | what it says | remedy |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{code}` | {e.category} | {e.message} | {e.remedy} |".replace("\n", " ") for code, e in CATALOGUE.items()]
    return "\n".join(lines) + "\n"


def _named_formats() -> str:
    lines = [
        "# Named formats\n",
        "What `valid_format` of the [rules](reference/rules.md) `invalid_count` and `invalid_percent` accepts. A value must match as a whole: blanks or a",
        "line break around it make it invalid, and so does a digit or letter outside of ASCII where the format speaks of digits and letters. Names are",
        "compared without case. Values of other types than text are judged by the text that Spark casts them to.\n",
        "| name | accepts | source | accepted | rejected |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| `{f.name}` | {f.accepts} | {f.source} | `{f.example}` | `{f.counterexample}` |" for f in FORMATS]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all pages below the folder (``docs`` by default)."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs")
    for name, text in pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
