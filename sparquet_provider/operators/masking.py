"""Airflow's own masker of secrets, told and asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow.sdk.log import mask_secret


def mask_in_airflow(secrets: Iterable[str]) -> None:
    """Hide values in logs and rendered fields, here and in the supervisor (which leaves values under 5 characters alone)."""
    for secret in secrets:
        mask_secret(secret)


def redacted(tree: Any) -> Any:
    """A tree without the secrets that Airflow knows: those of connections, variables and secret backends."""
    try:
        from airflow.sdk.log import redact
    except ImportError:  # no public name: a later Airflow may move it
        return tree
    if isinstance(tree, str):
        return redact(tree)
    if isinstance(tree, dict):
        return {k: redacted(v) for k, v in tree.items()}
    return [redacted(v) for v in tree] if isinstance(tree, list) else tree
