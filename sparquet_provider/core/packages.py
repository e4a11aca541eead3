"""Which Maven packages a document needs beside Spark; no Spark, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .registry import built_in_formats
from .text import plain, plain_tree


def packages_of(format_name: str, options: Mapping[str, Any], kind: str | None) -> tuple[str, ...]:
    """The packages of a block; ``kind`` is the type of its connection. Empty when it needs none, or when that is not known."""
    found = built_in_formats().get(format_name.casefold())
    return found.packages_for(options, kind) if found else ()


def needed(tree: Any, kind_of: Callable[[str], str | None]) -> Iterator[str]:
    """The packages of every block of a document, as far as ``kind_of`` knows the types of connections."""
    if isinstance(tree, Mapping):
        name, options, connection = tree.get("format"), tree.get("options"), tree.get("connection")
        if isinstance(name, str):
            kind = kind_of(plain(connection)) if isinstance(connection, str) else None
            yield from packages_of(plain(name), plain_tree(options) if isinstance(options, Mapping) else {}, kind)
        for value in tree.values():
            yield from needed(value, kind_of)
    elif isinstance(tree, list):
        for value in tree:
            yield from needed(value, kind_of)
