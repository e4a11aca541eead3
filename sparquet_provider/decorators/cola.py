"""``@task.cola_check``: a function says which rules, the check runs in Spark."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.bases.decorator import DecoratedOperator, task_decorator_factory

from ..operators.checks import CheckArguments
from ..operators.cola import ColaCheckOperator

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.bases.decorator import TaskDecorator

#: What the function may say.
ARGUMENTS = ("pipeline_params", "on_failure", *(n for n in inspect.signature(CheckArguments.__init__).parameters if n not in ("self", "kwargs")))


class DecoratedColaCheckOperator(DecoratedOperator, ColaCheckOperator):
    """Checks data by the rules that a function returns.

    The function runs in the worker, right before the check. It returns a list of rules, or a mapping of arguments of
    :class:`ColaCheckOperator` (``{"rules": …, "source": …}``), which win over those of the decorator. Jinja does not touch
    what it returns.
    """

    custom_operator_name = "@task.cola_check"
    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, *ColaCheckOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers, **ColaCheckOperator.template_fields_renderers,
    }

    def execute(self, context: Context) -> Any:
        """Ask the function, then check."""
        from ..hooks.compat import AirflowFailException

        merged = {**context, **self.op_kwargs}
        said = self.python_callable(*self.op_args, **self.determine_kwargs(merged))
        found = said if isinstance(said, Mapping) else {"rules": said}
        if unknown := sorted(set(found) - set(ARGUMENTS)):
            raise AirflowFailException(f"The function returned arguments that a check does not have: {', '.join(unknown)}. It has: {', '.join(ARGUMENTS)}.")
        if "rules" in found and not isinstance(found["rules"], str | Path | Mapping | Sequence):
            raise AirflowFailException(f"The function returned {type(said).__name__}, expected a list of rules or a mapping of arguments.")
        for name, value in found.items():
            setattr(self, name, str(value) if isinstance(value, Path) else value)
        return super().execute(context)


def cola_check_task(python_callable: Callable[..., Any] | None = None, **kwargs: Any) -> TaskDecorator:
    """Make a quality check of a function that returns rules or arguments of ``ColaCheckOperator``.

    ```python
    @task.cola_check(table="sales.orders")
    def gate():
        return [{"type": "row_count", "min": 1}]
    ```

    Args:
        python_callable: the function.
        kwargs: arguments of ``ColaCheckOperator``.
    """
    return task_decorator_factory(
        python_callable=python_callable, multiple_outputs=False, decorated_operator_class=DecoratedColaCheckOperator, **kwargs
    )
