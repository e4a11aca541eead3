"""Cases as data: a YAML document holds a step, the rows that go in, and the rows (or the fault) that come out.

Several cases may stand in one file, parted by ``---``. The keys:

    why        one sentence, the name of the case
    step       the step; or steps, a list
    params     values of {name};  literals  columns that the run adds;  strict  as in the linter (true)
    in         {schema: Spark DDL, rows: lists of values}; a table that sources use is under sources: {name: {schema, rows}}
    out        {schema, rows, ordered}: rows in any order unless ordered is true
    lint       the problems that the linter finds, all of them: [{code, at, has}]; the case needs no Spark
    error      the fault of the run: {code, at, has}; several under errors
    warnings   all warnings of the run, [{code, at, has}]; none when absent
    variables  what was collected;  skipped  the message of a stopped run
    classic_only  why a Connect session cannot run it

``at`` is relative to the first step, unless it begins with /transformations. ``has`` is a text, or a list of texts, that the message and remedy contain;
``hasnt`` a text that they do not.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from sparquet_provider.core.errors import Problem
from sparquet_provider.core.extension import BaseWriter
from sparquet_provider.core.lint import lint
from sparquet_provider.core.load import load
from sparquet_provider.core.result import PipelineResult
from sparquet_provider.core.sparquet import Sparquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(__file__).parents[2] / "cases" / "steps"
FIRST = "/transformations/0"


class Loader(yaml.SafeLoader):
    """YAML as the package reads it: ``on`` and ``yes`` are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Writer(BaseWriter):
    """Keeps what was written: the rows as they left the run."""

    written: DataFrame | None = None
    rows: list[tuple[Any, ...]] = []

    def write(self, df: DataFrame) -> int:
        type(self).written = df
        type(self).rows = rows_of(df)
        return len(self.rows)


def door(spark: SparkSession | None = None) -> Sparquet:
    """The package's door, with a destination ``case`` that remembers what was written."""
    found = Sparquet(spark)
    found.register_writer("case", _Writer)
    return found


def all_cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every case of the folder, named by its file and what it says."""
    for path in sorted(FOLDER.glob("*/*.yaml")):
        for case in yaml.load_all(path.read_text(encoding="utf-8"), Loader):
            yield f"{path.parent.name}/{path.stem}: {case['why']}", case


def document(*steps: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """A pipeline with these steps."""
    return {"name": "case", "input": {"format": "view", "path": "case_input"}, "transformations": list(steps), "output": {"format": "case", "path": "x"}, **keys}


def problems_of(doc: Mapping[str, Any], params: Mapping[str, Any] | None = None, strict: bool = True) -> tuple[Any, list[Problem]]:
    """The parsed document (None when it is wrong) and what the linter says."""
    loaded = load(doc, params, strict=strict)
    parsed, found = lint(loaded.tree, door().registry, strict=strict)
    return parsed, [*loaded.problems, *found]


def frame(spark: SparkSession, schema: str, rows: list[list[Any]]) -> DataFrame:
    """A frame from YAML or JSON values; dates, decimals and NaN are written as text."""
    from pyspark.sql import functions as F

    names = _names(spark, schema)
    texts = [(json.dumps(dict(zip(names, row, strict=True)), default=str),) for row in rows]
    made = spark.createDataFrame(texts, "value string").select(F.from_json("value", schema, {"mode": "FAILFAST"}).alias("r"))
    return made.select("r.*")


def _names(spark: SparkSession, schema: str) -> list[str]:
    from pyspark.sql.types import StructType

    return StructType.fromDDL(schema).names


def rows_of(df: DataFrame) -> list[tuple[Any, ...]]:
    """The rows as plain values: dates ISO, instants in the session's time zone, decimals as text."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import TimestampType

    columns = [f"c{i}" for i in range(len(df.columns))]
    kinds = [f.dataType for f in df.schema]
    renamed = df.toDF(*columns)
    shown = [F.col(c).cast("string") if isinstance(k, TimestampType) else F.col(c) for c, k in zip(columns, kinds, strict=True)]
    return [tuple(plain(v) for v in row) for row in renamed.select(*shown).collect()]


def plain(value: Any) -> Any:
    """A value as YAML could hold it."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Decimal | dt.date):
        return str(value)
    if hasattr(value, "asDict"):
        return {k: plain(v) for k, v in value.asDict().items()}
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.decode() if isinstance(value, bytearray | bytes) else value


def ddl(df: DataFrame) -> str:
    """The columns as DDL."""
    return ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in df.schema)


def run(spark: SparkSession, df: DataFrame, *steps: Mapping[str, Any], params: Mapping[str, Any] | None = None, strict: bool = True, **columns: Any) -> PipelineResult:
    """Run steps over a frame."""
    forget()
    return door(spark).run_from_dict(document(*steps), params, df, columns, strict=strict)


def written() -> tuple[str, list[tuple[Any, ...]]]:
    """The columns and rows that the last run wrote."""
    assert _Writer.written is not None
    return ddl(_Writer.written), _Writer.rows


def forget() -> None:
    """Forget what was written."""
    _Writer.written, _Writer.rows = None, []


def matches(found: Problem, expected: Mapping[str, Any], first: str = FIRST) -> bool:
    """True when code, place and words are as expected; places are below ``first``."""
    texts, at = expected.get("has", []), str(expected.get("at", ""))
    words = f"{found.message} {found.remedy}"
    return (
        found.code == expected["code"]
        and found.at == (at if at.startswith("/transformations/") and "/transformations/0" not in at else first + at)
        and all(str(t) in words for t in ([texts] if isinstance(texts, str) else texts))
        and ("hasnt" not in expected or expected["hasnt"] not in words)
    )


def assert_problems(found: list[Problem], expected: list[Mapping[str, Any]], first: str = FIRST) -> None:
    """The problems are the expected ones, all of them, in any order."""
    left = list(found)
    for item in expected:
        hit = next((p for p in left if matches(p, item, first)), None)
        assert hit is not None, f"expected {item}\nfound " + "\n      ".join(map(str, found))
        left.remove(hit)
    assert not left, "not expected: " + "\n".join(map(str, left))
