"""Which settings a submission gets and where each comes from. Pure functions: no I/O, no Airflow."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.jars import DELTA, ICEBERG, artifact_of
from ..core.packages import needed
from ..core.prepare.contract import with_target
from ..core.text import plain

#: Settings for a local master, where one small JVM does everything; each gives way to the user's own.
LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

#: Options of the JVM that start it quicker and run it slower: for jobs of seconds.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"

_JVM = "spark.driver.extraJavaOptions"
_PACKAGES = "spark.jars.packages"
_EXTENSIONS = "spark.sql.extensions"


class TableFormat(NamedTuple):
    """What a session needs for a table format beside its package: the artifact's name and the settings."""

    artifact: str
    extension: str
    settings: Mapping[str, str]


TABLE_FORMATS: Mapping[str, TableFormat] = {
    "delta": TableFormat(
        artifact_of(DELTA), "io.delta.sql.DeltaSparkSessionExtension",
        {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
    ),
    # An Iceberg catalog has a name and a warehouse of the user's choice: there is no default for it.
    "iceberg": TableFormat(artifact_of(ICEBERG), "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions", {}),
}


@dataclass(frozen=True)
class Settings:
    """The outcome: the application's name, its conf (texts only) and the Maven packages."""

    name: str
    conf: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)


def settle(
    tree: Mapping[str, Any],
    *,
    master: str,
    conf: Mapping[str, Any] | None = None,
    name: str | None = None,
    packages: str | None = None,
    base: Mapping[str, str] | None = None,
    installed: Iterable[str] = (),
    auto_packages: bool = True,
    kind_of: Callable[[str], str | None] = lambda name: None,
    quick_start: bool = False,
) -> Settings:
    """The settings of one submission.

    From weak to strong: defaults (local masters, table formats), the cluster's own files (``base``), the document's
    ``spark`` block, the operator's ``conf``. There, None removes a setting, also a default.

    Args:
        tree: the document.
        master: the master of the connection.
        conf: the operator's settings.
        name: the operator's application name; otherwise the document's, then the pipeline's.
        packages: the operator's packages, separated by commas.
        base: settings that Spark reads from ``properties_file`` or ``spark-defaults.conf``.
        installed: names of jars that are on the class path already.
        auto_packages: add the packages of the formats that the document uses, on local masters.
        kind_of: the type of a connection, which says the driver that jdbc needs.
        quick_start: start the JVM quicker and run it slower.

    Raises:
        ValueError: a setting has a value without a text form.
    """
    block = _mapping(tree.get("spark"))
    own = {str(k): v for k, v in (conf or {}).items()}
    document = {plain(str(k)): plain(v) if isinstance(v, str) else v for k, v in _mapping(block.get("configs")).items()}
    chosen = {k: text(k, v) for k, v in {**document, **own}.items() if v is not None}
    base, local = base or {}, is_local(master)

    wanted = _split(base.get(_PACKAGES)) + _split(chosen.pop(_PACKAGES, None)) + _split(packages)
    used = formats(tree)
    present = " ".join([*wanted, *installed, *(v for c in (base, chosen) for k, v in c.items() if "jars" in k or "ClassPath" in k)])
    if local and auto_packages:
        wanted += [p for p in needed(with_target(tree), kind_of) if artifact_of(p) not in present]
    active = [f for n, f in TABLE_FORMATS.items() if n in used or any(f.artifact in p for p in wanted)]

    weak: dict[str, str] = {}
    if local:
        weak |= LOCAL_DEFAULTS
        weak["spark.sql.shuffle.partitions"] = str(max(4, cores(master)))
    if active:
        weak[_EXTENSIONS] = ",".join(f.extension for f in active)
        for table_format in active:
            weak |= table_format.settings
    result = {k: v for k, v in weak.items() if k not in base and k not in own} | chosen
    if quick_start and QUICK_START not in result.get(_JVM, ""):
        result[_JVM] = f"{result.get(_JVM) or base.get(_JVM, '')} {QUICK_START}".strip()
    title = block.get("app_name") or tree.get("name") or "sparquet"
    return Settings(name or plain(str(title)), result, list(dict.fromkeys(wanted)))


def text(key: str, value: Any) -> str:
    """A setting's value as Spark reads it: ``true``, ``8``, ``a,b``. Raises ValueError for anything without a text form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(text(key, v) for v in value)
    if value is None or isinstance(value, Mapping):
        raise ValueError(f"the setting {key} has the value {value!r}; expected text, a number, a boolean or a list of them")
    return str(value)


def formats(tree: Any) -> set[str]:
    """The formats that a document reads or writes anywhere, in lower case."""
    return {plain(f).casefold() for f in _formats(with_target(tree))}


def _formats(tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        if isinstance(tree.get("format"), str):
            yield tree["format"]
        for value in tree.values():
            yield from _formats(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _formats(value)


def is_local(master: str) -> bool:
    """True for ``local``, ``local[2]``, ``local[*]``."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def cores(master: str) -> int:
    """How many threads a local master has."""
    match = re.fullmatch(r"local\[(\d+|\*).*\]", master)
    return 1 if match is None else (os.cpu_count() or 1) if match[1] == "*" else int(match[1])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _split(value: str | None) -> list[str]:
    return [p.strip() for p in (value or "").split(",") if p.strip()]
