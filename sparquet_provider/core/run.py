"""The sequencer: read, transform, measure, write, in this order and nowhere else."""

from __future__ import annotations

import datetime as dt
import logging
import time
import traceback
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .columns import HIDDEN, Columns, quoted
from .connections import Connections
from .context import Run, Stopped
from .document import Check, Output, Pipeline, Rule, Source, Step, Validations
from .engine import Engine, observed
from .errors import Problem, SparquetError, pointer
from .faults import quiet_spark_errors, translate
from .formats.base import Written
from .formats.options import is_true
from .formats.safety import refuse_overwriting_source
from .parts import with_origins
from .plan import Plan, describe_output, describe_source, explain, plan, sides_together
from .prepare.control import warn_of_replaced, with_instant
from .quality import engine as quality
from .quality.checks.volume_anomaly import VolumeAnomaly
from .quality.metrics import ROWS
from .quality.report import report_frame
from .quality.split import FLAG, Flagged, flag, refuse_taken_names
from .registry import Registry
from .result import CheckResult, OutputResult, PipelineResult, StepResult
from .skip import skips
from .spec import render

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("sparquet")


@dataclass
class Options:
    """What a run is given beside its document.

    Args:
        input_df: a frame that replaces the reading of the input block.
        literals: constant columns added to the input.
        input_view: ``name`` or ``{"name": …, "type": "session"|"global"}``: the input as a view.
        run_id: names the run in result and report.
        params: the effective parameters, for the record (already masked).
        watermark: the mark that the previous run returned; None or empty reads everything.
        connections: servers and logins by the names that blocks use; see :mod:`connections`.
        hidden: secret values that no message may show.
    """

    input_df: DataFrame | None = None
    literals: Mapping[str, Any] = field(default_factory=dict)
    input_view: str | Mapping[str, str] | None = None
    run_id: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    watermark: Mapping[str, Any] | None = None
    connections: Mapping[str, Any] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)


def execute(
    document: Pipeline | Check, registry: Registry, spark: SparkSession, options: Options | None = None, warnings: list[Problem] | None = None
) -> PipelineResult:
    """Run a document and return its result; never raises for a fault of document, data or engine."""
    with quiet_spark_errors():
        return _Execution(document, registry, spark, options or Options(), warnings or []).run()


class _Execution:
    def __init__(self, document: Pipeline | Check, registry: Registry, spark: SparkSession, options: Options, warnings: list[Problem]) -> None:
        now = dt.datetime.now(dt.timezone.utc)
        self.document, self.registry, self.options = document, registry, options
        self.plan: Plan = plan(document)
        self.engine = Engine(spark)
        run_id, validations = options.run_id or uuid.uuid4().hex, document.validations
        self.ctx = Run(
            spark, self.engine, now, self._read, self._chain, dict(options.literals), warnings=[*warnings, *registry.problems],
            name=document.name, run_id=run_id, sample_rows=validations.sample_rows if validations else 0,
            schemas=document.schemas, watermark=dict(self.options.watermark or {}), connections=Connections(options.connections),
        )
        self.result = PipelineResult(document.name, run_id=run_id, started_at=now.isoformat(), params=dict(options.params))
        self.kept: list[DataFrame] = []
        self.at = ""

    # --- the sequence ------------------------------------------------------------------------------------------
    def run(self) -> PipelineResult:
        started, result = time.monotonic(), self.result
        self.engine.hide_refusals()
        before = self.engine.last_execution()
        for line in explain(self.document, self.ctx.connections):
            log.info("plan: %s", line)
        try:
            self._sequence()
        except Stopped as stop:
            result.status, result.reason, result.message = "skipped", "stop_if_empty", str(stop)
            for output in result.outputs:  # the destination in whose own chain the stop stood
                if output.status == "failed":
                    output.status = "skipped"
        except Exception as error:  # noqa: BLE001 - every fault becomes a part of the result
            self._failed(translate(error, self.at))
        for question in self.ctx.deferred:
            try:
                question(result.success)
            except Exception as error:  # noqa: BLE001 - as above
                if result.success:  # an earlier fault is the one to report
                    self._failed(translate(error, self.at))
        self._count(before)
        for frame in self.kept:
            frame.unpersist()
        result.variables, result.warnings = self.ctx.variables, self.ctx.warnings
        result.watermark = dict(self.ctx.mark) if result.success else {}
        result.engine = {"name": self.engine.name, "spark": self.engine.spark.version}
        result.seconds = round(time.monotonic() - started, 3)
        log.info(
            "%s: %s in %.1f s, %s rows read, %s rows written",
            self.document.name,
            result.status,
            result.seconds,
            _or_unknown(result.rows_read),
            _or_unknown(result.rows_written),
        )
        return result

    def _sequence(self) -> None:
        document = self.document
        df = self._input()
        own = tuple(step for _, output in document.destinations for step in output.transformations)
        df = self._prepared(df, (*document.transformations, *own))
        df = self._steps(df, document.transformations, self.ctx.placed("/transformations"), after=own)
        self.result.output_df = df
        if self.plan.keep:
            df = df.persist()
            self.kept.append(df)
        validations = render(document.validations, self.ctx.variables) if document.validations else None
        rules = self._rules(validations) if validations else []
        sides = validations.outputs.sides if validations and validations.outputs else ()
        beside = [(f"/validations/outputs/{key}", side) for key, side in sides]
        beside += [(at + "/output", output) for at, rule in rules if (output := getattr(rule, "output", None)) is not None]
        if validations is not None and validations.report is not None:
            beside.append(("/validations/report", validations.report))
        for at, output in (*document.destinations, *beside):
            self.at = at
            refuse_overwriting_source(df, render(output, self.ctx.variables), self.ctx.placed(at))
        if validations is None or not rules:
            self._write_all(df, 0)
            return
        if sides or validations.quarantine:
            refuse_taken_names(df, {"annotate": validations.annotate, "reasons": validations.reasons}, "/validations")
        planned = quality.plan_rules(df, rules)
        measured, next_output = self._split_and_count(df, planned, validations), 0
        split = measured is not None
        if not split and self.plan.with_write and planned.only_aggregates:
            measured, next_output = self._write_and_observe(df, planned)
        results = self._measure(df, planned, validations, measured)
        valid = df if split and not validations.quarantine else self._split(df, quality.that_ran(planned, results), validations, written=split)
        self._judge(results, validations)
        self._write_all(valid, next_output)

    def _input(self) -> DataFrame:
        from pyspark.sql import functions as F

        self.at = "/input"
        started = time.monotonic()
        if self.options.input_df is not None:
            df, words = self.options.input_df, "the frame that was passed in"
        else:
            source = render(self.document.input, self.ctx.variables)
            df, words = self._read(source, self.ctx.placed("/input")), describe_source(source)
            # A check judges the source as it is: its own column is not replaced there.
            if not (isinstance(self.document, Check) and "ingestion_ts" in (name.casefold() for name in df.columns)):
                df = self._add(df, "ingestion_ts", F.lit(self.ctx.ingestion_ts))
        if self.document.has_instant:
            df = with_instant(df, self.ctx.placed("/input"))
        for name, value in self.options.literals.items():
            df = self._add(df, name, F.lit(value))
        if view := self.options.input_view:
            name, kind = (view, "session") if isinstance(view, str) else (view["name"], view.get("type", "session"))
            (df.createOrReplaceGlobalTempView if kind == "global" else df.createOrReplaceTempView)(name)
        log.info("input: %s (%.1f s)", words, time.monotonic() - started)
        return df

    def _add(self, df: DataFrame, name: str, value: Any) -> DataFrame:
        warn_of_replaced(name, df, self.ctx)
        return df.withColumn(name, value)

    def _read(self, source: Source, run: Run) -> DataFrame:
        reader = self.registry.lookup("reader", source.format)
        df: DataFrame = self.engine.check_analysis(reader.read(source, run))
        if own := next((name for name in df.columns if name.casefold().startswith(HIDDEN)), None):
            raise run.fault("RESERVED_COLUMN", found=own, expected=f"{HIDDEN}…")
        return df

    # --- preparation -------------------------------------------------------------------------------------------
    def _prepared(self, df: DataFrame, after: tuple[Step, ...]) -> DataFrame:
        """The frame after the operations of the contract, in their fixed order."""
        operations = self.document.preparation()
        if self.options.watermark and not self.document.watermark_columns:
            found = ", ".join(self.options.watermark)
            raise SparquetError("WATERMARK_INVALID", "/watermark_columns", found=found, reason="the document has no watermark_columns")
        for i, operation in enumerate(operations):
            self.at = operation.at
            started = time.monotonic()
            run = replace(self.ctx, at=operation.at, following=(*operations[i + 1 :], *after))
            try:
                df = self.engine.check_analysis(operation.apply(df, run))
            except SparquetError:
                raise
            except Exception as error:
                raise translate(error, operation.at, Columns.of(df).names) from error
            seconds = time.monotonic() - started
            self.result.steps.append(StepResult(operation.at, operation.label, round(seconds, 3)))
            log.info("prepare %d of %d: %s (%.1f s)", i + 1, len(operations), operation.label, seconds)
        return df

    # --- steps -------------------------------------------------------------------------------------------------
    def _chain(self, df: DataFrame, steps: tuple[Step, ...], run: Run) -> DataFrame:
        return self._steps(df, steps, run, nested=True)

    def _steps(self, df: DataFrame, steps: tuple[Step, ...], run: Run, nested: bool = False, after: tuple[Step, ...] = ()) -> DataFrame:
        """Apply a chain of steps; ``after`` are those that follow it (the outputs' own)."""
        for i, raw in enumerate(steps):
            at = run.at + pointer(i)
            self.at = at
            here = replace(run, at=at, following=(*steps[i + 1 :], *after))
            started = time.monotonic()
            try:
                step = render(raw, run.variables)
                skipped = skips(step.skip_if_false, self.engine.spark)
                if not skipped:
                    df = self.engine.check_analysis(step.apply(df, here))
            except (SparquetError, Stopped):
                raise
            except Exception as error:
                raise self._step_fault(error, at, raw, df) from error
            seconds = time.monotonic() - started
            self.result.steps.append(StepResult(at, raw.type, round(seconds, 3), skipped))
            log.info("%sstep %d of %d: %s%s (%.1f s)", "  " if nested else "", i + 1, len(steps), raw.type, " skipped" if skipped else "", seconds)
        return df

    def _step_fault(self, error: Exception, at: str, step: Step, df: DataFrame) -> SparquetError:
        from .custom import CustomStep

        found = with_origins(translate(error, at, Columns.of(df).names), self.ctx)
        if isinstance(step, CustomStep) and found.code == "INTERNAL":
            return SparquetError("EXTENSION_FAILED", at, found=step.type, reason=f"{type(error).__name__}: {error}", cause=error)
        return found

    # --- quality -----------------------------------------------------------------------------------------------
    def _rules(self, validations: Validations) -> list[tuple[str, Rule]]:
        """The rules with their places; those that look back find earlier results where the report goes."""
        rules = quality.rendered(validations.rules, "/validations/rules", self.ctx.variables)
        report = validations.report
        if report is None:
            return rules
        earlier = Source(format=report.format, path=report.path, options=report.options, connection=report.connection)
        return [(at, replace(r, history=earlier) if isinstance(r, VolumeAnomaly) and r.history is None else r) for at, r in rules]

    def _measure(self, df: DataFrame, planned: quality.Plan, validations: Validations, measured: Mapping[Any, Any] | None) -> list[CheckResult]:
        self.at = "/validations"
        started = time.monotonic()
        run = replace(self.ctx, at="/validations", as_of=validations.as_of)
        results = quality.measure(df, planned, run, measured)
        if validations.sample_rows:
            quality.add_samples(planned, results, validations.sample_rows)
        self.result.validation_results, self.result.score = results, quality.score(results)
        for found in results:
            log.log(logging.INFO if found.severity == "pass" else logging.WARNING, "rule %s", found)
        log.info("rules measured: %d (%.1f s)", len(results), time.monotonic() - started)
        if validations.report is not None:
            self.at = "/validations/report"
            frame = report_frame(self.engine.spark, self.result, self.ctx.ingestion_ts)
            self.result.report = self._write_rows(frame, validations.report, self.at)
        quality.write_failed_rows(df, quality.that_ran(planned, results), run, self._write_rows)
        return results

    def _split_and_count(self, df: DataFrame, planned: quality.Plan, validations: Validations) -> Mapping[Any, Any] | None:
        """Write both sides in one job and count the rules by the codes on the invalid side; None where the rules need a pass of their own."""
        from pyspark.sql import functions as F

        metrics, sides = quality.told_by_codes(planned), validations.outputs
        if not (metrics and sides and sides.invalid and validations.annotate and sides_together(validations)[0]) or validations.quarantine_rules:
            return None
        self.at = "/validations/outputs"
        try:
            flagged = flag(df, planned.rules, self.ctx.placed("/validations"))
            if not self._write_together(flagged, validations):
                return None
        except SparquetError as error:
            if error.retryable:
                raise
            # A rule may be to blame: measured apart, it gets an error of its own. A write that fails leaves nothing.
            self.result.quarantine.clear()
            return None
        rows = [entry.rows_written for entry in self.result.quarantine]
        invalid = render(sides.invalid, self.ctx.variables)
        name = quoted(validations.annotate)
        codes = self.engine.spark.read.format(invalid.format).schema(f"{name} array<string>").load(invalid.path)
        counts = codes.agg(*[F.count_if(F.array_contains(name, code)) for code in metrics]).collect()[0]
        known: dict[Any, Any] = {ROWS: sum(r or 0 for r in rows)} if None not in rows else {}
        return {**known, **dict(zip(metrics.values(), counts, strict=True))}

    def _split(self, df: DataFrame, rules: list[tuple[str, Rule]], validations: Validations, *, written: bool = False) -> DataFrame:
        """Write the two sides of the split by the rules that could be measured; returns the frame for the main outputs."""
        sides = validations.outputs.sides if validations.outputs and not written else ()
        if not sides and not validations.quarantine:
            return df
        self.at = "/validations/outputs"
        flagged = flag(df, rules, self.ctx.placed("/validations"), validations.quarantine_rules)
        if not (sides_together(validations)[0] and self._write_together(flagged, validations)):
            for key, side in sides:
                frame = flagged.valid() if key == "valid" else flagged.invalid(validations.annotate, validations.reasons)
                if key == "valid" and validations.annotate_valid:
                    frame = Flagged(frame, frame.columns).annotated(frame, validations.annotate, validations.reasons)
                self.result.quarantine.append(self._write_side(frame, side, f"/validations/outputs/{key}"))
        return flagged.valid() if validations.quarantine else df

    def _write_side(self, df: DataFrame, side: Output, at: str) -> OutputResult:
        if side.transformations:
            df = self._steps(df, side.transformations, self.ctx.placed(at + "/transformations"), nested=True)
        return self._write_rows(df, side, at)

    def _write_together(self, flagged: Flagged, validations: Validations) -> bool:
        """Write both sides in one job where the format and the file system allow it; False when they do not."""
        sides = {key: render(side, self.ctx.variables) for key, side in (validations.outputs.sides if validations.outputs else ())}
        writer = self.registry.lookup("writer", sides["valid"].format)
        if not writer.writes_sides(sides, self.engine):
            return False
        started = time.monotonic()
        df = flagged.both(validations.annotate, validations.reasons)
        entries = {key: OutputResult(f"/validations/outputs/{key}", s.format, s.path, s.mode, "failed") for key, s in sides.items()}
        self.result.quarantine += entries.values()
        run = self.ctx.placed("/validations/outputs")
        try:
            written = writer.write_sides(df, FLAG, sides, run)
        except SparquetError:
            raise
        except Exception as error:
            raise self._write_fault(error, run, sides["invalid"], df) from error
        for key, entry in entries.items():
            _fill(entry, written[key], started)
            log.info("%s: %s, %s rows (%.1f s)", entry.at.lstrip("/"), describe_output(sides[key]), _or_unknown(entry.rows_written), entry.seconds)
        return True

    def _judge(self, results: list[CheckResult], validations: Validations) -> None:
        """Stop the run, or warn, when rules failed."""
        self.at = "/validations"
        failed = [r for r in results if r.severity == "fail"]
        if failed and validations.on_failure == "fail":
            raise SparquetError.of([quality.failure(results, "/validations")])
        if failed and validations.on_failure == "warn":
            self.ctx.placed("/validations").warn("RULE_FAILED", reason=quality.failure(results, "").message)

    def _write_and_observe(self, df: DataFrame, planned: quality.Plan) -> tuple[Mapping[Any, Any] | None, int]:
        """Write the first output, and the values measured on the way (None when the engine lost them); the next output's number.

        When the SQL of a rule is wrong nothing is written yet: the rules are measured apart, where the culprit is isolated.
        """
        from pyspark.errors import PySparkException
        from pyspark.sql import Observation

        metrics = quality.aggregates_of(planned)
        observation = Observation()
        try:
            watched = self.engine.check_analysis(df.observe(observation, *quality.aggregate_columns(metrics)))
        except PySparkException:
            return None, 0
        try:
            self._write(watched, 0)
        except SparquetError as error:
            if error.retryable:
                raise
            # A rule may be to blame (a pattern that is none). A write that fails leaves nothing, so it is done again alone.
            self.result.outputs.pop()
            return None, 0
        values = observed(observation, self.engine)
        return ({m: values[f"m{i}"] for i, m in enumerate(metrics)} if values else None), 1

    # --- outputs -----------------------------------------------------------------------------------------------
    def _write_all(self, df: DataFrame, first: int) -> None:
        for number in range(first, len(self.document.destinations)):
            self._write(df, number)

    def _write(self, df: DataFrame, number: int) -> None:
        at, output = self.document.destinations[number]
        self.at = at
        run = self.ctx.placed(at)
        entry = OutputResult(at, output.format, output.path, output.mode, "failed")
        self.result.outputs.append(entry)
        if output.transformations:
            df = self._steps(df, output.transformations, run.placed(at + "/transformations"), nested=True)
            self.at = at
        self._write_into(entry, df, render(output, run.variables), run)

    def _write_rows(self, df: DataFrame, output: Output, at: str) -> OutputResult:
        """Write rows beside the outputs: a report, the bad rows of a rule."""
        output = render(output, self.ctx.variables)
        run = self.ctx.placed(at)
        entry = OutputResult(at, output.format, output.path, output.mode, "failed")
        refuse_overwriting_source(df, output, run)
        self._write_into(entry, df, output, run)
        return entry

    def _write_into(self, entry: OutputResult, df: DataFrame, output: Output, run: Run) -> None:
        started = time.monotonic()
        entry.path = output.path
        if output.columns:
            columns = Columns.of(df)
            df = df.selectExpr(*[columns.find(c).sql if c in columns.names else c for c in output.columns])
        entry.columns = {f.name: f.dataType.simpleString() for f in df.schema.fields}
        writer = self.registry.lookup("writer", output.format)
        try:
            if self.document.target_table and run.at == "/output":
                writer.prepare_target(output, run)
            written = writer.write(df, output, run)
            notes = self.document.annotations
            if notes is not None and written.wrote and is_true(output.options, "comments"):
                writer.comment(output, notes.table_comment, notes.comments, run)
        except SparquetError:
            raise
        except Exception as error:
            raise self._write_fault(error, run, output, df) from error
        _fill(entry, written, started)
        log.info("%s: %s, %s rows (%.1f s)", run.at.lstrip("/"), describe_output(output), _or_unknown(entry.rows_written), entry.seconds)

    def _write_fault(self, error: Exception, run: Run, output: Output, df: DataFrame) -> SparquetError:
        found = with_origins(translate(error, run.at, Columns.of(df).names), run)
        if found.code == "WRITE_CONFLICT":
            return SparquetError("WRITE_CONFLICT", run.at, found=output.path, cause=error)
        return found

    # --- the end -----------------------------------------------------------------------------------------------
    def _failed(self, error: SparquetError) -> None:
        result, hide, cause = self.result, self.ctx.connections.hide(self.options.hidden), error.__cause__ or error
        # Spark and drivers of databases may repeat in their messages what they were given.
        error = SparquetError.of(replace(p, facts=hide.tree(p.facts)) for p in error.problems)
        result.status, result.problems = "failed", list(error.problems)
        category = error.problems[0].category
        result.reason = category
        result.message = str(error)
        for problem in error.problems:
            log.error("%s", problem)
        if category == "internal":
            log.error("trace\n%s", hide("".join(traceback.format_exception(cause))))

    def _count(self, before: int) -> None:
        result = self.result
        if self.options.input_df is not None:
            result.unknown["rows_read"] = "the input was passed in as a frame"
        else:
            try:
                reader = self.registry.lookup("reader", self.document.input.format)
                result.rows_read, reason = reader.rows_read(render(self.document.input, {}), self.engine, before)
            except Exception as error:  # noqa: BLE001 - a figure is never worth a failed run
                result.rows_read, reason = None, f"{type(error).__name__}: {error}"
            if reason:
                result.unknown["rows_read"] = reason
        done = [o for o in result.outputs if o.status in ("written", "kept")]
        unknown = [o for o in done if o.rows_written is None]
        if unknown:
            result.unknown["rows_written"] = "; ".join(f"{o.at}: {o.reason}" for o in unknown)
        else:
            result.rows_written = sum(o.rows_written or 0 for o in done)


def _fill(entry: OutputResult, written: Written, started: float) -> None:
    """What a write did, as a part of the result."""
    entry.status = "written" if written.wrote else "kept"
    entry.rows_written, entry.reason, entry.version = written.rows, written.reason, written.version
    entry.files, entry.bytes, entry.details = written.files, written.bytes, dict(written.details)
    entry.seconds = round(time.monotonic() - started, 3)


def _or_unknown(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"
