"""Names that moved between the Airflow versions this package supports."""

from __future__ import annotations

try:
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSensorTimeout,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
except ImportError:  # Airflow 3.1
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSensorTimeout,
        AirflowSkipException,
        AirflowTaskTimeout,
    )

__all__ = [
    "AirflowException", "AirflowFailException", "AirflowNotFoundException", "AirflowSensorTimeout",
    "AirflowSkipException", "AirflowTaskTimeout",
]
