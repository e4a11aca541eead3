"""What Spark says becomes a fault that names the remedy; no session needed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from sparquet_provider.core.context import Run
from sparquet_provider.core.document import Output, Source
from sparquet_provider.core.engine import Node
from sparquet_provider.core.formats.delta import Delta
from sparquet_provider.core.formats.faults import source_fault
from sparquet_provider.core.formats.files import scanned
from sparquet_provider.core.formats.iceberg import Iceberg
from sparquet_provider.core.formats.places import Place
from sparquet_provider.core.formats.tables import commit_fault, merge_statement
from sparquet_provider.core.jars import DELTA, ICEBERG


class Said(Exception):
    def __init__(self, condition: str, text: str = "") -> None:
        super().__init__(f"[{condition}] {text}")
        self.condition = condition

    def getCondition(self) -> str:
        return self.condition


@pytest.fixture
def run() -> Run:
    nothing: Any = None
    return Run(nothing, nothing, dt.datetime.now(dt.timezone.utc), nothing, nothing, at="/x")


def test_a_missing_jar_names_its_package(run: Run) -> None:
    for fmt, package in ((Delta(), DELTA), (Iceberg(), ICEBERG)):
        error = source_fault(Said("DATA_SOURCE_NOT_FOUND", f"Failed to find the data source: {fmt.name}."), fmt, Source(format=fmt.name, path="a.b"), run)
        assert (error.code, error.problems[0].at) == ("CONNECTOR_MISSING", "/x/format") and package in str(error)


@pytest.mark.parametrize(
    ("condition", "text", "code"),
    [
        ("DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT", "", "WRITE_CONFLICT"),
        ("", "org.apache.iceberg.exceptions.ValidationException: Found conflicting files that can contain records", "WRITE_CONFLICT"),
        ("", "org.apache.iceberg.exceptions.CommitFailedException: Version 3 already exists", "WRITE_CONFLICT"),
        ("DELTA_PATH_EXISTS", "", "TARGET_EXISTS"),
        ("DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG", "", "CATALOG_NEEDED"),
        ("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "no", "SCHEMA_MISMATCH"),
    ],
)
def test_faults_of_a_commit(run: Run, condition: str, text: str, code: str) -> None:
    nothing: Any = None
    found: Any = commit_fault(Said(condition, text), nothing, Output(format="delta", path="a.b"), run, None)
    assert found.code == code


def test_other_faults_are_left_as_they_are(run: Run) -> None:
    nothing: Any = None
    error = Said("DIVIDE_BY_ZERO")
    assert commit_fault(error, nothing, Output(format="delta", path="a.b"), run, None) is error


def test_the_merge_text_quotes_names() -> None:
    text = merge_statement(Place.of("a.`b c`"), "v", ["order id"], ["order id", "x`y"], "T.k = 1", evolve=False)
    assert text == (
        "MERGE INTO `a`.`b c` T USING `v` S ON T.`order id` <=> S.`order id` AND (T.k = 1) "
        "WHEN MATCHED THEN UPDATE SET T.`order id` = S.`order id`, T.`x``y` = S.`x``y` "
        "WHEN NOT MATCHED THEN INSERT (`order id`, `x``y`) VALUES (S.`order id`, S.`x``y`)"
    )


def test_places_of_a_scan_that_spark_cut_short() -> None:
    def places(text: str) -> list[str]:
        return list(scanned(Node("Scan csv", f"FileScan csv [a#1] Location: InMemoryFileIndex(3 paths)[{text}, PartitionFilters: []", {})))

    assert places("file:/a/b, file:/a/c]") == ["file:/a/b", "file:/a/c"]
    assert places("file:/a/b, file:/a/long/na...") == ["file:/a/b", "file:/a/long"]
    assert places("fi...") == []
