"""Helpers: a document of one input and one output, and the files that it leaves."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from sparquet_provider.core.result import PipelineResult


class House:
    """A folder, a session, and short ways to run documents and look at what they left."""

    def __init__(self, spark: Any, folder: Path, classic: bool) -> None:
        self.spark, self.folder, self.classic = spark, folder, classic

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def text(self, name: str, content: str | bytes) -> str:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(target)

    def copy(self, source: dict[str, Any], output: dict[str, Any], steps: list[dict[str, Any]] | None = None, **more: Any) -> PipelineResult:
        """Run input → steps → output, without the time of reading."""
        chain = [*(steps or []), {"type": "drop", "columns": ["ingestion_ts"]}]
        return Sparquet(self.spark).run_from_dict({"name": "p", "input": source, "transformations": chain, "output": output, **more})

    def write(self, rows: list[tuple[Any, ...]], schema: str, output: dict[str, Any], **more: Any) -> PipelineResult:
        """Write these rows."""
        document = {"name": "p", "input": {"format": "view", "path": "unused"}, "output": output, **more}
        return Sparquet(self.spark).run_from_dict(document, input_df=self.spark.createDataFrame(rows, schema))

    def rows(self, format: str, path: str, **options: Any) -> list[tuple[Any, ...]]:
        """The rows that a document reads from there, sorted by their text."""
        view = f"v{uuid.uuid4().hex}"
        result = self.copy({"format": format, "path": path, "options": options}, {"format": "view", "path": view})
        assert result.success, result.message
        return sorted((tuple(r) for r in self.spark.table(view).collect()), key=str)

    def columns(self, format: str, path: str) -> list[str]:
        view = f"v{uuid.uuid4().hex}"
        assert self.copy({"format": format, "path": path}, {"format": "view", "path": view}).success
        return list(self.spark.table(view).columns)


@pytest.fixture
def house(spark, tmp_path: Path, request: pytest.FixtureRequest) -> House:
    return House(spark, tmp_path, request.config.getoption("--engine") == "classic")


@pytest.fixture
def table() -> str:
    """A table name that no other test uses."""
    return f"t{uuid.uuid4().hex[:12]}"


def codes(result: PipelineResult) -> list[str]:
    return [p.code for p in result.problems]


def warned(result: PipelineResult) -> list[str]:
    return [p.code for p in result.warnings]
