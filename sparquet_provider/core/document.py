"""The pipeline document as frozen classes: what may stand in it and what it means. No I/O, no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from .errors import Problem, nearest, pointer
from .spec import Field, Parse, Spec, shown, spec
from .text import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .columns import Columns
    from .context import Run
    from .quality.metrics import Metric, Values, Verdict

MODES = ("overwrite", "append", "merge", "ignore", "error")


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


@spec
class Source(Spec):
    """Where rows come from: a format, a place and the reader's options."""

    format: Annotated[str, Field("How the data is stored.", example="delta", runtime=False)]
    path: Annotated[
        str | tuple[str, ...] | None, Field("A path or URI, a glob, a list of paths, a table name, or a view, depending on the format.", example="sales.orders")
    ] = None
    options: Annotated[dict[str, Any], Field("Passed to the reader.", example={"versionAsOf": "12"}, free=True)] = field(default_factory=dict)
    schema: Annotated[str | None, Field("Columns and types as Spark DDL; switches inference off (csv, json).", example="id INT, name STRING")] = None
    scope: Annotated[str, Field("Where a view lives (format view).", choices=("session", "global"), runtime=False)] = "session"

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", self.format.lower())

    def check(self, at: str) -> Iterator[Problem]:
        if self.path is not None and not (self.path.strip() if isinstance(self.path, str) else self.path):
            yield Problem("EMPTY_VALUE", at + "/path", {"expected": "a path or a name", "hint": ""})

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
            "overwrite replaces all, append adds, merge updates by key, ignore keeps what exists, error refuses when something exists.",
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
            "Passed to the writer; merge_keys, merge_condition, mergeSchema, replaceWhere and partitionOverwriteMode are read here too.",
            example={"merge_keys": ["id"]},
            free=True,
        ),
    ] = field(default_factory=dict)
    transformations: Annotated[tuple[Step, ...], Field("Steps for this destination only.", example=[{"type": "distinct"}])] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", self.format.lower())

    @property
    def merge_keys(self) -> tuple[str, ...]:
        """The key columns of a merge, also when one is given as text."""
        keys = self.options.get("merge_keys", ())
        return tuple(k.strip() for k in keys.split(",")) if isinstance(keys, str) else tuple(keys)

    @property
    def canonical_mode(self) -> str:
        """The mode in lower case, for built-in writers."""
        return self.mode.casefold()


@spec
class Rule(Spec):
    """One data-quality rule. A new one is a subclass in its own file under ``quality/checks/``."""

    KIND: ClassVar[str] = "validator"
    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("type",)
    type: ClassVar[str] = ""
    dimension: ClassVar[str] = "validity"
    #: True when plain aggregates measure it, so that it can share the pass of a write.
    shares_pass: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    name: Annotated[str | None, Field("A name for people.", example="customers have a key")] = None
    code: Annotated[str | None, Field("A short stable code; by default the compact expression, such as not_null(email).", example="C001")] = None
    error_message: Annotated[str | None, Field("The message when the rule fails.", example="there are negative amounts")] = None
    tags: Annotated[tuple[str, ...], Field("Free labels that travel into the report.", example=["finance"])] = ()
    filter: Annotated[str | None, Field("Only rows that satisfy this SQL predicate are measured.", example="country = 'BR'", sql=True)] = None

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read a rule; on ``Rule`` itself the ``type`` key names the class."""
        if cls is Rule:
            result: Self | None = parse_variant(cls.KIND, "type", raw, at, parse)
            return result
        return super().parse(raw, at, parse)

    def expression(self) -> str:
        """The rule as a compact text, the default of ``code``."""
        return self.type

    def target(self) -> str | None:
        """The column or columns that are measured, for the report."""
        return None

    def metrics(self, columns: Columns) -> tuple[Metric, ...]:
        """What must be measured. Raises SparquetError when the columns do not allow it."""
        raise NotImplementedError

    def judge(self, metrics: tuple[Metric, ...], values: Values) -> Verdict:
        """The judgement, from the measured values alone."""
        raise NotImplementedError

    def violation(self, columns: Columns) -> str | None:
        """An SQL predicate that is true for bad rows and never null; None when single rows are not to blame."""
        return None


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


@spec
class SparkBlock(Spec):
    """Settings of the Spark session; they become submit configuration."""

    app_name: Annotated[str | None, Field("The application's name.", example="orders")] = None
    master: Annotated[str | None, Field("The master of a local session; elsewhere the connection decides.", example="local[*]")] = None
    configs: Annotated[dict[str, Any], Field("Any spark.* setting.", example={"spark.sql.shuffle.partitions": "200"}, free=True)] = field(default_factory=dict)


@spec
class Pipeline(Spec):
    """A pipeline: one input, steps in order, quality rules, one or more outputs."""

    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("$schema",)

    name: Annotated[str, Field("Names the pipeline in logs, report and result; a stable slug.", example="orders_curated", nonempty=True, runtime=False)]
    description: Annotated[str | None, Field("What it is for; travels with the document.", runtime=False)] = None
    spark: Annotated[SparkBlock, Field("Settings of the Spark session.")] = SparkBlock()
    input: Annotated[Source, Field("The source of the pipeline.", example={"format": "parquet", "path": "/data/orders"}, aliases=("source",))]
    transformations: Annotated[tuple[Step, ...], Field("The steps, in order.")] = ()
    validations: Annotated[Validations | None, Field("Quality rules and what happens when they fail.")] = None
    output: Annotated[Output | None, Field("The destination.", example={"format": "parquet", "path": "/data/curated"})] = None
    outputs: Annotated[tuple[Output, ...] | None, Field("Several destinations; wins over output.")] = None

    def check(self, at: str) -> Iterator[Problem]:
        if self.output is None and not self.outputs:
            yield Problem("MISSING_KEY", at, {"expected": "output", "hint": ", or a list under outputs"})
        if self.output is not None and self.outputs is not None:
            yield Problem("OUTPUTS_WIN", at + "/output", {}, "warning")

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """Every output with its place in the document."""
        if self.outputs:
            return tuple((pointer("outputs", i), o) for i, o in enumerate(self.outputs))
        return (("/output", self.output),) if self.output else ()


@spec
class Check(Spec):
    """A check of data where it lies: an input and rules, no output."""

    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("$schema",)

    name: Annotated[str, Field("Names the check in logs, report and result.", example="orders_gate", nonempty=True, runtime=False)]
    description: Annotated[str | None, Field("What it is for.", runtime=False)] = None
    spark: Annotated[SparkBlock, Field("Settings of the Spark session.")] = SparkBlock()
    input: Annotated[Source, Field("What is checked.", example={"format": "delta", "path": "sales.orders"}, aliases=("source",))]
    transformations: Annotated[tuple[Step, ...], Field("Steps before the rules.")] = ()
    validations: Annotated[Validations, Field("The rules and what happens when they fail.")]

    @property
    def destinations(self) -> tuple[tuple[str, Output], ...]:
        """A check writes nothing but its report."""
        return ()


def walk(steps: tuple[Step, ...], at: str) -> Iterator[tuple[str, Step]]:
    """Every step with its place, nested ones after their parent."""
    for i, step in enumerate(steps):
        place = at + pointer(i)
        yield place, step
        for key, chain in step.inner_chains():
            yield from walk(chain, place + pointer(key))
