"""Words that the messages of several rules share."""

from __future__ import annotations


def listed(columns: tuple[str, ...]) -> str:
    """Column names as one text: ``id, cpf``."""
    return ", ".join(columns)


def rows(count: int) -> str:
    """A number of rows in words: ``no row``, ``1 row``, ``7 rows``."""
    return {0: "no row", 1: "1 row"}.get(count, f"{count} rows")
