"""Connector jars: resolved once by Spark's own resolver into a cache, then passed as files."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from .errors import SparquetError

#: The connector packages that this version is tested with.
DELTA = "io.delta:delta-spark_4.1_2.13:4.3.1"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"


def spark_version() -> str:
    """The version that Spark's own modules must have: of the installed pyspark, otherwise the tested one."""
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return "4.1.1"


#: Modules of Spark that its distribution does not bring.
AVRO = f"org.apache.spark:spark-avro_2.13:{spark_version()}"
HADOOP_AWS = "org.apache.hadoop:hadoop-aws:3.4.2"  # of the Hadoop that Spark 4.1 brings
KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version()}"


def artifact_of(package: str) -> str:
    """The name of a package's jar, without versions of itself, Scala and Spark: ``delta-spark`` of ``io.delta:delta-spark_4.1_2.13:4.3.1``."""
    return re.sub(r"([-_][\d.]+)+$", "", package.split(":")[1])


def default_cache() -> Path:
    """Where jars are kept: ``$SPARQUET_HOME/jars``, by default ``~/.cache/sparquet/jars``."""
    return Path(os.environ.get("SPARQUET_HOME", Path.home() / ".cache" / "sparquet")) / "jars"


def resolve(
    packages: Iterable[str],
    *,
    exclude: Iterable[str] = (),
    cache: Path | None = None,
    spark_submit: str = "spark-submit",
    timeout: float = 600,
    env: dict[str, str] | None = None,
) -> list[str]:
    """The jar files of Maven packages, without those that Spark brings itself.

    The first call for a set of packages lets Spark's resolver fetch them into an own folder of ``cache``; later calls
    only list it. A folder that was filled half is never used: it gets its name when it is complete.

    Args:
        packages: coordinates ``group:artifact:version``.
        exclude: ``group:artifact`` of packages that are not fetched although others ask for them.
        cache: the folder to keep them in (:func:`default_cache`).
        spark_submit: the binary to resolve with.
        timeout: seconds for the download.
        env: the environment of the resolver (the current one by default).

    Returns:
        absolute paths, sorted.

    Raises:
        SparquetError: CONNECTOR_MISSING when the packages could not be fetched.
    """
    wanted, left_out = sorted({p.strip() for p in packages if p.strip()}), sorted(exclude)
    if not wanted:
        return []
    cache = cache or default_cache()
    folder = cache / hashlib.sha256(",".join([*wanted, *(f"-{name}" for name in left_out)]).encode()).hexdigest()[:16]
    if not folder.exists():
        _fetch(wanted, left_out, folder, spark_submit, timeout, env)
    own = _spark_artifacts(spark_submit)
    return sorted(str(jar) for jar in folder.glob("*.jar") if _fetched_artifact(jar.name) not in own)


def _fetch(packages: list[str], exclude: list[str], folder: Path, spark_submit: str, timeout: float, env: dict[str, str] | None) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as temporary:
        script = Path(temporary) / "nothing.py"
        script.write_text("", encoding="utf-8")
        command = [
            spark_submit,
            "--master",
            "local[1]",
            "--packages",
            ",".join(packages),
            *(["--exclude-packages", ",".join(exclude)] if exclude else []),
            "--conf",
            f"spark.jars.ivy={temporary}/ivy",
            "--conf",
            "spark.ui.enabled=false",
            str(script),
        ]
        environment = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, **(env if env is not None else os.environ)}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SparquetError("CONNECTOR_MISSING", found=", ".join(packages), expected=f"again when the resolver works ({error})") from error
        jars = list(Path(temporary, "ivy", "jars").glob("*.jar"))
        if done.returncode or not jars:
            tail = " ".join(line.strip() for line in done.stderr.splitlines() if "UNRESOLVED" in line or "not found" in line or "Exception" in line)[:400]
            raise SparquetError("CONNECTOR_MISSING", found=", ".join(packages), expected=f"under a name that exists ({tail or 'the download failed'})")
        ready = Path(temporary, "ready")
        ready.mkdir()
        for jar in jars:
            shutil.move(str(jar), ready / jar.name)
        try:
            ready.rename(folder)
        except OSError:
            if not folder.exists():  # another process may have been quicker
                raise


def _artifact(name: str) -> str:
    """The artifact of a jar in Spark's folder: ``snappy-java`` of ``snappy-java-1.1.10.jar``."""
    return re.sub(r"-\d[\w.\-]*\.jar$", "", name)


def _fetched_artifact(name: str) -> str:
    """The artifact of a fetched jar, whose name starts with its group: ``org.xerial.snappy_snappy-java-1.1.jar``."""
    return _artifact(name.split("_", 1)[-1])


def _spark_artifacts(spark_submit: str) -> set[str]:
    home = os.environ.get("SPARK_HOME")
    if not home:
        try:
            from importlib.util import find_spec

            found = find_spec("pyspark")
            home = str(Path(found.origin).parent) if found and found.origin else None
        except (ImportError, ValueError):
            home = None
    if not home:
        binary = shutil.which(spark_submit)
        home = str(Path(binary).resolve().parent.parent) if binary else ""
    return {_artifact(jar.name) for jar in Path(home, "jars").glob("*.jar")}
