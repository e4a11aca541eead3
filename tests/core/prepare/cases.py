"""Cases of preparation as data: the keys of a document, the rows that go in, and the rows (or the faults) that come out.

Several cases may stand in one file, parted by ``---``. The keys, beside those of ``tests/core/steps/cases.py``:

    of         the fields or rules of the language that the case is for
    document   the keys at the top of the document; or documents, a list that must all give the same
    run        further arguments of the run: watermark, run_id
    mark       the mark that the run returns

Places are whole. The control columns at the end are not listed in ``out``; that they are there is looked at for every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from sparquet_provider.core.prepare.contract import Contract
from sparquet_provider.core.result import PipelineResult
from sparquet_provider.core.spec import members_of
from tests.core.steps.cases import Loader, document, door, forget, problems_of, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(__file__).parents[2] / "cases" / "prepare"
CONTROL = "ingestion_ts_utc timestamp, __run_id string"
#: Keys that describe or place the table; alone they prepare nothing.
_SILENT = ("annotations", "operations", "schemas", "catalog", "mode", "merge_keys")


def all_cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every case of the folder, named by its file and what it says."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for case in yaml.load_all(path.read_text(encoding="utf-8"), Loader):
            yield f"{path.stem}: {case['why']}", case


def named(case: Mapping[str, Any]) -> list[str]:
    """The fields and rules that a case is for."""
    return case["of"] if isinstance(case["of"], list) else [case["of"]]


def documents(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The whole documents of a case."""
    return [document(**keys) if "output" not in keys else {**document(), **keys} for keys in case.get("documents", [case.get("document")])]


def lint_of(case: Mapping[str, Any], doc: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The parsed document and what the linter says of it."""
    return problems_of(doc, case.get("params"), case.get("strict", True))


def run(spark: SparkSession, df: DataFrame, keys: Mapping[str, Any], params: Mapping[str, Any] | None = None, **options: Any) -> PipelineResult:
    """Prepare a frame by the keys of a document."""
    forget()
    return door(spark).run_from_dict(document(**keys), params, df, **options)


def prepared(keys: Mapping[str, Any]) -> tuple[str, list[tuple[Any, ...]]]:
    """The columns and rows of the last run, without the control columns of a contract, which must be the last."""
    schema, rows = written()
    if not any(key in keys for key in members_of(Contract) if key not in _SILENT):
        return schema, rows
    assert schema.endswith(CONTROL)
    return schema.removesuffix(CONTROL).rstrip(", "), [row[:-2] for row in rows]
