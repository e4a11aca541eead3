"""The full result of a run, kept in a folder: as JSON, and as a page for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..core.page import page


@dataclass(frozen=True)
class Kept:
    """Where a result is kept: the JSON's place, and the page's address when pages are served."""

    place: str
    url: str | None


def keep(result: Mapping[str, Any], folder: Any, base_url: str | None, names: Iterable[str]) -> Kept:
    """Write ``result.json`` and ``report.html`` below a folder.

    Args:
        result: the result document.
        folder: a ``Path`` or an ``ObjectStoragePath``.
        base_url: the address under which the folder is served.
        names: dag, run, task and try, which become sub-folders.

    Raises:
        OSError: the folder could not be written.
    """
    parts = [re.sub(r"[^\w.\-]+", "_", name).strip(".") or "_" for name in names]
    target = folder
    for part in parts:
        target = target / part
    target.mkdir(parents=True, exist_ok=True)
    (target / "result.json").write_text(json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False), encoding="utf-8")
    (target / "report.html").write_text(page(result), encoding="utf-8")
    url = "/".join([base_url.rstrip("/"), *map(quote, parts), "report.html"]) if base_url else None
    return Kept(str(target / "result.json"), url)
