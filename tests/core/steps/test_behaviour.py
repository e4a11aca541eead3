"""What a table of rows cannot show: plans, views, the log, time zones, what is counted and what is not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparquet_provider.core import pushdown
from sparquet_provider.core.engine import Engine
from sparquet_provider.core.losses import can_lose
from sparquet_provider.core.steps.sql import without_semicolon
from sparquet_provider.core.steps.with_column import batches
from tests.core.steps.cases import frame, rows_of, run, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def view(name: str) -> dict[str, str]:
    return {"format": "view", "path": name}


def codes(result: Any) -> list[str]:
    return [w.code for w in result.warnings]


# --- sql -----------------------------------------------------------------------------------------------------------
def test_sql_leaves_a_view_of_the_user_alone_and_leaves_none_behind(spark: SparkSession) -> None:
    frame(spark, "mine int", [[1], [2], [3]]).createOrReplaceTempView("_df")
    before = {t.name for t in spark.catalog.listTables()}
    result = run(spark, frame(spark, "id int", [[7]]), {"type": "sql", "query": "SELECT id FROM _df"})
    assert result.success and written()[1] == [(7,)]
    assert spark.table("_df").count() == 3
    assert {t.name for t in spark.catalog.listTables()} == before
    spark.catalog.dropTempView("_df")


def test_two_pipelines_in_one_session_do_not_see_each_others_frames(spark: SparkSession) -> None:
    step = {"type": "sql", "query": "SELECT id FROM _df"}
    first = run(spark, frame(spark, "id int", [[1]]), step)
    second = run(spark, frame(spark, "id int", [[2]]), step, {"type": "sql", "query": "SELECT id + 10 AS id FROM _df"})
    assert rows_of(first.output_df) == [(1,)]
    assert rows_of(second.output_df) == [(12,)]


@pytest.mark.classic_only("Connect asks the server for the storage level by plan")
def test_sql_does_not_drop_the_cache_of_its_frame(spark: SparkSession) -> None:
    cached = frame(spark, "id int", [[1]]).persist()
    cached.count()
    result = run(spark, cached, {"type": "sql", "query": "SELECT id FROM _df"})
    assert result.success and cached.storageLevel.useMemory
    assert "InMemoryRelation" in Engine(spark).explained(cached.select("id"), "extended")
    cached.unpersist()


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT 1", "SELECT 1"), ("SELECT 1;", "SELECT 1"), ("SELECT 1; ;\n-- end", "SELECT 1"), ("SELECT ';'", "SELECT ';'"),
        ("SELECT 1 -- a;", "SELECT 1 -- a;"), ("SELECT 1 /* ; */;", "SELECT 1 /* ; */"), ("SELECT 'a -- b';", "SELECT 'a -- b'"), ("SELECT `;`", "SELECT `;`"),
    ],
)
def test_semicolons_at_the_end_of_a_query(query: str, left: str) -> None:
    assert without_semicolon(query) == left


# --- cast ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def parquet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rows on disk, in two partitions."""
    path = str(tmp_path_factory.mktemp("rows") / "parquet")
    frame(spark, "id int, n string, x int, d string", [[1, "1", 0, "a"], [2, "x", 0, "a"], [3, "y", 0, "b"]]).write.partitionBy("d").parquet(path)
    return path


def test_counting_never_keeps_a_filter_from_the_source(spark: SparkSession, parquet: str) -> None:
    result = run(spark, spark.read.parquet(parquet), {"type": "cast", "columns": {"n": "int"}}, {"type": "filter", "condition": "d = 'a' AND id > 1"})
    assert codes(result) == ["VALUES_LOST_UNKNOWN"] and "filter" in result.warnings[0].message
    (scan,) = pushdown.read(Engine(spark).explained(result.output_df, "formatted")).scans
    assert "d#" in scan.partition_filters and "GreaterThan(id,1)" in scan.pushed_filters
    assert written()[1] == [(2, None, 0, "a")]


def test_losses_are_counted_on_files_when_nothing_could_be_pushed(spark: SparkSession, parquet: str) -> None:
    steps = [{"type": "cast", "columns": {"n": "int"}}, {"type": "select", "columns": ["id", "n"]}, {"type": "distinct"}]
    result = run(spark, spark.read.parquet(parquet), *steps)
    assert [(w.code, w.facts["count"]) for w in result.warnings] == [("VALUES_LOST", 2)]
    (scan,) = pushdown.read(Engine(spark).explained(result.output_df, "formatted")).scans
    assert scan.columns == 3  # x is pruned all the same; the partition column costs nothing


def test_row_formats_gain_nothing_from_a_pushed_filter(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,n\n1,1\n2,x\n")
    read = spark.read.option("header", True).schema("id int, n string").csv(str(tmp_path / "rows.csv"))
    result = run(spark, read, {"type": "cast", "columns": {"n": "int"}}, {"type": "filter", "condition": "id = 1"})
    assert [(w.code, w.facts["count"]) for w in result.warnings] == [("VALUES_LOST", 1)]


@pytest.mark.parametrize(
    ("following", "reason"),
    [
        ({"type": "sql", "query": "SELECT * FROM _df LIMIT 1"}, "sql"),
        ({"type": "sort", "columns": ["n"]}, "sort"),
        ({"type": "repartition", "columns": ["n"], "range": True}, "repartition"),
    ],
)
def test_losses_are_unknown_where_rows_are_read_in_part_or_twice(spark: SparkSession, following: dict[str, Any], reason: str) -> None:
    result = run(spark, frame(spark, "n string", [["x"], ["1"]]), {"type": "cast", "columns": {"n": "int"}}, following)
    assert codes(result) == ["VALUES_LOST_UNKNOWN"] and f"the {reason} after it" in result.warnings[0].message


def test_losses_inside_a_join_side_are_unknown(spark: SparkSession) -> None:
    frame(spark, "id int, n string", [[1, "x"]]).createOrReplaceTempView("losses")
    join = {"type": "join", "with": view("losses"), "on": "id", "with_transformations": [{"type": "cast", "columns": {"n": "int"}}]}
    result = run(spark, frame(spark, "id int", [[1]]), join)
    assert [(w.code, w.at) for w in result.warnings] == [("VALUES_LOST_UNKNOWN", "/transformations/0/with_transformations/0/columns")]


@pytest.mark.classic_only("Connect does not report what a checkpoint observed; the result says so")
def test_an_eager_checkpoint_after_the_cast_reads_every_row(spark: SparkSession) -> None:
    steps = [{"type": "cast", "columns": {"n": "int"}}, {"type": "checkpoint"}, {"type": "stop_if_empty"}]
    result = run(spark, frame(spark, "n string", [["x"], ["1"]]), *steps)
    assert [(w.code, w.facts["count"]) for w in result.warnings] == [("VALUES_LOST", 1)]


#: Values at the edges of their types, as SQL.
EDGES = {
    "tinyint": ["-128Y", "127Y"], "smallint": ["-32768S", "32767S"], "int": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808L", "9223372036854775807L"], "boolean": ["true", "false"],
    "float": ["float('NaN')", "3.4e38F"], "double": ["double('NaN')", "1.7e308D"],
    "decimal(3,0)": ["999BD"], "decimal(5,2)": ["999.99BD", "-999.99BD"], "decimal(5,0)": ["99999BD"], "decimal(10,0)": ["9999999999BD"],
    "decimal(20,1)": ["9999999999999999999.9BD"], "decimal(38,0)": ["99999999999999999999999999999999999999BD"],
    "string": ["'x'", "''"], "binary": ["X'FF'"], "date": ["DATE '0001-01-01'", "DATE '9999-12-31'"],
    "timestamp": ["TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59'"], "timestamp_ntz": ["TIMESTAMP_NTZ '9999-12-31 23:59:59'"],
}


def test_a_pair_of_types_that_is_said_to_lose_nothing_loses_nothing(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    edges = spark.sql("SELECT " + ", ".join(f"CAST({v} AS {kind}) AS `{kind}/{i}`" for kind, values in EDGES.items() for i, v in enumerate(values)))
    targets = spark.sql("SELECT " + ", ".join(f"CAST(NULL AS {kind}) AS `{kind}`" for kind in EDGES)).schema
    checked: dict[str, bool] = {}
    columns, impossible = [], set()
    for field in edges.schema:
        for target in targets:
            pair = (field.dataType, target.dataType)
            made = F.col(f"`{field.name}`").try_cast(target.dataType).isNull().alias(f"{field.name}>{target.name}")
            try:
                _ = edges.select(made).schema if field.name.endswith("/0") else None
            except PySparkException:
                impossible.add(pair)
            if pair not in impossible:
                columns.append(made)
                checked[f"{field.name}>{target.name}"] = can_lose(*pair)
    lost = edges.select(*columns).collect()[0].asDict()
    assert not [name for name, null in lost.items() if null and not checked[name]]
    # Not a bare "everything may lose": the usual widenings are free.
    assert not any(checked[n] for n in ("int/0>bigint", "int/0>string", "int/0>double", "decimal(5,2)/0>decimal(20,1)", "date/0>timestamp", "tinyint/0>decimal(3,0)"))
    assert all(checked[n] for n in ("string/0>int", "bigint/0>int", "double/0>int", "decimal(5,2)/0>decimal(3,0)", "decimal(38,0)/0>bigint"))


# --- joins, layout, order --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("broadcast", "build"), [(True, "BuildRight"), ("LEFT", "BuildLeft")])
def test_broadcast_builds_that_side(spark: SparkSession, broadcast: Any, build: str) -> None:
    frame(spark, "id int, name string", [[1, "a"]]).createOrReplaceTempView("dim")
    result = run(spark, frame(spark, "id int", [[1]]), {"type": "join", "with": view("dim"), "on": "id", "broadcast": broadcast})
    plan = Engine(spark).explained(result.output_df, "simple")
    assert "BroadcastHashJoin" in plan and build in plan


def test_every_step_that_meets_an_ambiguous_name_says_both_origins(spark: SparkSession) -> None:
    frame(spark, "id int, name string", []).createOrReplaceTempView("twin")
    join = {"type": "join", "with": view("twin"), "on": "l.id = r.id"}
    for step in (
        {"type": "sort", "columns": ["name"]}, {"type": "select", "columns": ["name"]}, {"type": "group_by", "by": [], "agg": ["max(name) as m"]},
        {"type": "with_column", "column": "x", "expression": "upper(name)"}, {"type": "rename", "mappings": {"name": "n"}},
        {"type": "cast", "columns": {"name": "binary"}}, {"type": "collect", "column": "name", "as": "names"}, {"type": "fill_na", "value": {"name": "x"}},
        {"type": "sql", "query": "SELECT name FROM _df"},
    ):
        (problem,) = run(spark, frame(spark, "id int, name string", []), join, step).problems
        assert problem.code == "COLUMN_AMBIGUOUS", step
        assert "l.name from the frame before the join at /transformations/0" in problem.message and "(view twin)" in problem.message, step


def test_a_column_that_is_twice_there_can_be_dropped(spark: SparkSession) -> None:
    frame(spark, "id int, name string", [[1, "b"]]).createOrReplaceTempView("twin")
    result = run(spark, frame(spark, "id int, name string", [[1, "a"]]), {"type": "join", "with": view("twin"), "on": "id"}, {"type": "drop", "columns": ["name"]})
    assert result.success and written() == ("id int", [(1,)])


def partitions(df: DataFrame) -> list[int]:
    """How many rows each partition holds, empty ones left out."""
    from pyspark.sql import functions as F

    return sorted(r[1] for r in df.groupBy(F.spark_partition_id()).count().collect())


def test_repartition_spreads_as_asked(spark: SparkSession) -> None:
    rows = frame(spark, "id int, dt string", [[i, "ab"[i % 2]] for i in range(12)])
    counted = {"type": "sql", "query": "SELECT DISTINCT spark_partition_id() AS p, dt FROM _df"}
    by_key = run(spark, rows, {"type": "repartition", "num_partitions": 4, "columns": ["dt"]}, counted)
    assert by_key.success and len(written()[1]) == 2  # every value of dt in one partition
    assert partitions(run(spark, rows, {"type": "repartition", "num_partitions": 3}).output_df) == [4, 4, 4]
    ranged = run(spark, rows, {"type": "repartition", "num_partitions": 2, "columns": ["id"], "range": True}).output_df
    assert sum(partitions(ranged)) == 12 and len(partitions(ranged)) == 2
    assert partitions(run(spark, rows, {"type": "repartition", "num_partitions": 1, "coalesce": True}).output_df) == [12]


def test_many_columns_are_made_in_few_levels() -> None:
    independent = {f"c{i}x": f"upper(a{i})" for i in range(100)}
    assert [len(b) for b in batches(independent)] == [100]
    assert [list(b) for b in batches({"a": "1", "b": "A + 1", "c": "2", "d": "count(*)", "e": "x * 2"})] == [["a"], ["b", "c"], ["d", "e"]]
    assert [list(b) for b in batches({"a": "1", "A": "2"})] == [["a"], ["A"]]


# --- collect, stop, checkpoint ---------------------------------------------------------------------------------------
@pytest.fixture
def in_sao_paulo(spark: SparkSession) -> Iterator[None]:
    """Another time zone of the session than that of the machine."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Sao_Paulo")
    yield
    spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.mark.usefixtures("in_sao_paulo")
def test_a_collected_instant_finds_its_rows_in_any_time_zone(spark: SparkSession) -> None:
    rows = frame(spark, "id int, at timestamp", [[1, "2026-01-31T23:30:00"], [2, None]])
    result = run(spark, rows, {"type": "collect", "column": "at", "as": "ats"}, {"type": "filter", "condition": "at IN ({{ats}})"})
    assert result.to_dict()["variables"] == {"ats": ["2026-02-01T02:30:00+00:00"]}
    assert written()[1] == [(1, "2026-01-31 23:30:00")]


@pytest.mark.classic_only("executions are counted in the status store")
def test_stop_if_empty_probes_once_and_nothing_else_runs(spark: SparkSession) -> None:
    engine = Engine(spark)
    before = engine.last_execution()
    result = run(spark, spark.range(9).where("id < 0"), {"type": "stop_if_empty", "message": "none"}, {"type": "collect", "column": "id", "as": "ids"})
    assert (result.status, result.reason, result.message, result.outputs, result.variables) == ("skipped", "stop_if_empty", "none", [], {})
    assert len(engine.executions_after(before)) == 1


@pytest.mark.classic_only("the directory is set on the context")
def test_checkpoint_in_its_directory(spark: SparkSession, tmp_path: Path) -> None:
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        result = run(spark, frame(spark, "id int", [[1]]), {"type": "checkpoint", "method": "CHECKPOINT"})
        assert result.success and written()[1] == [(1,)]
        assert list(tmp_path.rglob("part-*"))
        assert "Scan ExistingRDD" in Engine(spark).explained(result.output_df, "simple")
    finally:
        spark.sparkContext._jsc.sc().setCheckpointDir(None)


class _WithoutCheckpoint:
    """A frame of an engine that answers the Connect protocol without local checkpoint."""

    counted = 0

    def __init__(self, message: str) -> None:
        self.message = message

    def localCheckpoint(self, eager: bool) -> None:
        raise RuntimeError(self.message)

    def persist(self) -> _WithoutCheckpoint:
        return self

    def count(self) -> int:
        type(self).counted += 1
        return 1


def test_engines_without_local_checkpoint_persist() -> None:
    engine = Engine.__new__(Engine)
    engine.connect = True
    made: Any = _WithoutCheckpoint("checkpoint command is not implemented")
    assert engine.local_checkpoint(made, eager=True) == (made, False) and _WithoutCheckpoint.counted == 1
    assert engine.local_checkpoint(made, eager=False) == (made, False) and _WithoutCheckpoint.counted == 1
    with pytest.raises(RuntimeError, match="DIVIDE_BY_ZERO"):
        engine.local_checkpoint(_WithoutCheckpoint("[DIVIDE_BY_ZERO] division by zero"), eager=True)  # type: ignore[arg-type]


# --- debug -----------------------------------------------------------------------------------------------------------
def test_debug_writes_to_the_log_and_rows_only_for_show(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sparquet")
    rows = frame(spark, "id int, secret string", [[1, "pearl"], [2, "ruby"]])
    quiet = {"type": "debug", "label": "read", "actions": ["count", "print_schema", "explain", "pushdown", "columns", "dtypes"]}
    result = run(spark, rows, quiet)
    text = "\n".join(r.getMessage() for r in caplog.records)
    for part in ("debug read (/transformations/0): count: 2", "|-- secret: string", "== Physical Plan ==", "columns: id, secret", "types: id int, secret string", "Filter nodes"):
        assert part in text
    assert "pearl" not in text and "pearl" not in str(result.to_dict())
    caplog.clear()
    run(spark, rows, {"type": "debug", "actions": ["show"], "show_rows": 1, "vertical": True, "transformations": [{"type": "filter", "condition": "id = 1"}]})
    text = "\n".join(r.getMessage() for r in caplog.records)
    assert "pearl" in text and "ruby" not in text and "-RECORD 0-" in text
    assert len(written()[1]) == 2


def test_explain_extended_shows_the_logical_plans(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sparquet")
    run(spark, frame(spark, "id int", []), {"type": "debug", "actions": ["explain"], "extended": True})
    assert "== Optimized Logical Plan ==" in caplog.text
