"""Waits until data keeps the rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import BaseOperator, BaseSensorOperator
from airflow.sdk.bases.sensor import PokeReturnValue

from ..operators.checks import CheckArguments

if TYPE_CHECKING:
    from airflow.sdk import Context

#: Faults that mean that there is no data yet.
MISSING_SOURCE = ("SOURCE_NOT_FOUND", "SOURCE_EMPTY")


class ColaCheckSensor(CheckArguments, BaseSensorOperator):
    """Wait until data keeps its rules.

    Every poke submits the check as :class:`ColaCheckOperator` does, so it costs a start of Spark: choose ``poke_interval`` in
    minutes. Broken rules mean "not yet"; rules that only break their ``warn`` threshold hold. Steps that find nothing to do
    (``stop_if_empty``) mean "not yet", too.

    A fault of the document or of the data ends the sensor at once: a misspelt key, a column that is not there, a source that
    is missing. A fault of the infrastructure fails the try, and Airflow tries again as ``retries`` says.

    What runs where: spark-submit always runs in a worker, never in the triggerer.

    - ``mode="poke"``: the worker's slot is taken for the whole time; between pokes it sleeps.
    - ``mode="reschedule"``: the slot is free between pokes, and the scheduler starts the task anew.
    - ``deferrable=True``: the slot is free between pokes, and a timer in the triggerer resumes the task. ``mode`` counts for
      nothing then.

    ``return_value``, ``failed_rules`` and ``warned_rules`` are those of the last check, also after a timeout, whose text names
    the rules that were still broken.

    ```python
    ColaCheckSensor(
        task_id="orders_are_there", source="/landing/orders/{{ ds }}", rules=[{"type": "row_count", "min": 1}],
        missing_source_ok=True, deferrable=True, poke_interval=600, timeout=6 * 3600,
    )
    ```

    Args:
        missing_source_ok: a source that is not there, or has no file, means "not yet".
        deferrable: wait in the triggerer; by default the configuration ``[operators] default_deferrable``.

    ``soft_fail``, ``timeout``, ``poke_interval``, ``exponential_backoff``, ``max_wait``, ``silent_fail`` and ``never_fail`` are
    Airflow's own, in each mode alike. The other arguments are those of :class:`~..operators.checks.CheckArguments` and
    :class:`~..operators.arguments.SubmitArguments`; ``report`` and ``quarantine`` are written at every poke.
    """

    def __init__(self, *, missing_source_ok: bool = False, deferrable: bool | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.missing_source_ok = missing_source_ok
        if deferrable is None:
            from airflow.configuration import conf

            deferrable = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable
        self._still = ""

    def judgement(self) -> dict[str, Any]:
        # A file of rules that says warn would let everything pass.
        return {"on_failure": "fail"}

    # --- one check -----------------------------------------------------------------------------------------------
    def poke(self, context: Context) -> PokeReturnValue:
        """Check once; true when the rules hold.

        Raises:
            AirflowFailException: a fault of document or data.
            AirflowException: a fault of the infrastructure.
        """
        from ..operators.outcome import error_of

        with self.answered(context) as result:
            small = self.deliver(context["ti"], result)
            if result.get("status") == "success":
                return PokeReturnValue(True, small)
            context["ti"].xcom_push(key="return_value", value=small)
            why = self._not_yet(result)
            if why is None:
                raise error_of(result)  # there is one: the run failed
            self._still = f" Last check: {why}"
            self.log.info("Not yet. %s", why)
            return PokeReturnValue(False)

    def _not_yet(self, result: Mapping[str, Any]) -> str | None:
        """Why one has to wait on; None when waiting does not help."""
        from ..operators.outcome import failed_rules, rules_of

        if result.get("status") == "skipped":
            return str(result.get("message"))
        if result.get("reason") == "quality":
            faults = [r["error"] for r in rules_of(result, "fail") if r.get("error")]
            why = "; ".join(failed_rules(result))
        else:
            faults = result.get("problems") or [{}]
            why = str(result.get("error"))
        return why if all(self.missing_source_ok and fault.get("code") in MISSING_SOURCE for fault in faults) else None

    # --- waiting -------------------------------------------------------------------------------------------------
    def execute(self, context: Context) -> Any:
        """Poke until the rules hold, or defer."""
        from ..hooks.compat import AirflowSensorTimeout

        if self.deferrable:
            return self.check_again(context, {})
        try:
            return BaseSensorOperator.execute(self, context)
        except AirflowSensorTimeout as late:
            raise AirflowSensorTimeout(f"{late}{self._still}") from late

    def check_again(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Check in the worker; when it is too early, wait in the triggerer, which comes back here.

        ``event`` is what the timer remembers: when the first poke was, and how many there were.
        """
        now = dt.datetime.now(dt.timezone.utc)
        started, pokes = dt.datetime.fromisoformat(event["started"]) if event else now, int(event.get("pokes", 0)) + 1
        done = self._poke_as_airflow_does(context)
        if done:
            self.log.info("The rules hold.")
            return done.xcom_value
        now = dt.datetime.now(dt.timezone.utc)
        left = self.timeout - (now - started).total_seconds()
        if left <= 0:
            self._give_up()
        wait = min(self._interval(pokes), left)
        self.log.info("Next check in %.0f s; the triggerer waits.", wait)
        self._wait(now + dt.timedelta(seconds=wait), {"started": started.isoformat(), "pokes": pokes})

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """As for every operator: what ``soft_fail`` and ``never_fail`` turn into a skip is decided by the check, in each mode alike."""
        return BaseOperator.resume_execution(self, next_method, next_kwargs, context)

    def _poke_as_airflow_does(self, context: Context) -> PokeReturnValue:
        """One poke with Airflow's meaning of ``soft_fail``, ``silent_fail`` and ``never_fail``."""
        from ..hooks.compat import AirflowFailException, AirflowSkipException, AirflowTaskTimeout

        try:
            return self.poke(context)
        except (AirflowFailException, AirflowTaskTimeout) as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(f"Skipped, since {'soft_fail' if self.soft_fail else 'never_fail'} is set: {error}") from error
            raise
        except AirflowSkipException:
            raise
        except Exception as error:
            if self.silent_fail:
                self.log.exception("The check failed; silent_fail is set.")
                return PokeReturnValue(False)
            if self.never_fail:
                raise AirflowSkipException(f"Skipped, since never_fail is set: {error}") from error
            raise

    def _interval(self, pokes: int) -> float:
        """Seconds until the next poke; they double with ``exponential_backoff``."""
        if not self.exponential_backoff:
            return float(self.poke_interval)
        # 2 ** 64 seconds are longer than any timeout.
        seconds = max(float(self.poke_interval), 1.0) * 2 ** min(pokes - 1, 64)
        return min(seconds, self.max_wait.total_seconds()) if self.max_wait else seconds

    def _give_up(self) -> NoReturn:
        from ..hooks.compat import AirflowSensorTimeout, AirflowSkipException

        words = f"The rules do not hold after {self.timeout:.0f} s.{self._still}"
        raise (AirflowSkipException if self.soft_fail else AirflowSensorTimeout)(words)

    def _wait(self, until: dt.datetime, memory: dict[str, Any]) -> NoReturn:
        from ..triggers.wait import WaitTrigger

        self.defer(trigger=WaitTrigger(until.isoformat(), memory), method_name="check_again")
