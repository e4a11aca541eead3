"""The link from a task in Airflow's UI to the report of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

#: The XCom that holds the link.
XCOM_KEY = "sparquet_report_url"


class SparquetReportLink(BaseOperatorLink):
    """Opens the report of the run; there is one when ``result_dir`` and ``[sparquet] result_base_url`` are set."""

    @property
    def name(self) -> str:
        return "Sparquet report"

    @property
    def xcom_key(self) -> str:
        return XCOM_KEY

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        # Runs in the worker when the task has ended, also after a failure; the UI shows no link for an empty text.
        return getattr(operator, "report_url", None) or ""
