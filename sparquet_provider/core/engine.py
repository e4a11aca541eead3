"""The one place that knows what classic Spark and Spark Connect have and lack.

Classic Spark keeps every node's metrics of an execution in its SQL status store, also without the UI, so counts cost
no second run. A Connect session has no access to it; there an observation on top of the plan counts the rows written.
"""

from __future__ import annotations

import contextlib
import copy
import re
import threading
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Longest wait, in seconds, for the listener bus.
WAIT_SECONDS = 10.0

#: The nodes of a plan that somebody asks for: writes, scans, and exchanges (a sort samples what it reads).
_SCANS = ("Scan", "BatchScan", "LocalTableScan")
_ASKED_FOR = ("Execute ", "Exchange", *_SCANS)
#: The logger of what goes wrong in listeners of queries.
_LISTENERS = "org.apache.spark.sql.util.ExecutionListenerBus"
#: A node of a plan that reads columns or works on one row at a time.
_ROW_BY_ROW = re.compile(r"[ :+*-]*(\(\d+\) )?(FileScan (parquet|orc)|ColumnarToRow|Range|Project|Filter)\b")
_METRIC = re.compile(r"SQLPlanMetric\(([^()]+(?:\([^()]*\)[^()]*)*),(\d+),\w+\)")
_ENTRY = re.compile(r"(?:\(|, )(\d+) -> ")


@dataclass(frozen=True)
class Node:
    """A node of an executed plan: its name, description and metrics as numbers."""

    name: str
    description: str
    metrics: dict[str, int]


@dataclass(frozen=True)
class Execution:
    """One SQL execution with its nodes."""

    id: int
    nodes: tuple[Node, ...] = field(repr=False)

    def scans(self) -> Iterator[Node]:
        """The nodes that read from a source."""
        return (n for n in self.nodes if n.name.startswith(_SCANS))

    @property
    def samples(self) -> bool:
        """True when a sort or a range partitioning read rows first to learn their distribution: scans count twice then."""
        return any(n.name == "Exchange" and "rangepartitioning" in n.description for n in self.nodes)


class Watch:
    """Counts what one action does to ``df``. Write ``watch.df``, then ask."""

    def __init__(self, engine: Engine, df: DataFrame) -> None:
        self._engine = engine
        self._before = engine.last_execution()
        self._observation: Any = None
        self.df = df
        if engine.connect:
            from pyspark.sql import Observation
            from pyspark.sql import functions as F

            self._observation = Observation()
            self.df = df.observe(self._observation, F.count(F.lit(1)).alias("rows"))

    def rows_written(self) -> int | None:
        """Rows that the write put down; None when the engine cannot tell."""
        if self._observation is not None:
            values = observed(self._observation, self._engine)
            return None if values is None else int(values["rows"])
        return self.metric("number of output rows", "number of written files")

    def metric(self, wanted: str, beside: str) -> int | None:
        """A metric of the newest node that also has the metric ``beside``; None when there is none."""
        for execution in reversed(self.executions()):
            for node in execution.nodes:
                if beside in node.metrics and wanted in node.metrics:
                    return node.metrics[wanted]
        return None

    def executions(self) -> list[Execution]:
        """The executions since the watch began."""
        return self._engine.executions_after(self._before)


def observed(observation: Any, engine: Engine) -> dict[str, Any] | None:
    """The values of an observation after its action; None when the optimizer removed it (``get`` would hang).

    The wait is bounded: once the listener bus is empty the values are there or will never come.
    """
    engine.drain()
    inner = getattr(observation, "_jo", None)
    if inner is not None and not inner.future().isCompleted():
        return None
    box: list[dict[str, Any]] = []

    def ask() -> None:
        with contextlib.suppress(Exception):  # an action without metrics gives an empty row, which pyspark can't read
            box.append(observation.get)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(2.0)
    return box[0] if box else None


class Engine:
    """What a session can do beyond the DataFrame interface."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.connect = type(spark).__module__.startswith("pyspark.sql.connect")
        self._analysed: DataFrame | None = None
        self._done: dict[int, Execution] = {}

    @property
    def name(self) -> str:
        """``spark`` or ``spark-connect``."""
        return "spark-connect" if self.connect else "spark"

    def watch(self, df: DataFrame) -> Watch:
        """Count what the next action does to the frame."""
        return Watch(self, df)

    @contextlib.contextmanager
    def setting(self, key: str, value: str) -> Iterator[None]:
        """A setting of the session for the time of a block."""
        before = self.spark.conf.get(key, None)
        self.spark.conf.set(key, value)
        try:
            yield
        finally:
            if before is None:
                self.spark.conf.unset(key)
            else:
                self.spark.conf.set(key, before)

    def hide_refusals(self) -> None:
        """Keep traces out of Spark's log for queries that Spark refuses: once a session has observed anything, its own listener fails at each of them.

        The refusal itself is an error of the run, with its place. Failures of other listeners are still logged.
        """
        if self.connect:
            return
        log4j = self.spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
        with contextlib.suppress(Exception):  # the log of this Spark is kept by something else
            loggers = log4j.LogManager.getContext(False).getConfiguration()
            if loggers.getLoggerConfig(_LISTENERS).getName() != _LISTENERS:
                log4j.core.config.Configurator.setLevel(_LISTENERS, log4j.Level.ERROR)
                result = log4j.core.Filter.Result
                refusals = log4j.core.filter.RegexFilter.createFilter("Listener Listener threw an exception", None, False, result.DENY, result.NEUTRAL)
                loggers.getLoggerConfig(_LISTENERS).addFilter(refusals)

    # --- executed plans --------------------------------------------------------------------------------------
    def last_execution(self) -> int:
        """The number of the newest SQL execution of the session; -1 when there is none or it is not known."""
        if self.connect:
            return -1
        executions = self._store().executionsList()
        size = executions.size()
        return int(executions.apply(size - 1).executionId()) if size else -1

    def executions_after(self, execution_id: int) -> list[Execution]:
        """All executions newer than that one, with their metrics, oldest first."""
        if self.connect:
            return []
        self.drain()
        store = self._store()
        executions = store.executionsList()
        found = []
        for i in range(executions.size() - 1, -1, -1):
            entry = executions.apply(i)
            number = int(entry.executionId())
            if number <= execution_id:
                break
            execution = self._done.get(number) or Execution(number, tuple(self._nodes(store, number)))
            if entry.completionTime().isDefined():
                self._done[number] = execution
            found.append(execution)
        return found[::-1]

    def drain(self) -> None:
        """Wait, bounded, until the listeners have seen every event."""
        if not self.connect:
            self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(int(WAIT_SECONDS * 1000))

    def _store(self) -> Any:
        return self.spark._jsparkSession.sharedState().statusStore()

    @staticmethod
    def _nodes(store: Any, execution_id: int) -> Iterator[Node]:
        # Every call into the JVM costs; whole collections are read as text, and only of nodes that somebody asks for.
        values = dict(_pairs(store.executionMetrics(execution_id).toString()))
        nodes = store.planGraph(execution_id).allNodes()
        for i in range(nodes.size()):
            node = nodes.apply(i)
            name = str(node.name())
            if not name.startswith(_ASKED_FOR):
                continue
            metrics = {key: values.get(number) for key, number in _METRIC.findall(node.metrics().toString())}
            yield Node(name, node.desc(), {key: value for key, value in metrics.items() if value is not None})

    # --- plans -----------------------------------------------------------------------------------------------
    def physical_plan(self, df: DataFrame, *, extended: bool = False) -> str:
        """The plan as text; planning only, no job."""
        if self.connect:
            return str(df._explain_string(extended=extended))  # type: ignore[operator]
        execution = df._jdf.queryExecution()
        return str(execution.toString() if extended else execution.executedPlan().toString())

    def rereads_cheaply(self, df: DataFrame) -> bool:
        """True when a frame is made, row by row, of columns in files: then one more reading of a few of them costs little."""
        lines = self.physical_plan(df).replace("== Physical Plan ==", "").splitlines()
        return all(_ROW_BY_ROW.match(line) for line in lines if line.strip())

    def input_roots(self, df: DataFrame) -> set[str]:
        """The directories and files that a frame reads, as URIs; planning only."""
        if self.connect:
            return set(df.inputFiles())
        roots: set[str] = set()
        plan = df._jdf.queryExecution().analyzed()
        inner = plan.subqueriesAll()
        for part in (plan, *(inner.apply(i) for i in range(inner.size()))):
            leaves = part.collectLeaves()
            for i in range(leaves.size()):
                roots |= self._roots_of(leaves.apply(i))
        return roots

    @staticmethod
    def _roots_of(leaf: Any) -> set[str]:
        kind = leaf.getClass().getSimpleName()
        if kind == "DataSourceV2Relation":
            place = leaf.table().properties().get("location")
            return {str(place)} if place else set()
        if kind != "LogicalRelation" or leaf.relation().getClass().getSimpleName() != "HadoopFsRelation":
            return set()
        paths = leaf.relation().location().rootPaths()
        return {str(paths.apply(j).toString()) for j in range(paths.size())}

    def check_analysis(self, df: DataFrame) -> DataFrame:
        """The same frame; on Connect, where analysis is late, it takes place now so that faults have a place."""
        if self.connect and df is not self._analysed:
            # Connect copies a known schema to filtered and sorted frames without asking the server; this asks in any case.
            _ = df.isStreaming if getattr(df, "_cached_schema", None) is not None else df.schema
            self._analysed = df
        return df

    def constants(self, df: DataFrame, names: Collection[str]) -> dict[str, Column]:
        """Those of the columns that the optimizer knows to hold one value, with that value; planning only, and none on Connect."""
        if self.connect:
            return {}
        from pyspark.sql.classic.column import Column as ClassicColumn

        as_column = self.spark._jvm.org.apache.spark.sql.classic.ExpressionUtils.column  # type: ignore[union-attr]
        plan = df._jdf.queryExecution().optimizedPlan()
        if plan.getClass().getSimpleName() != "Project":
            return {}
        found: dict[str, Column] = {}
        wanted, columns = set(names), plan.projectList()
        for i in range(columns.size() - 1, -1, -1):  # what a run adds stands at the end
            column = columns.apply(i)
            if not wanted:
                break
            if (name := str(column.name())) not in wanted:
                continue
            wanted.remove(name)
            if column.getClass().getSimpleName() == "Alias" and column.child().getClass().getSimpleName() == "Literal":
                found[name] = ClassicColumn(as_column(column.child()))
        return found

    def unobserved(self, df: DataFrame) -> DataFrame:
        """The same rows without the observations in the plan: they fire at the first action, so a look at a few rows must not meet them."""
        if self.connect:
            from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

            plan = _without_observations(df._plan)
            return df if plan is df._plan else ConnectFrame(plan, self.spark)  # type: ignore[arg-type]
        old = df._jdf.queryExecution().analyzed()
        new = self._unobserved(old)
        if new is old:
            return df
        frame = self.spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(self.spark._jsparkSession, new)  # type: ignore[union-attr]
        return type(df)(frame, self.spark)

    def _unobserved(self, node: Any) -> Any:
        if node.getClass().getSimpleName() == "CollectMetrics":
            return self._unobserved(node.child())
        children = node.children()
        old = [children.apply(i) for i in range(children.size())]
        new = [self._unobserved(child) for child in old]
        if all(a is b for a, b in zip(old, new, strict=True)):
            return node
        return node.withNewChildren(self.spark._jvm.PythonUtils.toSeq(new))  # type: ignore[union-attr]

    def explained(self, df: DataFrame, mode: str) -> str:
        """What ``explain`` would print: mode simple, extended or formatted; planning only, no job."""
        if self.connect:
            return str(df._explain_string(mode=mode))  # type: ignore[operator]
        return str(self.spark._jvm.PythonSQLUtils.explainString(df._jdf.queryExecution(), mode))  # type: ignore[union-attr]

    def shown(self, df: DataFrame, rows: int, *, truncate: bool, vertical: bool) -> str:
        """What ``show`` would print."""
        return str(df._show_string(rows, truncate, vertical))  # type: ignore[operator]

    def gains_from_pushdown(self, df: DataFrame) -> bool:
        """True when the frame reads a source that can skip data by a filter (not csv, json, text or rows in memory)."""
        if self.connect:
            text = self.explained(df, "extended").partition("== Optimized Logical Plan ==")[0]
        else:
            text = str(df._jdf.queryExecution().analyzed().toString())
        return any(not _ROW_SOURCE.search(line) for line in re.findall(r"\bRelation(?:V2)?\b[^\n]*", text))

    # --- queries ---------------------------------------------------------------------------------------------
    def query(self, df: DataFrame, name: str, query: str) -> DataFrame:
        """The result of a query in which ``name`` stands for the frame.

        A common table expression gives the frame that name, so neither views of the session nor other queries with
        the same name matter, and no view is left behind. The parentheses let the query bring a WITH of its own.
        """
        def over(frame: str, text: str) -> str:
            return f"WITH `{name.replace('`', '``')}` AS (SELECT * FROM {frame}) (\n{text}\n)"  # noqa: S608 - the author's own query

        if self.connect:
            # The frame travels inside the plan; the braces of the text itself are no arguments.
            return self.spark.sql(over("{frame}", query.replace("{", "{{").replace("}", "}}")), frame=df)
        view = f"_sparquet_{uuid.uuid4().hex}"
        df.createOrReplaceTempView(view)
        try:
            return self.spark.sql(over(view, query))
        finally:
            self.drop_view(view)

    def drop_view(self, name: str) -> None:
        """Drop a temporary view; the rows that are cached for its frame stay (``catalog.dropTempView`` would free them)."""
        if self.connect:
            self.spark.catalog.dropTempView(name)
        else:
            self.spark._jsparkSession.sessionState().catalog().dropTempView(name)

    # --- materialising ---------------------------------------------------------------------------------------
    def local_checkpoint(self, df: DataFrame, *, eager: bool) -> tuple[DataFrame, bool]:
        """The frame with its plan cut, and True; the persisted frame and False on engines that have no local checkpoint."""
        try:
            return df.localCheckpoint(eager), True
        except Exception as error:
            if not (self.connect and _UNSUPPORTED.search(str(error))):
                raise
        kept = df.persist()
        if eager:
            kept.count()
        return kept, False

    def checkpoint(self, df: DataFrame, *, eager: bool) -> DataFrame | None:
        """The frame read from ``spark.checkpoint.dir``; None when there is no such directory."""
        if not self.connect:
            context, folder = self.spark.sparkContext, self.spark.conf.get("spark.checkpoint.dir", None)
            if folder and context.getCheckpointDir() is None:
                context.setCheckpointDir(folder)
        try:
            return df.checkpoint(eager)
        except Exception as error:
            if "heckpoint directory has not been set" in str(error):
                return None
            raise


def _without_observations(plan: Any) -> Any:
    """A plan of Connect without its observations; the same object when it has none."""
    from pyspark.sql.connect.plan import CollectMetrics, LogicalPlan

    if isinstance(plan, CollectMetrics):
        return _without_observations(plan._child)
    inner = {name: _without_observations(part) for name, part in vars(plan).items() if isinstance(part, LogicalPlan)}
    if all(part is getattr(plan, name) for name, part in inner.items()):
        return plan
    changed = copy.copy(plan)
    vars(changed).update(inner)
    return changed


#: The line of a plan that reads row by row, so that filters gain next to nothing by being pushed to it.
_ROW_SOURCE = re.compile(r"\] (?:csv|json|text|xml)\s*$")
_UNSUPPORTED = re.compile(r"not (?:yet )?(?:implemented|supported)|unsupported|unimplemented|unknown command", re.IGNORECASE)


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    """The entries of a map from accumulator to value, as the JVM prints it: ``Map(7 -> 1,234, 8 -> total …)``."""
    parts = _ENTRY.split(text.rstrip(")"))
    for key, value in zip(parts[1::2], parts[2::2], strict=True):
        if (number := _number(value)) is not None:
            yield key, number


def _number(text: str) -> int | None:
    """A metric's text as a number: ``1,234``, or the first figure of the last line (``12.0 KiB (…)`` after ``total (…)``)."""
    match = re.match(r"([\d,]+(?:\.\d+)?)\s*([KMGTP]i?B|B)?", text.strip().rpartition("\n")[2])
    if not match:
        return None
    value = float(match.group(1).replace(",", ""))
    unit = match.group(2)
    return int(value * 1024 ** ("BKMGTP".index(unit[0]) if unit else 0))
