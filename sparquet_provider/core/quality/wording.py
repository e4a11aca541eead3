"""Words that the messages of several rules share."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def listed(columns: tuple[str, ...]) -> str:
    """Column names as one text: ``id, cpf``."""
    return ", ".join(columns)


def joined(columns: tuple[str, ...]) -> str:
    """Column names inside a code: ``id,cpf``."""
    return ",".join(columns)


def rows(count: int) -> str:
    """A number of rows in words: ``no row``, ``1 row``, ``7 rows``."""
    return {0: "no row", 1: "1 row"}.get(count, f"{count} rows")


def figure(value: Any) -> str:
    """A measured value as a message shows it: ``2``, ``0.125``, ``2026-01-31``."""
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def span(seconds: float) -> str:
    """A time span in its two largest units: ``1d 2h``, ``45s``."""
    sign, rest = "-" if seconds < 0 else "", int(abs(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return sign + " ".join(parts[:2])
