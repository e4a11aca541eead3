"""What operators and sensors share: the way from a document to XComs and the task's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .arguments import SUBMIT_OPTIONS, SubmitArguments

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.connections import Connection
    from ..core.load import Loaded
    from ..core.result import RunRequest
    from ..core.secrets import Scrubber
    from ..hooks.submission import Submission
    from .lineage import Seen

# The core, the hooks and Airflow's Spark provider are imported where a task runs: a DAG file only needs the arguments.


class SparquetOperator(SubmitArguments):
    """Submits a document with spark-submit and turns the result into XComs and the task's state.

    The arguments are those of :class:`SubmitArguments`.
    """

    #: What the driver is asked to do.
    task_kind: ClassVar[Literal["run", "check"]] = "run"
    #: The address of the report page, once there is one.
    report_url: str | None = None

    _submission: Submission | None = None
    _ended = False
    _seen: Seen | None = None

    # --- what differs between the operators ----------------------------------------------------------------------
    def load(self, context: Context) -> Loaded:
        """The document with its parameters bound."""
        raise NotImplementedError

    def request(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Further fields of the request."""
        return {}

    # --- Airflow -------------------------------------------------------------------------------------------------
    def execute(self, context: Context) -> dict[str, Any]:
        """Lint, submit, wait, read the result.

        Returns:
            the result document without bulky parts.

        Raises:
            AirflowSkipException: there was nothing to do.
            AirflowFailException: a fault of document, data or quality: another try would end the same.
            AirflowException: a fault of the infrastructure.
        """
        from .outcome import error_of

        with self.answered(context) as result:
            small = self.deliver(context["ti"], result)
            error = error_of(result, retry_on_quality_failure=self.retry_on_quality_failure)
            if error is not None:
                context["ti"].xcom_push(key="return_value", value=small)  # so that later tasks can read why
                raise error
            return small

    def on_kill(self) -> None:
        """End spark-submit and everything it started."""
        self._ended = True
        if self._submission is not None:
            self._submission.kill()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Datasets, what the document says of its table, and the outcome of its rules, for Airflow's OpenLineage provider.

        It asks here after a failure, too. A task that never had a document has nothing to tell.
        """
        from .lineage import lineage_of

        return lineage_of(self._seen) if self._seen is not None else None

    # --- the way there -------------------------------------------------------------------------------------------
    @contextmanager
    def answered(self, context: Context) -> Iterator[dict[str, Any]]:
        """Lint, submit, wait; the block gets the result document, without secrets.

        The exchanged files stay until the block ends: when the worker dies in it, the next try finds the result.
        """
        from ..core.errors import SparquetError
        from ..core.secrets import Scrubber, mask, values
        from ..core.text import plain_tree
        from .connections import resolve
        from .documents import checked
        from .lineage import Seen
        from .masking import mask_in_airflow
        from .submit import submission

        ti = context["ti"]
        self._check_mappings()
        parameters = dict(self.pipeline_params or {})
        options = {name: getattr(self, name) for name in SUBMIT_OPTIONS}
        hidden = {*values([parameters, self.conf, self.env_vars, self.packages]), *values(list(options.values()))}
        mask_in_airflow(hidden)
        loaded = self.load(context)
        hidden |= set(values(plain_tree(loaded.tree)))
        mask_in_airflow(hidden)
        scrub = Scrubber(hidden)
        early = checked(loaded, self.task_kind, strict=self.strict, extensions=self.extensions, scrub=scrub)
        self._warn(scrub.tree([w.to_dict() for w in early]))
        connections = resolve(loaded.tree)
        hidden |= {secret for connection in connections.values() for secret in connection.secrets}
        mask_in_airflow(hidden)
        scrub = Scrubber(hidden)
        self.log.info("Parameters: %s", mask(parameters))
        self._seen = Seen(loaded.tree, self.task_kind, connections)
        try:
            with submission(self, options, context, loaded.tree, scrub, connections) as self._submission:
                if self._ended:
                    self._submission.kill()
                result = self._submission.run(self._request(ti, loaded, parameters, connections), getattr(ti, "try_number", 1) or 1)
                cleaned = self._cleaned(result, [w.to_dict() for w in early], scrub)
                self._warn(cleaned["warnings"][len(early):])
                self._seen.result = cleaned
                yield cleaned
        except SparquetError as error:
            raise _airflow_error(error, scrub) from None
        finally:
            self._submission = None

    def _check_mappings(self) -> None:
        """Templates may have rendered to something else than was meant."""
        from ..hooks.compat import AirflowFailException

        for name in ("pipeline_params", "columns", "conf", "env_vars"):
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, Mapping):
                raise AirflowFailException(f"{name} is a {type(value).__name__}, expected a mapping of names to values.")

    def _request(self, ti: Any, loaded: Loaded, parameters: dict[str, Any], connections: Mapping[str, Connection]) -> RunRequest:
        from ..core.result import RunRequest

        modules = [Path(e).stem if e.endswith(".py") else e for e in self.extensions]
        return RunRequest(
            task=self.task_kind, tree=loaded.tree, result_path="", params=parameters, extensions=modules, strict=self.strict,
            files=loaded.files, run_id=ti.run_id, connections={name: c.fields() for name, c in connections.items()}, **self.request(loaded.tree),
        )

    # --- the way back --------------------------------------------------------------------------------------------
    def _cleaned(self, result: dict[str, Any], early: list[dict[str, Any]], scrub: Scrubber) -> dict[str, Any]:
        """The result without secrets, the warnings from before the submission first."""
        from .masking import redacted

        later = [w for w in result.get("warnings") or [] if w not in early]
        cleaned: dict[str, Any] = redacted(scrub.tree({**result, "warnings": [*early, *later]}))
        return cleaned

    def deliver(self, ti: Any, result: dict[str, Any]) -> dict[str, Any]:
        """Keep the result, push every variable; returns the document for ``return_value``."""
        from .outcome import name_of, push

        place = self._keep(ti, result)
        small, trimmed = push(ti, result, self.xcom_limit, place)
        self._warn([w.to_dict() for w in trimmed])
        for rule in result.get("validation_results") or []:
            if rule.get("severity") != "pass":
                self.log.warning("[%s] %s: %s", str(rule.get("severity")).upper(), name_of(rule), rule.get("message"))
        self.log.info(
            "%s: %s (%s), %s rows read, %s rows written, %s s", result.get("pipeline_name"), result.get("status"), result.get("reason"),
            result.get("rows_read"), result.get("rows_written"), result.get("seconds"),
        )
        return small

    def _warn(self, warnings: list[dict[str, Any]]) -> None:
        for warning in warnings:
            origin = f" (in {warning['file']})" if warning.get("file") else ""
            self.log.warning("[%s] %s%s: %s. %s", warning["code"], warning["at"] or "/", origin, warning["message"], warning["remedy"])

    def _keep(self, ti: Any, result: dict[str, Any]) -> str | None:
        """Keep the full result and its page when there is a folder for it; a failure only warns."""
        from airflow.configuration import conf

        from ..hooks.exchange import open_place
        from .report import keep
        from .submit import map_index

        folder = self.result_dir or conf.get("sparquet", "result_dir", fallback="")
        if not folder:
            return None
        index = map_index(ti)
        names = [ti.dag_id, ti.run_id, ti.task_id if index < 0 else f"{ti.task_id}.{index}", str(getattr(ti, "try_number", 1))]
        try:
            kept = keep(result, open_place(folder), conf.get("sparquet", "result_base_url", fallback="") or None, names)
        except Exception as error:  # noqa: BLE001 - object stores have errors of many kinds, and the data is written
            self.log.warning("The result could not be kept in %s: %s", folder, error)
            return None
        self.report_url = kept.url
        return kept.place


def _airflow_error(error: Any, scrub: Scrubber) -> Exception:
    from ..hooks.compat import AirflowException, AirflowFailException

    return (AirflowException if error.retryable else AirflowFailException)(scrub(str(error)))
