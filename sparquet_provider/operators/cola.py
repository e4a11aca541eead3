"""Checks data where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .base import SparquetOperator, as_is, given

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.load import Loaded


class ColaCheckOperator(SparquetOperator):
    """Check data where it lies with quality rules; nothing is written but the report.

    The verdict is the task's state: a failed rule fails it at once (``on_failure="fail"``), and the text of the error
    names the failed rules. ``return_value`` is the result document with one entry per rule, in every case.

    ```python
    ColaCheckOperator(task_id="gate", source="sales.orders", format="delta", rules=[{"type": "not_null", "columns": ["id"]}])
    ```

    Args:
        input: the input block of what is checked: ``{"format": …, "path": …, "options": {…}}``.
        source: instead of ``input``: the path or table name alone (templated), together with ``format``.
        format: the format of ``source``.
        rules: the rules, or the path of a JSON or YAML file with a list of them or with a ``validations`` block (the
            path is templated).
        on_failure: ``fail``, or ``warn``: the task succeeds and the result says what failed.
        report: an output block to which one row per rule is written.
        sample_rows: how many failing rows of each rule the result may show; 0 keeps all data out of results.
        check_name: names the check in logs, report and result; the task's id by default.

    The other arguments are those of :class:`SparquetOperator`.
    """

    task_kind: ClassVar[Literal["run", "check"]] = "check"
    template_fields: Sequence[str] = ("input", "source", "rules", "report", *SparquetOperator.template_fields)

    def __init__(
        self,
        *,
        rules: Sequence[Mapping[str, Any]] | str | Path,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the document's own word
        source: str | None = None,
        format: str = "parquet",  # noqa: A002 - the document's own word
        on_failure: str = "fail",
        report: Mapping[str, Any] | None = None,
        sample_rows: int = 0,
        check_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.rules = as_is(str(rules) if isinstance(rules, Path) else rules)
        self.input = as_is(input)
        self.source = source
        self.format = format
        self.on_failure = on_failure
        self.report = as_is(report)
        self.sample_rows = sample_rows
        self.check_name = check_name

    def load(self, context: Context) -> Loaded:
        from ..hooks.compat import AirflowFailException
        from .documents import Home, read

        if (self.input is None) == (self.source is None):
            raise AirflowFailException("Give either input (a block) or source (a path or table name, with format): one of them, not both.")
        home, parameters = Home.of(context.get("dag"), context["ti"]), dict(self.pipeline_params or {})
        rules, block, report = (given(value, context) for value in (self.rules, self.input, self.report))
        found = None
        if isinstance(rules, str):
            # Parameters are bound in the file's own text; what it does not use may be used by the input block.
            found = read(rules, parameters, home, strict=self.strict)
            rules = []
        document = {
            "name": self.check_name or self.task_id,
            "input": block if block is not None else {"format": self.format, "path": self.source},
            "validations": {
                "on_failure": self.on_failure, "rules": list(rules), "sample_rows": self.sample_rows,
                **({"report": report} if report is not None else {}),
            },
        }
        loaded = read(document, parameters, home, strict=self.strict)
        return loaded if found is None else self._with_rules(loaded, found)

    def _with_rules(self, loaded: Loaded, found: Loaded) -> Loaded:
        """The check's document with the rules of a file: a list, an object with ``rules``, or a whole ``validations`` block."""
        from ..core.load import Loaded

        content = found.tree
        if isinstance(content, Mapping):
            content = content.get("validations", content)
            content = content.get("rules", content) if isinstance(content, Mapping) else content
        tree = loaded.tree
        if content is not None:
            tree["validations"]["rules"] = content
        unused = {str(p) for p in loaded.problems if p.code == "PARAMETER_NOT_USED"} & {str(p) for p in found.problems}
        problems = [p for p in [*found.problems, *loaded.problems] if p.code != "PARAMETER_NOT_USED" or str(p) in unused]
        return Loaded(tree, problems, {**loaded.files, **found.files})
