"""Write a Spark configuration folder with Delta: jars that were resolved once, settings, quiet logs.

The result is used through SPARK_CONF_DIR by the demo, the tests and the container image, so that documents and DAGs
need not repeat what is a property of the cluster.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sparquet_provider.core.jars import DELTA, resolve
from sparquet_provider.hooks.settings import QUICK_START

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Small tables on a small machine.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    # Jobs of seconds: a JVM that starts quicker and never reaches its best speed.
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}
LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def write(folder: Path, extra: dict[str, str] | None = None) -> Path:
    """Write ``spark-defaults.conf`` and ``log4j2.properties`` to ``folder``; the first call fetches the jars.

    Raises:
        SparquetError: CONNECTOR_MISSING when the jars could not be fetched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"spark.jars": ",".join(resolve([DELTA])), **SETTINGS, **(extra or {})}
    lines = "".join(f"{key} {value}\n" for key, value in settings.items())
    (folder / "spark-defaults.conf").write_text(lines, encoding="utf-8")
    (folder / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a Spark configuration folder with Delta.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="*", help="more settings as key=value")
    arguments = parser.parse_args()
    write(arguments.folder, dict(setting.split("=", 1) for setting in arguments.settings))
