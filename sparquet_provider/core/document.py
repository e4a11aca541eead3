"""The pipeline document as frozen classes: what may stand in it and what it means. No I/O, no Spark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from .errors import Problem, nearest, pointer
from .prepare.contract import Contract, with_target
from .prepare.selection import check_derived
from .result import jsonable
from .spec import Field, Parse, Spec, members_of, shown, spec
from .text import instant, plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .columns import Columns
    from .context import Run
    from .quality.metrics import Metric, Values, Verdict


def parse_variant(kind: str, tag: str, raw: Any, at: str, parse: Parse) -> Any:
    """Read an object whose class is named by one of its keys (``type``); None when it has defects."""
    if not isinstance(raw, Mapping):
        parse.error("WRONG_TYPE", at, found=shown(raw), expected="an object", hint="")
        return None
    name = raw.get(tag)
    if not isinstance(name, str):
        keys = [plain(str(k)) for k in raw]
        if name is None:
            parse.error("MISSING_KEY", at, expected=tag, nearest=nearest(tag, keys), hint="")
        else:
            parse.error("WRONG_TYPE", at + pointer(tag), found=shown(name), expected="a text", hint="")
        return None
    name = plain(name)
    found = parse.types.lookup(kind, name)
    if found is None:
        if parse.unknown_types:
            found = parse.types.lookup(kind, "*")
        else:
            known = parse.types.names(kind)
            parse.error("UNKNOWN_TYPE", at + pointer(tag), kind=kind, found=name, nearest=nearest(name, known), expected=known)
            return None
    return found.parse(raw, at, parse)


@spec
class Step(Spec):
    """One transformation. A new one is a subclass in its own file under ``steps/``."""

    KIND: ClassVar[str] = "transformation"
    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("type",)
    RENDERED_WHEN_RUN: ClassVar[bool] = True
    #: The name in documents.
    type: ClassVar[str] = ""
    #: True when the step never changes rows or columns (debug, collect): progress and planning use it.
    passes_through: ClassVar[bool] = False
    #: True when the step makes few rows of many (group_by, distinct): measuring after it is cheap.
    reduces: ClassVar[bool] = False
    #: Documents for the reference page and the cases: what to know before using it.
    notes: ClassVar[tuple[str, ...]] = ()

    skip_if_false: Annotated[Any, Field("Empty text, false or a false SQL expression over literals skips the step.", example="{flag}", sql=True)] = True

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read a step; on ``Step`` itself the ``type`` key names the class."""
        if cls is Step:
            result: Self | None = parse_variant(cls.KIND, "type", raw, at, parse)
            return result
        return super().parse(raw, at, parse)

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The frame after this step. Raises SparquetError for faults of the document or the data."""
        raise NotImplementedError

    def inner_chains(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        """The lists of steps inside this one, with the key they stand under."""
        yield from ()

    def sources(self) -> Iterator[tuple[str, Source]]:
        """The sources that this step reads, with the key they stand under."""
        yield from ()


#: Options that hold SQL: Spark's own, or that of the database which is read.
_SQL_OPTIONS = {"replacewhere": True, "merge_condition": True, "query": False, "dbtable": False}


@spec
class ReadBlock(Spec):
    """How a source is read."""

    schema: Annotated[str | None, Field("Columns and types of the source as Spark DDL.", example="id INT, name STRING")] = None


@spec
class Source(Spec):
    """Where rows come from: a format, a place and the reader's options."""

    format: Annotated[str, Field("How the data is stored.", example="delta", runtime=False)]
    path: Annotated[
        str | tuple[str, ...] | None, Field("A path or URI, a glob, a list of paths, a table name, or a view, depending on the format.", example="sales.orders")
    ] = None
    options: Annotated[dict[str, Any], Field("Passed to the reader.", example={"versionAsOf": "12"}, free=True, sql_keys=_SQL_OPTIONS)] = field(
        default_factory=dict
    )
    schema: Annotated[str | None, Field("Columns and types as Spark DDL; switches inference off (csv, json).", example="id INT, name STRING")] = None
    read: Annotated[ReadBlock | None, Field("Another place for schema.", example={"schema": "id INT, name STRING"})] = None
    scope: Annotated[str, Field("Where a view lives (format view).", choices=("session", "global"), runtime=False)] = "session"
    connection: Annotated[str | None, Field("The Airflow connection that has host, user and password.", example="my_pg", runtime=False)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", self.format.lower())
        if self.read is not None and self.schema is None:
            object.__setattr__(self, "schema", self.read.schema)

    def check(self, at: str) -> Iterator[Problem]:
        if self.read is not None and self.read.schema not in (None, self.schema):
            yield Problem("KEYS_EXCLUDE", at + "/schema", {"found": "schema and read.schema", "reason": "each is the schema of the source"})
        if self.path is not None and not (self.path.strip() if isinstance(self.path, str) else self.path):
            yield Problem("EMPTY_VALUE", at + "/path", {"expected": "a path or a name", "hint": ""})
        yield from check_connection(self.connection, at)
        yield from check_spellings(self.options, at)

    @property
    def paths(self) -> tuple[str, ...]:
        """The places as a tuple, also when there is one."""
        return (self.path,) if isinstance(self.path, str) else (self.path or ())


@spec
class Output(Spec):
    """Where rows go: a format, a place, a mode, and what is different for this destination."""

    format: Annotated[str, Field("How the data is stored.", example="parquet", runtime=False)]
    path: Annotated[str | None, Field("A path or URI, or a table name, depending on the format.", example="/data/orders")] = None
    mode: Annotated[
        str,
        Field(
            "overwrite replaces all, append adds, ignore keeps what exists, error refuses when something exists. Tables also know merge (or upsert), "
            "replace_partitions, hash_diff_upsert, historical and snapshot_soft_delete.",
            example="append",
            runtime=False,
        ),
    ] = "overwrite"
    partition_by: Annotated[tuple[str, ...], Field("Columns that become directories.", example=["dt"])] = ()
    columns: Annotated[
        tuple[str, ...], Field("Columns (or SQL expressions with aliases) written to this destination; all when absent.", example=["id", "revenue"], sql=True)
    ] = ()
    options: Annotated[
        dict[str, Any],
        Field(
            "Passed to the writer; read here too: mergeSchema, replaceWhere, partitionOverwriteMode, and what the modes with keys take (merge_keys, "
            "merge_condition, hash_columns, hash_exclude, effective_from, allow_empty_snapshot).",
            example={"merge_keys": ["id"]},
            free=True,
            sql_keys=_SQL_OPTIONS,
        ),
    ] = field(default_factory=dict)
    transformations: Annotated[tuple[Step, ...], Field("Steps for this destination only.", example=[{"type": "distinct"}])] = ()
    connection: Annotated[str | None, Field("The Airflow connection that has host, user and password.", example="my_pg", runtime=False)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", self.format.lower())

    def check(self, at: str) -> Iterator[Problem]:
        yield from check_connection(self.connection, at)
        yield from check_spellings(self.options, at)
        for key, names in (("partition_by", self.partition_by), ("options/merge_keys", self.merge_keys)):
            seen: set[str] = set()
            for name in (str(n).casefold() for n in names):
                if name in seen:
                    yield Problem("COLUMN_COLLISION", f"{at}/{key}", {"found": name})
                elif not name.strip() and key == "partition_by":
                    yield Problem("EMPTY_VALUE", f"{at}/{key}", {"expected": "the names of columns", "hint": ""})
                seen.add(name)

    @property
    def merge_keys(self) -> tuple[str, ...]:
        """The key columns of a merge, also when one is given as text."""
        keys = next((value for name, value in self.options.items() if name.casefold() == "merge_keys"), ())
        if isinstance(keys, str):
            return tuple(k.strip() for k in keys.split(","))
        return tuple(keys) if isinstance(keys, list | tuple) else ()

    @property
    def canonical_mode(self) -> str:
        """The mode in lower case, for built-in writers; ``upsert`` is ``merge``."""
        mode = self.mode.casefold()
        return "merge" if mode == "upsert" else mode


def check_connection(name: str | None, at: str) -> Iterator[Problem]:
    """A connection without a name."""
    if name is not None and not name.strip():
        yield Problem("EMPTY_VALUE", at + "/connection", {"expected": "the name of a connection", "hint": ""})


def check_spellings(options: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """An option that stands there twice: Spark reads the names without case, so one of the values would be lost."""
    first: dict[str, str] = {}
    for name in options:
        if (other := first.setdefault(name.casefold(), name)) != name:
            facts = {"found": f"{other} and {name}", "reason": "they are one option, whose name has no case"}
            yield Problem("KEYS_EXCLUDE", at + pointer("options", name), facts)


def check_instant(text: str | None, at: str) -> Iterator[Problem]:
    """The defect of a text that is no ISO timestamp; one that a runtime variable will give is not looked at."""
    if text is None or "{{" in text:
        return
    try:
        instant(text)
    except ValueError:
        yield Problem("WRONG_TYPE", at, {"found": repr(text), "expected": "an ISO timestamp", "hint": ", such as 2026-01-31T06:00:00Z"})


@spec
class Rule(Spec):
    """One data-quality rule. A new one is a subclass in its own file under ``quality/checks/``."""

    KIND: ClassVar[str] = "validator"
    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("type",)
    type: ClassVar[str] = ""
    dimension: ClassVar[str] = "validity"
    #: Where it is measured: in the ``pass`` that all aggregates share, the one over the ``keys``, a ``query`` of its own, with
    #: another ``source``, by the ``schema`` alone, or by ``code`` of the user.
    measured_in: ClassVar[str] = "pass"
    #: True when single rows are to blame, so that the rule takes part in a split.
    blames_rows: ClassVar[bool] = False
    #: Keys that judge: they do not change what is measured.
    judging: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    name: Annotated[str | None, Field("A name for people.", example="customers have a key")] = None
    code: Annotated[str | None, Field("A short stable code; by default the compact expression, such as not_null(email).", example="C001")] = None
    error_message: Annotated[str | None, Field("The message when the rule fails.", example="there are negative amounts")] = None
    tags: Annotated[tuple[str, ...], Field("Free labels that travel into the report.", example=["finance"])] = ()
    filter: Annotated[str | None, Field("Only rows that satisfy this SQL predicate are measured.", example="country = 'BR'", sql=True)] = None
    weight: Annotated[float, Field("How much the rule counts in the score of the suite.", example=2, minimum=0)] = 1
    previous_name: Annotated[str | None, Field("The name that the rule had before: its history goes on.", example="cpf filled")] = None
    #: The rules that an entry with ``targets`` stands for, each with its place inside the entry.
    variants: tuple[tuple[str, Rule], ...] = ()

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read a rule; on ``Rule`` itself the ``type`` key names the class, and ``targets`` makes one rule for each."""
        if cls is Rule:
            many = isinstance(raw, Mapping) and "targets" in raw
            result: Self | None = _parse_targets(raw, at, parse) if many else parse_variant(cls.KIND, "type", raw, at, parse)
            return result
        return super().parse(raw, at, parse)

    def check(self, at: str) -> Iterator[Problem]:
        if self.filter is not None and not self.filter.strip():
            yield Problem("EMPTY_VALUE", at + "/filter", {"expected": "an SQL predicate", "hint": ""})
        if not 0 < self.weight < float("inf"):
            yield Problem("WRONG_TYPE", at + "/weight", {"found": str(self.weight), "expected": "a number above 0", "hint": ""})

    def expanded(self) -> tuple[tuple[str, Rule], ...]:
        """The rules that this entry stands for, each with its place inside the entry (itself, at ``""``, without ``targets``)."""
        return self.variants or (("", self),)

    def expression(self) -> str:
        """The rule as a compact text, the default of ``code``."""
        return self.type

    def target(self) -> str | None:
        """The column or columns that are measured, for the report."""
        return None

    def shown(self) -> tuple[str, ...]:
        """The columns of a failing row that a sample shows."""
        return ()

    def sources(self) -> Iterator[tuple[str, Source]]:
        """The sources that this rule reads, with the key they stand under."""
        yield from ()

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        """What must be measured. Raises SparquetError when the columns do not allow it."""
        raise NotImplementedError

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        """The judgement, from the measured values alone."""
        raise NotImplementedError

    def violation(self, columns: Columns) -> str | None:
        """An SQL predicate that is true for bad rows and never null; None when a row's own values do not tell."""
        return None

    def reason(self) -> str:
        """Why a row breaks this rule, in words, for the quarantine."""
        return self.error_message or self.name or self.code or self.expression()

    def parameters(self) -> dict[str, Any]:
        """The rule's own keys as they count, without those that hold their default."""
        found = {m.key: getattr(self, name) for name, m in members_of(type(self)).items() if name not in _COMMON and name != "output"}
        return {k: jsonable(v) for k, v in found.items() if v not in (None, (), {})}

    def uid(self) -> str:
        """A stable short hash of what is measured: not of the rule's name, code, thresholds or severity."""
        measured = {k: _without_options(v) for k, v in self.parameters().items() if k not in self.judging}
        text = json.dumps([self.type, measured], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _without_options(value: Any) -> Any:
    """A source without its options, which may hold a password that changes, and without a connection that it has not."""
    if not isinstance(value, Mapping) or "format" not in value:
        return value
    return {k: v for k, v in value.items() if k != "options" and (k, v) != ("connection", None)}


#: Keys of every rule that say nothing about what is measured.
_COMMON = ("name", "code", "error_message", "tags", "weight", "previous_name")


def _parse_targets(raw: Mapping[str, Any], at: str, parse: Parse) -> Any:
    """An entry with ``targets``: one rule for each, kept together by the first."""
    targets = raw["targets"]
    if not isinstance(targets, list | tuple) or not targets:
        parse.error("WRONG_TYPE", at + "/targets", found=shown(targets), expected="a list of columns", hint=", for example ['id', ['order', 'line']]")
        return None
    if given := [key for key in ("column", "columns") if key in raw]:
        parse.error("KEYS_EXCLUDE", at + "/targets", found=f"targets and {given[0]}", reason="targets names the columns of each rule")
        return None
    others = {key: value for key, value in raw.items() if key != "targets"}
    variants = []
    before = list(parse.problems)
    for i, target in enumerate(targets):
        names = target if isinstance(target, list | tuple) else [target]
        if not names or not all(isinstance(name, str) and name for name in names):
            parse.error("WRONG_TYPE", at + pointer("targets", i), found=shown(target), expected="a column, or a list of columns", hint="")
            continue
        key = "columns" if isinstance(target, list | tuple) else "column"
        found = parse_variant(Rule.KIND, "type", {**others, key: target}, at, parse)
        if found is not None and not {"column", "columns"} & set(members_of(type(found))) and not hasattr(found, "implementation"):
            parse.error("INVALID_COMBINATION", at + "/targets", reason=f"{found.type} measures no columns", remedy="Remove targets.")
        elif found is not None:
            variants.append((pointer("targets", i), found))
    # What is wrong for every target is said once.
    parse.problems[:] = [p for i, p in enumerate(parse.problems) if p not in parse.problems[:i] or p in before]
    return replace(variants[0][1], variants=tuple(variants)) if len(variants) == len(targets) else None


@spec
class Quarantine(Spec):
    """Where the two sides of a split go: the rows that break no row-level rule, and those that break any."""

    valid: Annotated[Output | None, Field("The destination of the rows that break no rule.", example={"format": "delta", "path": "silver.orders"})] = None
    invalid: Annotated[Output | None, Field("The destination of the rows that break a rule.", example={"format": "delta", "path": "quarantine.orders"})] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.valid is None and self.invalid is None:
            yield Problem("MISSING_KEY", at, {"expected": "invalid", "hint": ", or valid, or both"})

    @property
    def sides(self) -> tuple[tuple[str, Output], ...]:
        """The given sides with their keys, the invalid one first."""
        return tuple((key, side) for key, side in (("invalid", self.invalid), ("valid", self.valid)) if side is not None)


@spec
class Validations(Spec):
    """Data quality: rules that are measured after every transformation and before any write."""

    on_failure: Annotated[
        str, Field("fail writes nothing, warn writes and warns, skip writes and records only.", choices=("fail", "warn", "skip"), runtime=False)
    ] = "fail"
    rules: Annotated[tuple[Rule, ...], Field("The rules.", example=[{"type": "not_null", "columns": ["id"]}])] = ()
    report: Annotated[
        Output | None, Field("Where one row per rule is written, in every mode.", example={"format": "csv", "path": "/dq/orders", "mode": "append"})
    ] = None
    sample_rows: Annotated[int, Field("How many failing rows of each rule the result may show; 0 keeps all data out of results.", minimum=0)] = 0
    as_of: Annotated[str | None, Field("The clock of freshness rules, as an ISO timestamp; the run's start by default.", example="2026-01-31T06:00:00Z")] = None
    outputs: Annotated[
        Quarantine | None,
        Field("Splits the rows by the row-level rules, in every mode.", example={"invalid": {"format": "parquet", "path": "/quarantine/orders"}}),
    ] = None
    annotate: Annotated[str | None, Field("A column of the invalid side: the codes of the rules that the row breaks.", example="_broken")] = None
    reasons: Annotated[str | None, Field("A column of the invalid side: the reasons in words.", example="_reasons")] = None
    annotate_valid: Annotated[
        bool, Field("The valid side has these columns, too, as null: both sides of a file format are then written in one pass.")
    ] = False
    quarantine_rules: Annotated[tuple[str, ...], Field("The codes of the rules that split; all row-level rules when absent.", example=["C001"])] = ()
    quarantine: Annotated[bool, Field("Write only the valid rows to the main outputs.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        yield from check_instant(self.as_of, at + "/as_of")
        if self.outputs is not None and not self.rules:
            yield Problem("INVALID_COMBINATION", at + "/outputs", {"reason": "there are no rules to split the rows by", "remedy": "Add rules."})
        if self.annotate is not None and self.reasons is not None and self.annotate.casefold() == self.reasons.casefold():
            yield Problem("COLUMN_COLLISION", at + "/reasons", {"found": self.reasons})
        if self.outputs is None and not self.quarantine:
            for key in ("annotate", "reasons", "quarantine_rules"):
                if getattr(self, key):
                    reason = f"{key} goes with outputs (valid, invalid) or with quarantine"
                    yield Problem("INVALID_COMBINATION", at + pointer(key), {"reason": reason, "remedy": "Add outputs.invalid, or remove it."})
        for key in ("annotate", "reasons"):
            if (name := getattr(self, key)) is not None and not name.strip():
                yield Problem("EMPTY_VALUE", at + pointer(key), {"expected": "the name of a column", "hint": ""})
        for i, entry in enumerate(self.rules):
            if getattr(entry, "history", self) is None:
                yield from self._check_history(at + pointer("rules", i))
        rules = [rule for entry in self.rules for _, rule in entry.expanded() if rule.blames_rows or rule.measured_in == "code"]
        known = {rule.code or rule.expression() for rule in rules}
        for i, code in enumerate(self.quarantine_rules):
            if code not in known:
                facts = {"found": code, "expected": sorted(known), "nearest": nearest(code, known)}
                yield Problem("WRONG_CHOICE", at + pointer("quarantine_rules", i), facts)

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """What is written beside the main outputs, with its place in the document: the report, the sides of a split."""
        report = (("/validations/report", self.report),) if self.report is not None else ()
        return (*report, *((f"/validations/outputs/{key}", side) for key, side in (self.outputs.sides if self.outputs else ())))

    def _check_history(self, at: str) -> Iterator[Problem]:
        """A rule that looks back at earlier results needs a report that keeps them."""
        if self.report is None:
            yield Problem("MISSING_KEY", at, {"expected": "history", "hint": ", an input block, or a report with mode append"})
        elif self.report.canonical_mode != "append":
            reason = f"the report's mode is {self.report.mode}, so no earlier results are kept for this rule"
            yield Problem("INVALID_COMBINATION", at, {"reason": reason, "remedy": "Write the report with mode append."}, "warning")


@spec
class SparkBlock(Spec):
    """Settings of the Spark session; they become submit configuration."""

    app_name: Annotated[str | None, Field("The application's name.", example="orders")] = None
    master: Annotated[str | None, Field("The master of a local session; elsewhere the connection decides.", example="local[*]")] = None
    configs: Annotated[dict[str, Any], Field("Any spark.* setting.", example={"spark.sql.shuffle.partitions": "200"}, free=True)] = field(default_factory=dict)


@spec
class Document(Contract):
    """What pipelines and checks have in common: a name, an input, its preparation, steps in order."""

    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("$schema",)

    name: Annotated[str, Field("Names the document in logs, report and result; a stable slug.", example="orders_curated", nonempty=True, runtime=False)]
    description: Annotated[str | None, Field("What it is for; travels with the document.", runtime=False)] = None
    spark: Annotated[SparkBlock, Field("Settings of the Spark session.")] = SparkBlock()
    input: Annotated[Source, Field("Where the rows come from.", example={"format": "parquet", "path": "/data/orders"}, aliases=("source",))]
    transformations: Annotated[tuple[Step, ...], Field("The steps, in order.")] = ()

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read a document; ``target_table`` becomes its output."""
        return super().parse(with_target(raw), at, parse)

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        for place, step in self._all_steps(at):
            if (shape := getattr(step, "shape", None)) is not None:
                yield from shape.check_layer(self.layer, place + "/shape")
                yield from shape.check_schemas(self.schemas, place + "/shape")
            yield from check_derived(getattr(step, "derive", {}), self.layer, place + "/derive", (shape,))

    @property
    def has_instant(self) -> bool:
        """True when the frame has ``ingestion_ts_utc`` from the read on."""
        return self.is_contract or any(step.type == "transform" for _, step in self._all_steps(""))

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """Every output with its place in the document."""
        raise NotImplementedError

    def _all_steps(self, at: str) -> Iterator[tuple[str, Step]]:
        """Every step of the document with its place, also those of one destination."""
        yield from walk(self.transformations, at + "/transformations")
        validations = getattr(self, "validations", None)
        sides = validations.outputs.sides if validations and validations.outputs else ()
        for place, output in (*self.destinations, *((f"/validations/outputs/{key}", side) for key, side in sides)):
            yield from walk(output.transformations, at + place + "/transformations")


@spec
class Pipeline(Document):
    """A pipeline: one input, its preparation, steps in order, quality rules, one or more outputs."""

    validations: Annotated[Validations | None, Field("Quality rules and what happens when they fail.")] = None
    output: Annotated[Output | None, Field("The destination.", example={"format": "parquet", "path": "/data/curated"})] = None
    outputs: Annotated[tuple[Output, ...] | None, Field("Several destinations; wins over output.")] = None

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.outputs is not None and self.target_table is not None:
            yield Problem("KEYS_EXCLUDE", at + "/target_table", {"found": "target_table and outputs", "reason": "target_table names the table of one output"})
        if self.output is None and not self.outputs:
            yield Problem("MISSING_KEY", at, {"expected": "output", "hint": ", a list under outputs, or target_table"})
        if self.output is not None and self.outputs is not None:
            yield Problem("OUTPUTS_WIN", at + "/output", {}, "warning")

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """Every output with its place in the document."""
        if self.outputs:
            return tuple((pointer("outputs", i), o) for i, o in enumerate(self.outputs))
        return (("/output", self.output),) if self.output else ()


@spec
class Check(Document):
    """A check of data where it lies: an input, its preparation, and rules; no output."""

    validations: Annotated[Validations, Field("The rules and what happens when they fail.")]

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if not self.validations.rules:
            facts = {"expected": "at least one rule", "hint": ": a check without rules passes whatever the data is"}
            yield Problem("EMPTY_VALUE", at + "/validations/rules", facts)

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """A check writes nothing but its report and its quarantine."""
        return ()


def walk(steps: tuple[Step, ...], at: str) -> Iterator[tuple[str, Step]]:
    """Every step with its place, nested ones after their parent."""
    for i, step in enumerate(steps):
        place = at + pointer(i)
        yield place, step
        for key, chain in step.inner_chains():
            yield from walk(chain, place + pointer(key))
