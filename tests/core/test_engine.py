"""The engine: what is known of executed plans, on either kind of session."""

from __future__ import annotations

from pathlib import Path

import pytest

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
