"""What must never be shown: which keys hold secrets, and how their values are kept out of texts and trees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

#: What stands in place of a secret.
MASK = "***"

#: A shorter value is hidden under its own key only: as part of any text it would hide harmless words.
SHORTEST_IN_TEXT = 4

_WORDS = (
    r"passw(?:or)?d|passphrase|pwd(?![a-z])|secret|token(?!s\b|_count|iz)|credential|bearer|authorization|connection[._-]?string|webhook"
    r"|(?:access|api|account|private|service|shared|encryption)[._-]?key|sas[._-]?(?:key|token)"
)
_SECRET = re.compile(_WORDS, re.IGNORECASE)
# Settings about secrets that are none: spark.hadoop.fs.s3a.aws.credentials.provider, tokenUrl, password.file
_ABOUT = re.compile(r"(?:provider|providers|class|type|enabled|file|path|location|url|uri|endpoint|timeout|interval|renewal|column|columns)$", re.IGNORECASE)
_HARMLESS = re.compile(r"|true|false|none|null|\*+|\d{1,3}", re.IGNORECASE)

# key=value, key: value, -key value inside a longer text (options for the JVM, JDBC URLs, command lines). The value is only
# looked at, so that the search goes on inside it; all lengths are bounded, so that long texts cost no more than their length.
_VALUE = r"""(?=(?:"((?:[^"\\]|\\.){0,500})"|'((?:[^'\\]|\\.){0,500})'|([^\s"'&;,]{1,2000})))"""
_PAIR = re.compile(rf"""(?<![\w.\-])(?:([\w.\-]{{1,200}})["']?\s{{0,9}}[=:]\s{{0,9}}|(-[\w.\-]{{1,200}})\s{{1,9}}){_VALUE}""")
_USER_INFO = re.compile(r"//[^/\s:@]{0,200}:([^/\s@]{1,2000})@")


def is_secret(key: Any) -> bool:
    """True when a value under this key is to be hidden: ``db.password``, ``fs.s3a.access.key``, ``apiKey``."""
    return isinstance(key, str) and bool(_SECRET.search(key)) and not _ABOUT.search(key)


def embedded(text: Any) -> list[str]:
    """The secrets inside a longer text: ``-Dpassword=x``, ``password="x y"``, ``https://user:x@host``."""
    if not isinstance(text, str):
        return []
    pairs = [next(filter(None, m.groups()[2:]), "") for m in _PAIR.finditer(text) if is_secret(m[1] or m[2])]
    return [s for s in pairs + _USER_INFO.findall(text) if not _HARMLESS.fullmatch(s)]


def mask(value: Any) -> Any:
    """A copy of a mapping (or list) in which the values of secret keys are replaced by ``***``, at any depth."""
    if isinstance(value, Mapping):
        return {k: MASK if is_secret(k) and v not in (None, "") and not isinstance(v, bool) else mask(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [mask(v) for v in value]
    return mask_text(value) if isinstance(value, str) else value


def mask_text(text: str) -> str:
    """A text in which the secrets that it shows by their names are replaced by ``***``."""
    found = embedded(text)
    return Scrubber(found, shortest=1)(text) if found else text


def values(tree: Any) -> Iterator[str]:
    """Every secret value in a tree of mappings and lists: those under secret keys, and those inside texts."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value) if is_secret(key) else values(value)
    elif isinstance(tree, list | tuple | set | frozenset):
        for item in tree:
            yield from values(item)
    else:
        yield from embedded(tree)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool) and not _HARMLESS.fullmatch(str(value)):
        yield str(value)


class Scrubber:
    """Replaces known secrets in texts and trees, also where they are escaped (JSON, SQL, URL).

    Args:
        secrets: the values to hide.
        shortest: values with fewer characters are left alone.
    """

    def __init__(self, secrets: Iterable[str], shortest: int = SHORTEST_IN_TEXT) -> None:
        forms = {form for s in secrets if len(s) >= shortest for form in _forms(s)}
        # The longest first, so that a secret which contains another one disappears as a whole.
        self._pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def tree(self, value: Any) -> Any:
        """A copy of a JSON tree without the secrets."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(k) if isinstance(k, str) else k: self.tree(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(v) for v in value]
        return value


def _forms(secret: str) -> set[str]:
    escaped = [json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)]
    return {secret, secret.replace("'", "\\'"), quote(secret, safe=""), *(e[1:-1] for e in escaped)}
