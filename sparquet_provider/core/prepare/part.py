"""What the parts of a preparation have in common: misplaced keys are named with their right place, operations have an order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..errors import Problem, pointer
from ..spec import Parse, Spec, members_of, spec
from ..text import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

#: Columns that a run adds itself.
CONTROL = ("ingestion_ts", "ingestion_ts_utc", "__run_id", "row_hash")

#: Keys that describe data instead of changing it, and where they belong.
_CATALOGUE = {
    **dict.fromkeys(
        ("description", "comment", "comments", "aliases", "tags", "pii", "classification", "sensitivity", "glossary", "data_product", "deprecated"),
        "annotations",
    ),
    **dict.fromkeys(("owner", "owners", "domain", "criticality", "sla", "freshness_sla_minutes", "runbook_url", "groups", "contact"), "operations"),
    "annotations": "annotations",
    "operations": "operations",
}


#: Functions that make several rows of one, and what is no call of any: texts and comments.
_GENERATORS = re.compile(r"\b(explode|explode_outer|posexplode|posexplode_outer|inline|inline_outer|stack|json_tuple)`?\s*\(", re.IGNORECASE)
_NO_CALLS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def generator_in(expression: str) -> str:
    """The function in an SQL expression that makes several rows of one; empty when there is none."""
    found = _GENERATORS.search(_NO_CALLS.sub(" ", expression))
    return found[1].lower() if found else ""


@dataclass(frozen=True)
class Operation:
    """One step of a preparation, at its place in the document.

    ``label`` names it in the log. ``type`` is the transformation that reads rows as it does: what follows a cast
    decides whether its losses can be counted.
    """

    at: str
    label: str
    type: str
    apply: Callable[[DataFrame, Run], DataFrame]


@spec
class Part(Spec):
    """A part of a preparation."""

    #: Keys that stand elsewhere, with their place.
    ELSEWHERE: ClassVar[Mapping[str, str]] = _CATALOGUE

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read it; metadata of the catalogue and keys of another level are refused with their right place."""
        if not isinstance(raw, Mapping):
            return super().parse(raw, at, parse)
        known = {m.key for m in members_of(cls).values()}
        moved = {key: cls.ELSEWHERE[k] for key in raw if (k := plain(str(key))) in cls.ELSEWHERE and k not in known}
        for key, place in moved.items():
            parse.error("KEY_MISPLACED", at + pointer(plain(str(key))), found=plain(str(key)), expected=place)
        return super().parse({k: v for k, v in raw.items() if k not in moved}, at, parse)


def same_names(names: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> Iterator[Problem]:
    """A fault for each name that stands again, whatever its case; pairs of place and name."""
    seen: set[str] = set()
    for at, name in names:
        if name.casefold() in seen:
            yield Problem("COLUMN_COLLISION", at, {"found": name})
        seen.add(name.casefold())


def reserved(names: list[tuple[str, str]]) -> Iterator[Problem]:
    """A fault for each name that a control column has; pairs of place and name."""
    for at, name in names:
        if name.casefold() in CONTROL:
            yield Problem("RESERVED_COLUMN", at, {"found": name, "expected": CONTROL})
