"""The engine: what is known of executed plans, on either kind of session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparquet_provider.core.engine import Engine, _number


@pytest.mark.parametrize(("text", "number"), [("1,234", 1234), ("total (min, med, max)\n12.5 KiB (1, 2, 3)", 12800), ("0", 0), ("3.0 MiB", 3 * 1024**2), ("", None)])
def test_metric_texts_are_numbers(text: str, number: int | None) -> None:
    assert _number(text or " x") == number


def test_a_write_tells_its_rows(spark, tmp_path: Path) -> None:
    engine = Engine(spark)
    watch_frame = spark.range(123)
    from sparquet_provider.core.engine import Watch

    watch = Watch(engine, watch_frame)
    watch.df.write.parquet(str(tmp_path / "out"))
    assert watch.rows_written() == 123
