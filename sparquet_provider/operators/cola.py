"""Checks data where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .checks import CheckArguments


class ColaCheckOperator(CheckArguments):
    """Check data where it lies with quality rules; nothing is written but the report and the quarantine that are asked for.

    The verdict is the task's state: a broken rule fails it at once, without another try, and the text of the error names
    the broken rules. A rule that only breaks its ``warn`` threshold is a warning in the log. ``return_value`` is the result
    document with one entry per rule; ``failed_rules`` and ``warned_rules`` are lists of names (or codes). All three are
    there in every case, so that an ``all_done`` task can read them.

    ```python
    ColaCheckOperator(task_id="gate", table="sales.orders", rules=[{"type": "not_null", "columns": ["id"]}])
    ColaCheckOperator(task_id="recheck", pipeline="pipelines/orders.json", pipeline_part="output", rules="rules/orders.yaml")
    ```

    Args:
        on_failure: ``fail``; or ``warn``: the task succeeds, with a warning for every broken rule; or ``skip``: it succeeds,
            and only the result says so (templated). By default what the file of rules says, otherwise ``fail``.

    The other arguments are those of :class:`~.checks.CheckArguments` and :class:`~.arguments.SubmitArguments`.
    """

    template_fields: Sequence[str] = ("on_failure", *CheckArguments.template_fields)

    def __init__(self, *, on_failure: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.on_failure = on_failure

    def judgement(self) -> dict[str, Any]:
        return {"on_failure": self.on_failure}
