"""What the Spark connection asks for, checked before anything is submitted."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook

from ..core.errors import Problem
from .compat import AirflowFailException, AirflowNotFoundException
from .settings import is_local

_MASTER = re.compile(r"yarn|(spark|k8s|mesos)://[^:/,\s].*")


@dataclass(frozen=True)
class Target:
    """Where a submission goes: the connection's master, deploy mode and extra fields."""

    conn_id: str
    master: str
    deploy_mode: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def binary(self, own: str | None = None) -> str:
        """The spark-submit to use: the given one, the connection's, or the usual name."""
        return str(own or self.extra.get("spark-binary") or "spark-submit")

    @property
    def is_local(self) -> bool:
        """The driver and its executors are one JVM on this machine."""
        return is_local(self.master)

    @property
    def is_cluster(self) -> bool:
        """The driver runs on the cluster, not on this machine."""
        return self.deploy_mode == "cluster"

    @property
    def is_yarn(self) -> bool:
        """The cluster is YARN."""
        return self.master.startswith("yarn")

    @property
    def is_kubernetes(self) -> bool:
        """The cluster is Kubernetes."""
        return self.master.startswith("k8s://")


def target(conn_id: str, deploy_mode: str | None = None) -> Target:
    """Read a Spark connection and check that a Python application can be submitted with it.

    Args:
        conn_id: the connection.
        deploy_mode: wins over the connection's ``deploy-mode``.

    Raises:
        AirflowFailException: the connection is missing or cannot work; the text names the field and the remedy.
    """
    try:
        conn = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise AirflowFailException(
            f"There is no connection {conn_id!r}, and without one spark-submit would silently go to YARN. "
            f"Create it: airflow connections add {conn_id} --conn-type spark --conn-host 'local[2]' "
            f"(or spark://host:7077, yarn, k8s://https://host:443), or pass another conn_id."
        ) from error
    if conn.conn_type == "spark_connect":
        raise AirflowFailException(
            f"The connection {conn_id!r} has the type 'spark_connect'; spark-submit cannot use a Spark Connect server. "
            f"Create a connection of type 'spark' whose host is the cluster's master, and pass it as conn_id."
        )
    if conn.conn_type not in ("spark", "k8s"):
        raise AirflowFailException(f"The connection {conn_id!r} has the type {conn.conn_type!r}, expected 'spark'. Change its type, or pass another conn_id.")

    host = conn.host or ""
    master = host if conn.conn_type == "spark" and ("://" in host or not conn.port) else f"{conn.conn_type}://{host}"
    master += f":{conn.port}" if conn.port else ""
    _check_master(conn_id, master)
    mode = deploy_mode or conn.extra_dejson.get("deploy-mode") or "client"
    found = Target(conn_id, master, mode, conn.extra_dejson)
    _check_mode(found)
    return found


def _check_master(conn_id: str, master: str) -> None:
    if is_local(master) or _MASTER.fullmatch(master):
        return
    if re.fullmatch(r"[\w.\-]+:\d+", master):
        remedy = f"Write the scheme in the connection's field Host: spark://{master}"
    else:
        remedy = "Write the master in the connection's field Host: local[2], spark://host:7077, yarn or k8s://https://host:443"
    raise AirflowFailException(f"The connection {conn_id!r} gives the master {master!r}, which has no meaning to Spark. {remedy}.")


def _check_mode(found: Target) -> None:
    if found.deploy_mode not in ("client", "cluster"):
        remedy = f"Correct deploy_mode, or the extra deploy-mode of the connection {found.conn_id!r}."
        raise AirflowFailException(f"The deploy mode is {found.deploy_mode!r}, expected client or cluster. {remedy}")
    if not found.is_cluster:
        return
    if found.is_local:
        raise AirflowFailException(f"The master {found.master!r} of the connection {found.conn_id!r} has no deploy mode cluster. Use client.")
    if found.master.startswith("spark://"):
        raise AirflowFailException(
            f"Spark's standalone cluster {found.master} (connection {found.conn_id!r}) cannot run Python drivers in deploy mode cluster. "
            f"Use deploy mode client: the driver then runs in the Airflow worker and the executors on the cluster."
        )
    if found.is_kubernetes:
        try:
            metadata.version("apache-airflow-providers-cncf-kubernetes")
        except metadata.PackageNotFoundError:
            raise AirflowFailException("Kubernetes needs its Airflow provider: pip install apache-airflow-providers-cncf-kubernetes") from None


def check_pyspark() -> None:
    """Refuse to start where pyspark and pyspark-client overwrite each other's files.

    Raises:
        AirflowFailException: PYSPARK_MISMATCH.
    """
    found, client = _version("pyspark"), _version("pyspark-client")
    if found and client and found != client:
        raise AirflowFailException(str(Problem("PYSPARK_MISMATCH", "", {"found": found, "expected": client})))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def environment(found: Target, binary: str, own: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The variables that spark-submit gets beside this process's own.

    In client mode the driver runs with this Python; a spark-submit beside it is found also when its folder is not on PATH.

    Args:
        found: the target.
        binary: spark-submit's name or path.
        own: the user's variables, which win.

    Raises:
        AirflowFailException: there is no such binary.
    """
    chosen = {str(k): str(v) for k, v in (own or {}).items() if v is not None}
    merged = {**os.environ, **chosen}
    result: dict[str, str] = {}
    if not found.is_cluster and "PYSPARK_DRIVER_PYTHON" not in merged:
        result["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if found.is_local:
        if "PYSPARK_PYTHON" not in merged:
            result["PYSPARK_PYTHON"] = sys.executable
        result["SPARK_LOCAL_IP"] = merged.get("SPARK_LOCAL_IP", "127.0.0.1")
    if shutil.which(binary, path=merged.get("PATH")) is None:
        folder = Path(sys.executable).parent
        if not (folder / binary).exists():
            raise AirflowFailException(
                f"There is no {binary!r} on the PATH of the worker. Install Spark there (pip install 'airflow-provider-sparquet[spark]'), "
                f"or name the binary in spark_binary or in the extra spark-binary of the connection {found.conn_id!r}."
            )
        result["PATH"] = f"{folder}{os.pathsep}{merged.get('PATH', '')}"
    return result | chosen
