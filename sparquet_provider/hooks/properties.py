"""Java's files for settings: Spark's defaults, and the private files that carry secret settings and JVM options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

_LINE = re.compile(r"((?:[^\\=:\s]|\\.)+)\s*[=:\s]?\s*(.*)", re.DOTALL)


def parse(text: str) -> dict[str, str]:
    """The settings of a properties file; a later line wins."""
    found: dict[str, str] = {}
    # A line that ends in an odd number of backslashes goes on in the next one.
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for line in map(str.strip, joined.splitlines()):
        if line and line[0] not in "#!" and (match := _LINE.match(line)):
            found[_unescape(match[1])] = _unescape(match[2])
    return found


def render(settings: Mapping[str, str]) -> str:
    """Settings as the text of a properties file that Java reads back unchanged."""
    return "".join(f"{_escape(k, key=True)}={_escape(v)}\n" for k, v in settings.items())


def java_arguments(options: str) -> str:
    """Options of a JVM, quoted as for a shell, as the text of an argument file (``java @file``)."""
    quoted = (option.replace("\\", "\\\\").replace('"', '\\"') for option in shlex.split(options))
    return "".join(f'"{option}"\n' for option in quoted)


def defaults(binary: str, env: Mapping[str, str]) -> tuple[str, Path | None]:
    """The text of the ``spark-defaults.conf`` that this spark-submit reads, and its place; empty when there is none."""
    folder = env.get("SPARK_CONF_DIR")
    home = None if folder else spark_home(binary, env)
    path = Path(folder) if folder else (home / "conf" if home else None)
    file = path / "spark-defaults.conf" if path else None
    if file is None or not file.is_file():
        return "", None
    return file.read_text(encoding="utf-8"), file


def spark_home(binary: str, env: Mapping[str, str]) -> Path | None:
    """The Spark installation that a spark-submit starts; None when it cannot be told."""
    import shutil
    from importlib.util import find_spec

    if home := env.get("SPARK_HOME"):
        return Path(home)
    found = shutil.which(binary, path=env.get("PATH"))
    if not found:
        return None
    folder = Path(found).resolve().parent
    if not (folder / "find_spark_home.py").exists():
        return folder.parent
    # The script that pip installs asks its Python where pyspark is.
    spec = find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _escape(text: str, key: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if key:
        return re.sub(r"([=:\s#!])", r"\\\1", text)
    return "\\" + text if text.startswith(" ") else text


def _unescape(text: str) -> str:
    special = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else special.get(m[1], m[1]), text)
