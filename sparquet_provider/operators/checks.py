"""What is checked and by which rules: the arguments that the check operator and the check sensor share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .arguments import as_is, given
from .base import SparquetOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from ..core.load import Loaded

#: The arguments that say what is checked; exactly one is given.
SOURCES = ("input", "source", "table", "pipeline")


class CheckArguments(SparquetOperator):
    """What the check operator and the check sensor share.

    Exactly one of ``input``, ``source``, ``table`` and ``pipeline`` says what is checked.

    Args:
        rules: the rules; or the path of a JSON or YAML file (templated) with a list of them, a ``validations`` block, or a
            document whose ``validations`` are taken. With ``pipeline`` they may be left out: its own rules count.
        input: the input block of what is checked: ``{"format": …, "path": …, "options": {…}}``.
        source: the path of what is checked (templated), together with ``format``.
        table: the name of a table (templated); ``format`` is delta unless it says another.
        format: the format of ``source`` (parquet by default) or ``table`` (templated).
        pipeline: a pipeline or check document, as a path (templated) or a mapping. Without ``pipeline_part`` its input, its
            transformations and its rules are checked, and nothing of what a pipeline would write is written.
        pipeline_part: of that document only ``"input"``, or ``"output"`` or ``"outputs/1"``, read back from where it was
            written (templated).
        report: an output block to which one row per rule is written, in every case.
        quarantine: ``{"valid": <output block>, "invalid": <output block>}``: the rows split by the row-level rules, in
            every case; one of the sides may be absent.
        annotate: a column of the invalid side, an array of the codes of the rules that the row breaks.
        reasons: a column of the invalid side, an array of the reasons in words.
        quarantine_rules: the codes of the rules that split; all row-level rules by default.
        as_of: the clock of freshness rules, as ISO text or a datetime (templated): for backfills
            ``{{ (dag_run.logical_date or dag_run.run_after) | ts }}``; the start of the check by default.
        sample_rows: how many failing rows of each rule the result may show; 0 keeps all data out of results.
        check_name: names the check in logs, report and result; by default the document's name, otherwise the task's id.

    The other arguments are those of :class:`~.arguments.SubmitArguments`.
    """

    task_kind: ClassVar[Literal["run", "check"]] = "check"
    template_fields: Sequence[str] = (
        "input", "source", "table", "format", "pipeline", "pipeline_part", "rules", "report", "quarantine", "as_of", *SparquetOperator.template_fields,
    )

    def __init__(
        self,
        *,
        rules: Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | Path | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the document's own word
        source: str | Path | None = None,
        table: str | None = None,
        format: str | None = None,  # noqa: A002 - the document's own word
        pipeline: Mapping[str, Any] | str | Path | None = None,
        pipeline_part: str | None = None,
        report: Mapping[str, Any] | None = None,
        quarantine: Mapping[str, Any] | None = None,
        annotate: str | None = None,
        reasons: str | None = None,
        quarantine_rules: Sequence[str] | None = None,
        as_of: str | dt.datetime | None = None,
        sample_rows: int | None = None,
        check_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.rules = as_is(rules)
        self.input = as_is(input)
        self.source = as_is(source)
        self.table = table
        self.format = format
        self.pipeline = as_is(pipeline)
        self.pipeline_part = pipeline_part
        self.report = as_is(report)
        self.quarantine = as_is(quarantine)
        self.annotate = annotate
        self.reasons = reasons
        self.quarantine_rules = quarantine_rules
        self.as_of = as_of
        self.sample_rows = sample_rows
        self.check_name = check_name

    def load(self, context: Context) -> Loaded:
        from .documents import Home

        return _Document(self, context, Home.of(context.get("dag"), context["ti"])).loaded()

    def judgement(self) -> dict[str, Any]:
        """Further keys of ``validations``, which win over those of a file."""
        return {}


class _Document:
    """Puts a check document together from an operator's arguments.

    Texts are bound where they stand: the parameters of a file in that file, those of the arguments here.
    """

    def __init__(self, operator: CheckArguments, context: Context, home: Any) -> None:
        self.operator, self.home = operator, home
        self.parameters = dict(operator.pipeline_params or {})
        self.given = {n: given(getattr(operator, n), context) for n in (*SOURCES, "rules", "report", "quarantine")}
        self.parts: list[Loaded] = []
        self.files: dict[str, str] = {}

    def loaded(self) -> Loaded:
        from ..core.load import Loaded

        self._check_arguments()
        tree: dict[str, Any] | None = self._pipeline() if self.given["pipeline"] is not None else {}
        rules = self._rules()
        own = self._bound({"name": self.operator.check_name or self.operator.task_id, **self._source(), "validations": self._validations()})
        problems = self._problems()
        if tree is None or not isinstance(own, dict):
            return Loaded(None, problems)
        name = own["name"] if self.operator.check_name else tree.get("name", own["name"])
        validations = own.pop("validations")
        found = rules if rules is not None else tree.get("validations")
        # What is no block at all is left to the linter.
        block = {**found, **validations} if isinstance(found, Mapping) else validations if found is None else found
        return Loaded({**tree, **own, "name": name, "validations": block}, problems, self.files)

    # --- arguments -----------------------------------------------------------------------------------------------
    def _check_arguments(self) -> None:
        from ..hooks.compat import AirflowFailException

        operator = self.operator
        chosen = [n for n in SOURCES if self.given[n] is not None]
        if len(chosen) != 1:
            found = f"found {' and '.join(chosen)}" if chosen else "none is given"
            raise AirflowFailException(
                "Say once what is checked: input (a block), source (a path, with format), table (a table's name) or pipeline (a document); " + found + "."
            )
        (kind,) = chosen
        if operator.format is not None and kind not in ("source", "table"):
            raise AirflowFailException(f"format goes with source or table; {kind} names its own format.")
        if operator.pipeline_part is not None and kind != "pipeline":
            raise AirflowFailException("pipeline_part goes with pipeline.")
        if self.given["rules"] is None and kind != "pipeline":
            raise AirflowFailException("Give rules: a list of them, or the path of a JSON or YAML file.")
        if kind == "table":
            self._check_table()

    def _check_table(self) -> None:
        from ..core.formats.places import is_location
        from ..core.registry import built_in_formats
        from ..hooks.compat import AirflowFailException

        table, chosen = str(self.operator.table), self.operator.format or "delta"
        found = built_in_formats().get(chosen.lower())
        if found is not None and found.path_based:
            raise AirflowFailException(f"The format {chosen!r} has files, not tables: use source, or a table format (delta, iceberg).")
        if is_location(table):
            raise AirflowFailException(f"table is {table!r}, which is a path: use source={table!r} and format={chosen!r}.")

    # --- parts ---------------------------------------------------------------------------------------------------
    def _source(self) -> dict[str, Any]:
        operator, given = self.operator, self.given
        if given["input"] is not None:
            return {"input": given["input"]}
        if given["source"] is not None:
            return {"input": {"format": operator.format or "parquet", "path": str(given["source"])}}
        return {"input": {"format": operator.format or "delta", "path": given["table"]}} if given["table"] is not None else {}

    def _validations(self) -> dict[str, Any]:
        """The block as the arguments give it; only what is given, for the rest a file may say."""
        from ..core.gates import validations_of

        operator, inline, as_of = self.operator, self.given["rules"], self.operator.as_of
        block: dict[str, Any] = {}
        if inline is not None and not isinstance(inline, str):
            found = validations_of(inline if isinstance(inline, Mapping) else list(inline))
            block |= found if isinstance(found, Mapping) else {"rules": found}
        values = {
            "report": self.given["report"], "outputs": self.given["quarantine"], "annotate": operator.annotate, "reasons": operator.reasons,
            "quarantine_rules": operator.quarantine_rules, "as_of": as_of.isoformat() if isinstance(as_of, dt.datetime) else as_of,
            "sample_rows": operator.sample_rows, **operator.judgement(),
        }
        return block | {k: v for k, v in values.items() if v is not None}

    def _rules(self) -> Any:
        """The ``validations`` block of the file of rules; None when there is no file."""
        from ..core.gates import validations_of

        path = self.given["rules"]
        if not isinstance(path, str):
            return None
        found = self._read(path)
        nested = isinstance(found.tree, Mapping) and "validations" in found.tree
        self._take(found, ("/validations",) if nested else ("",), str(path))
        self.files["/validations/rules"] = str(path)
        return validations_of(found.tree) if found.tree is not None else None

    def _pipeline(self) -> dict[str, Any] | None:
        """The check that a pipeline document makes, or the part of it that is asked for; None when it cannot be read."""
        from ..core.gates import as_check, parts_of, source_of, validations_of
        from ..hooks.compat import AirflowFailException

        document, part = self.given["pipeline"], self.operator.pipeline_part
        origin = "the pipeline" if isinstance(document, Mapping) else str(document)
        found = self._read(document)
        own_rules = self.given["rules"] is None
        if part is None or not isinstance(found.tree, dict):
            used = ("/name", "/spark", "/input", "/source", "/transformations", *(["/validations"] if own_rules else []))
            self._take(found, used, origin)
            self.files |= {**dict.fromkeys(used, origin), **found.files}
            if not isinstance(found.tree, dict):
                return None
            return {k: v for k, v in as_check(found.tree).items() if own_rules or k != "validations"}
        part = part.strip("/")
        if part not in parts_of(found.tree):
            raise AirflowFailException(f"pipeline_part is {part!r}; {origin} has: {', '.join(parts_of(found.tree))}.")
        self._take(found, (f"/{part}", "/source", "/spark", *(["/validations"] if own_rules else [])), origin)
        self.files |= {"/input": f"{origin}, /{part}", **({"/validations": origin} if own_rules else {})}
        configs = found.tree.get("spark", {}).get("configs") if isinstance(found.tree.get("spark"), Mapping) else None
        rules = {"validations": validations_of(found.tree)} if own_rules and "validations" in found.tree else {}
        return {"name": self.operator.task_id, **({"spark": {"configs": configs}} if configs else {}), "input": source_of(found.tree, part), **rules}

    # --- reading -------------------------------------------------------------------------------------------------
    def _read(self, document: Any) -> Loaded:
        from .documents import read

        return read(document, self.parameters, self.home, strict=self.operator.strict)

    def _bound(self, document: dict[str, Any]) -> Any:
        found = self._read(document)
        self.parts.append(found)
        return found.tree

    def _take(self, found: Loaded, places: tuple[str, ...], origin: str) -> None:
        """Remember the defects of a document, as far as they lie in what is used of it."""
        used = [
            replace(p, file=p.file or origin) for p in found.problems
            if not p.at or any(p.at == place or p.at.startswith(place + "/") for place in places)
        ]
        self.parts.append(replace(found, problems=used))

    def _problems(self) -> list[Any]:
        """The defects of all parts; a parameter is useless only when no part uses it."""
        useless = set.intersection(*({p.facts["found"] for p in part.problems if p.code == "PARAMETER_NOT_USED"} for part in self.parts))
        found: list[Any] = []
        for problem in (p for part in self.parts for p in part.problems):
            if problem.code != "PARAMETER_NOT_USED":
                found.append(problem)
            elif problem.facts["found"] in useless:
                useless.remove(problem.facts["found"])
                found.append(replace(problem, file=None))
        return found
