"""From an operator's arguments to a submission."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..hooks import connection, exchange, properties, settings
from ..hooks.compat import AirflowFailException
from ..hooks.submission import Submission
from .documents import Home

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.connections import Connection
    from ..core.secrets import Scrubber
    from .base import SparquetOperator


def submission(
    operator: SparquetOperator, options: dict[str, Any], context: Context, tree: dict[str, Any], scrub: Scrubber, connections: Mapping[str, Connection],
) -> Submission:
    """Check the connection and the environment, settle the settings, and name the folders of the exchange.

    The document's ``spark`` block becomes part of the submission and leaves the tree.

    Args:
        operator: whose arguments count.
        options: those for Airflow's ``SparkSubmitHook``.
        context: the task's context.
        tree: the document; changed.
        scrub: takes secrets out of texts.
        connections: those that the document names.

    Raises:
        AirflowFailException: something cannot work; the text names it and the remedy.
    """
    ti, env_vars = context["ti"], {str(k): str(v) for k, v in (operator.env_vars or {}).items() if v is not None}
    where = connection.target(operator.conn_id, operator.deploy_mode)
    if where.is_cluster and not operator.exchange_path:
        raise AirflowFailException(
            f"Deploy mode cluster (connection {operator.conn_id!r}) needs exchange_path: a folder that this worker and the driver on the cluster "
            "share, such as s3://connection@bucket/exchange. Without it the result cannot come back."
        )
    environment = {**os.environ, **env_vars}
    binary = where.binary(operator.spark_binary)
    if not where.is_cluster and not environment.get("SPARK_HOME"):
        connection.check_pyspark()
    try:
        base = Path(operator.properties_file).read_text(encoding="utf-8") if operator.properties_file else properties.defaults(binary, environment)[0]
    except (OSError, UnicodeDecodeError) as error:
        raise AirflowFailException(f"Spark's properties could not be read ({error}). Correct properties_file or spark-defaults.conf.") from None
    home = properties.spark_home(binary, environment) if where.is_local else None
    try:
        chosen = settings.settle(
            tree, master=where.master, conf=operator.conf, name=operator.name, packages=operator.packages, base=properties.parse(base),
            installed=[jar.name for jar in (home / "jars").glob("*.jar")] if home else [],
            auto_packages=operator.auto_packages, kind_of=lambda name: connections[name].kind, quick_start=operator.quick_start,
        )
    except ValueError as error:
        raise AirflowFailException(scrub(str(error))) from None
    # The driver gets the name alone: settings that it applied again would win over the operator's.
    tree["spark"] = {"app_name": chosen.name}
    place = Home.of(context.get("dag"), ti)
    shipped = [str(place.find(e)) for e in operator.extensions if e.endswith(".py")]
    options = {**options, "py_files": ",".join(filter(None, [*shipped, operator.py_files]))}
    key = exchange.task_key(ti.dag_id, ti.run_id, ti.task_id, map_index(ti))
    shared = (operator.exchange_path, operator.exchange_uri) if where.is_cluster else ()
    return Submission(where, exchange.Exchange(key, *shared), chosen, options, env_vars=env_vars, base=base, scrub=scrub)


def map_index(ti: Any) -> int:
    """The task instance's number among mapped ones, -1 for one that is not mapped."""
    index = getattr(ti, "map_index", -1)
    return index if isinstance(index, int) else -1
