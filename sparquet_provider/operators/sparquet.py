"""Runs a pipeline document."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import as_is, given
from .base import SparquetOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.load import Loaded


#: The watermark of the task's own earlier run.
PREVIOUS = "previous"


class SparquetRunOperator(SparquetOperator):
    """Run a pipeline document with Spark: read, transform, check, write.

    ``return_value`` is the result document without bulky parts; every variable that the pipeline collects is an XCom of
    its own. ``stop_if_empty`` skips the task. Failed rules and faults of document or data fail it at once; faults of
    the infrastructure are tried again as ``retries`` says.

    ```python
    SparquetRunOperator(task_id="revenue", pipeline="pipelines/revenue.json", pipeline_params={"since": "{{ ds }}"})
    ```

    Args:
        pipeline: the path of a JSON or YAML document, absolute, or relative to the DAG file or its bundle (templated);
            or the document as a mapping, which Jinja never touches.
        columns: constant columns that are added to the input, by name (templated).
        input_view: publishes the input as a view: a name, or ``{"name": …, "type": "session"|"global"}``.
        watermark: the mark of an earlier run, for a document with ``watermark_columns``. Every run pushes its own mark as the XCom
            ``watermark``; ``"previous"`` takes the newest one that this task pushed in an earlier run, so it reads on where it
            stopped. Otherwise a mapping, or a text that a template made of one (templated). Nothing, an empty text or ``None``
            read everything.

    The other arguments are those of :class:`~.arguments.SubmitArguments`.
    """

    template_fields: Sequence[str] = ("pipeline", "columns", "watermark", *SparquetOperator.template_fields)
    template_fields_renderers = {**SparquetOperator.template_fields_renderers, "columns": "json"}

    _mark: dict[str, Any] | None = None

    def __init__(
        self,
        *,
        pipeline: str | Path | Mapping[str, Any],
        columns: Mapping[str, Any] | None = None,
        input_view: str | Mapping[str, str] | None = None,
        watermark: Mapping[str, Any] | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = as_is(pipeline)
        self.columns = columns
        self.input_view = input_view
        self.watermark = watermark

    def load(self, context: Context) -> Loaded:
        from .documents import Home, read

        self._mark = mark_of(_previous(context["ti"]) if self.watermark == PREVIOUS else self.watermark)
        return read(given(self.pipeline, context), self.pipeline_params or {}, Home.of(context.get("dag"), context["ti"]), strict=self.strict)

    def request(self, tree: dict[str, Any]) -> dict[str, Any]:
        view = {"name": self.input_view} if isinstance(self.input_view, str) else self.input_view
        return {"literals": dict(self.columns or {}), "input_view": dict(view) if view else None, "watermark": self._mark}


def _previous(ti: Any) -> Any:
    """The newest mark that this task, or this mapped instance of it, pushed in a run before this one."""
    return ti.xcom_pull(task_ids=ti.task_id, key="watermark", include_prior_dates=True, map_indexes=ti.map_index)


def mark_of(given: Any) -> dict[str, Any] | None:
    """A watermark as a template left it: a mapping, its text, or nothing.

    Raises:
        AirflowFailException: it is something else.
    """
    from ..hooks.compat import AirflowFailException

    found = given
    if isinstance(given, str):
        text = given.strip()
        try:
            found = ast.literal_eval(text) if text else None
        except (ValueError, SyntaxError):
            try:
                found = json.loads(text)
            except ValueError:
                found = text
    if found is None or found == {}:
        return None
    if not isinstance(found, Mapping):
        raise AirflowFailException(f"watermark is {given!r}, expected a mapping of columns to values, such as the XCom 'watermark' of an earlier run.")
    return dict(found)
