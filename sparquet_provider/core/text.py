"""Texts of a document: placeholders, inserted values, and what becomes of them in SQL and elsewhere.

Nothing is pasted into raw text. A value that is put inside a string stands between two marks, and the marks stay until
the field is known: :func:`sql_text` escapes for the quotes around it, :func:`plain` only drops the marks. So no value
can break out, and inserted text is never scanned again (its braces are hidden until :func:`render_text`).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .errors import SparquetError

OPEN, CLOSE = "\ufdd0", "\ufdd1"
_LEFT, _RIGHT = "\ufdd2", "\ufdd3"
MARKS = re.compile(f"[{OPEN}{CLOSE}{_LEFT}{_RIGHT}]")
#: Halves of a character; no text with them can be written or hashed.
SURROGATES = re.compile(r"[\ud800-\udfff]")
RESERVED = re.compile(f"{MARKS.pattern}|{SURROGATES.pattern}")
#: Python turns no longer number into text.
MAX_DIGITS = 4300
_DROP_MARKS = str.maketrans("", "", OPEN + CLOSE)
HIDE_BRACES = str.maketrans("{}", _LEFT + _RIGHT)
SHOW_BRACES = str.maketrans(_LEFT + _RIGHT, "{}")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: ``{name}`` or ``{{name}}`` inside a text; not after ``$`` or ``\``, nor after a backslash and a letter (``\p{L}``).
PLACEHOLDER = re.compile(rf"(?<![$\\])(?<!\\[A-Za-z])(?:\{{\{{\s*(?P<variable>{NAME.pattern})\s*\}}\}}|\{{(?P<param>{NAME.pattern})\}})")


_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?")


# --- values ------------------------------------------------------------------------------------------------------
_SCALARS = (str, bool, int, float, Decimal, dt.date, type(None))


def no_text_form(value: Any) -> str | None:
    """The name of the value's type when a parameter cannot have it."""
    if isinstance(value, str) and RESERVED.search(value):
        return "text with a reserved character"
    if too_long(value):
        return f"number of more than {MAX_DIGITS} digits"
    if isinstance(value, _SCALARS):
        return None
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        kinds = (no_text_form(v) if isinstance(v, _SCALARS) else type(v).__name__ for v in value)
        return next((f"list that holds a {kind}" for kind in kinds if kind), None)
    return type(value).__name__


def too_long(value: Any) -> bool:
    """True for a whole number that has no text form."""
    return isinstance(value, int) and value.bit_length() > MAX_DIGITS * math.log2(10)


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


def json_value(value: Any) -> Any:
    """A parameter outside of strings: the JSON value; its texts are marked as inserted."""
    if isinstance(value, str):
        return OPEN + value.translate(HIDE_BRACES) + CLOSE
    if isinstance(value, dt.date):
        return OPEN + value.isoformat() + CLOSE
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Sequence):
        return [json_value(v) for v in value]
    return value


def _quote(text: str, *, standard: bool = False) -> str:
    if standard:
        return "'" + text.replace("'", "''") + "'"
    # A backslash escape, because '' means a quote or nothing depending on spark.sql.legacy.consecutiveStringLiterals.
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def instant(text: str) -> dt.datetime:
    """The date or timestamp of an ISO text, in the forms that Spark reads, too: ``2026-01-31``, ``2026-01-31 06:00:00.5-03:00``.

    Raises:
        ValueError: the text is none, or no such day exists.
    """
    if not _INSTANT.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is no date or timestamp")
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no date or timestamp") from None


def literal(value: Any, *, standard: bool = False) -> str:
    """A runtime value as a Spark SQL literal; a list is joined by commas, an empty list is ``NULL``.

    ``standard`` writes texts as the SQL of other databases has them.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quote(value, standard=standard)
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
        return ", ".join(literal(v, standard=standard) for v in value) if value else "NULL"
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


def sql_text(text: str, *, standard: bool = False) -> str:
    """A text for a field that holds SQL: inserted values are escaped for the quotes around them.

    ``standard`` is the SQL of other databases: a quote is doubled there, and a backslash is one.
    """
    if OPEN not in text:
        return text
    out: list[str] = []
    state = _Quotes()
    for i, part in enumerate(re.split(f"[{OPEN}{CLOSE}]", text)):
        piece = _escape(part, state.quote, standard=standard) if i % 2 and state.quote else part
        out.append(piece)
        state.feed(piece)
    return "".join(out)


def _escape(text: str, quote: str, *, standard: bool = False) -> str:
    if quote == "`" or standard:
        return text.replace(quote, quote * 2)
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


def render_text(text: str, variables: Mapping[str, Any], *, sql: bool, standard: bool = False) -> str:
    """A text with each ``{{variable}}`` that is known replaced, and braces of inserted values put back."""
    if "{{" in text:
        out: list[str] = []
        state, pos = _Quotes(), 0
        for match in PLACEHOLDER.finditer(text):
            if match["variable"] not in variables:
                continue
            before = text[pos : match.start()]
            state.feed(before)
            value = variables[match["variable"]]
            if not sql:
                piece = _words(value)
            elif state.quote:
                piece = _escape(_words(value), state.quote, standard=standard)
            else:
                piece = literal(value, standard=standard)
            out += [before, piece.translate(HIDE_BRACES)]
            pos = match.end()
        text = "".join(out) + text[pos:]
    return text.translate(SHOW_BRACES)


def variables_in(text: str) -> list[str]:
    """The names of the ``{{variables}}`` that a text uses."""
    return [m["variable"] for m in PLACEHOLDER.finditer(text) if m["variable"]] if "{{" in text else []
