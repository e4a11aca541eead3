"""The core as a zip for ``--py-files``, notebooks and other clusters; the same bytes for the same code."""

from __future__ import annotations

import zipfile
from pathlib import Path

_CORE = Path(__file__).parent
#: The script that spark-submit runs.
DRIVER = _CORE / "application" / "sparquet_driver.py"
NAME = "sparquet_core.zip"


def build(folder: str | Path) -> Path:
    """Write ``sparquet_core.zip`` into a folder and return its path.

    Times and permissions inside are fixed, so equal code gives equal bytes (caches and checksums hold).
    """
    target = Path(folder) / NAME
    package = _CORE.parent
    files = [package / "__init__.py", *sorted(p for p in _CORE.rglob("*.py") if p.parent.name != "application")]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(f"{package.name}/{file.relative_to(package).as_posix()}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())
    return target
