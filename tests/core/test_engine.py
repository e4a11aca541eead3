"""The engine: what is known of executed plans, on either kind of session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.engine import Engine, _number, _pairs


@pytest.mark.parametrize(
    ("text", "number"), [("1,234", 1234), ("total (min, med, max)\n12.5 KiB (1, 2, 3)", 12800), ("0", 0), ("3.0 MiB", 3 * 1024**2), ("", None)]
)
def test_metric_texts_are_numbers(text: str, number: int | None) -> None:
    assert _number(text or " x") == number


def test_a_map_of_metrics_as_the_jvm_prints_it() -> None:
    text = "HashMap(7 -> 1,234, 12 -> total (min, med, max (stageId: taskId))\n5.0 KiB (1, 2, 3 (stage 1.0: task 2)), 30 -> , 9 -> 0)"
    assert dict(_pairs(text)) == {"7": 1234, "12": 5120, "9": 0}


def test_a_write_tells_its_rows(spark, tmp_path: Path) -> None:
    engine = Engine(spark)
    watch = engine.watch(spark.range(1234))
    watch.df.write.parquet(str(tmp_path / "out"))
    assert watch.rows_written() == 1234


@pytest.fixture
def spark_log(spark):
    """What Spark logs while a test runs."""
    jvm = spark._jvm
    written = jvm.java.io.StringWriter()
    appender = jvm.org.apache.logging.log4j.core.appender.WriterAppender.createAppender(None, None, written, "test", False, True)
    appender.start()
    root = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration().getRootLogger()
    root.addAppender(appender, None, None)
    yield written.toString
    root.removeAppender("test")


@pytest.mark.classic_only(reason="a Connect server keeps its own log")
def test_a_typo_leaves_no_trace_in_the_log_of_spark(spark, spark_log, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n")
    steps = [{"type": "cast", "columns": {"amount": "int"}}, {"type": "with_column", "name": "twice", "expression": "amuont * 2"}]
    output = {"format": "parquet", "path": str(tmp_path / "out"), "mode": "overwrite"}
    result = Sparquet(spark).run_from_dict({"name": "typo", "input": {"format": "csv", "path": str(tmp_path / "orders.csv")}, "transformations": steps, "output": output})
    Engine(spark).drain()
    for logger in ("other", "org.apache.spark.sql.util.ExecutionListenerBus"):
        spark._jvm.org.apache.logging.log4j.LogManager.getLogger(logger).error("seen")
    assert "COLUMN_NOT_FOUND" in result.message
    assert spark_log().split() == ["seen", "seen"]
    # The run ended before it read any row, so that no lost value was counted says nothing.
    assert result.warnings == [] and "VALUES_LOST_UNKNOWN" not in caplog.text
