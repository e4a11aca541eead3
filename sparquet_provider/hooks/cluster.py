"""Drivers that run on a cluster: YARN applications by their tag, Kubernetes pods by their label."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)

_TIMEOUT = (5, 30)
_YARN_ACTIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_POD_ACTIVE = ("Pending", "Running", "Unknown")

#: The label of driver pods.
LABEL = "sparquet-attempt"


class YarnDrivers:
    """YARN applications, asked at the ResourceManager's REST address.

    Args:
        address: the web address of the ResourceManager (``yarn_resourcemanager_webapp_address`` of the connection).
        auth: what ``requests`` takes to log in.
    """

    def __init__(self, address: str, auth: Any = None) -> None:
        self.address = (address if "://" in address else f"http://{address}").rstrip("/")
        self.auth = auth

    def alive(self, attempt: str) -> list[str]:
        return [f"{a['id']} ({a.get('state')})" for a in self._active(attempt)]

    def end(self, attempt: str) -> None:
        import requests

        for application in self._active(attempt):
            url = f"{self.address}/ws/v1/cluster/apps/{application['id']}/state"
            answer = requests.put(url, json={"state": "KILLED"}, auth=self.auth, timeout=_TIMEOUT)
            log.info("YARN application %s is asked to end: answered with HTTP %s", application["id"], answer.status_code)
            answer.raise_for_status()

    def _active(self, attempt: str) -> list[dict[str, Any]]:
        import requests

        # A requests error is an OSError, as the protocol asks.
        query = {"applicationTags": attempt.lower(), "states": _YARN_ACTIVE}
        answer = requests.get(f"{self.address}/ws/v1/cluster/apps", params=query, auth=self.auth, timeout=_TIMEOUT)
        answer.raise_for_status()
        return list(((answer.json().get("apps") or {}).get("app")) or [])


class KubernetesDrivers:
    """Driver pods, asked at the Kubernetes API through Airflow's own client.

    Args:
        namespace: where the pods are.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def alive(self, attempt: str) -> list[str]:
        return [f"pod {p.metadata.name} ({p.status.phase})" for p in self._pods(attempt) if (p.status.phase or "Pending") in _POD_ACTIVE]

    def end(self, attempt: str) -> None:
        for pod in self._pods(attempt):
            self._call(lambda client, name=pod.metadata.name: client.delete_namespaced_pod(name, self.namespace, _request_timeout=_TIMEOUT))
            log.info("Deleted the driver pod %s", pod.metadata.name)

    def _pods(self, attempt: str) -> list[Any]:
        found = self._call(lambda client: client.list_namespaced_pod(self.namespace, label_selector=f"{LABEL}={attempt}", _request_timeout=_TIMEOUT))
        return list(found.items)

    def _call(self, what: Any) -> Any:
        from airflow.providers.cncf.kubernetes import kube_client
        from urllib3.exceptions import HTTPError

        try:
            return what(kube_client.get_kube_client())
        except kube_client.ApiException as error:
            raise OSError(f"the Kubernetes API answered {error.status} {error.reason}") from error
        except HTTPError as error:
            raise OSError(f"the Kubernetes API could not be reached: {error}") from error
