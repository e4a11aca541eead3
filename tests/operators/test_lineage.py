"""What OpenLineage is told, by its own classes and through its own extractor; the submission is a stand-in (tests/operators/conftest.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sparquet_provider.core.connections import Connection
from sparquet_provider.core.document import Output, Source
from sparquet_provider.operators import ColaCheckOperator, SparquetRunOperator
from sparquet_provider.operators.datasets import names_of

PG = Connection("pg", "postgres", "db.example", 5433, "shop", "user", "pa55word")
MY = Connection("my", "mysql", "db.example", None, "shop")
ORACLE = Connection("o", "jdbc", "jdbc:oracle:thin:@//db.example:1522/ORCL")
KAFKA = Connection("k", "kafka", extra={"bootstrap.servers": "one:9093,two:9093"})
MONGO = Connection("m", "mongo", "mongo.example", 27018)

NAMES: list[tuple[str, Any, dict[str, Any], Connection | None, list[tuple[str, str]]]] = [
    ("parquet", "/data/orders/", {}, None, [("file", "/data/orders")]),
    ("parquet", "file:///data/orders", {}, None, [("file", "/data/orders")]),
    ("csv", ("s3a://lake/raw/a.csv", "s3://lake/raw/b.csv"), {}, None, [("s3://lake", "raw/a.csv"), ("s3://lake", "raw/b.csv")]),
    ("json", "s3a://lake", {}, None, [("s3://lake", "/")]),
    ("delta", "abfss://box@account.dfs.core.windows.net/silver/orders", {}, None, [("abfss://box@account.dfs.core.windows.net", "silver/orders")]),
    ("parquet", "hdfs://name:8020/data/orders", {}, None, [("hdfs://name:8020", "/data/orders")]),
    ("delta", "delta.`/data/orders`", {}, None, [("file", "/data/orders")]),
    ("delta", "sales.orders", {}, None, [("spark", "sales.orders")]),
    ("iceberg", "lake.sales.`order lines`", {}, None, [("spark", "lake.sales.order lines")]),
    ("view", "orders", {}, None, []),
    ("parquet", "/data/{{tenant}}", {}, None, []),
    ("jdbc", "orders", {}, PG, [("postgres://db.example:5433", "shop.public.orders")]),
    ("jdbc", 'sales."Order Lines"', {}, PG, [("postgres://db.example:5433", "shop.sales.Order Lines")]),
    ("jdbc", "orders", {}, MY, [("mysql://db.example:3306", "shop.orders")]),
    ("jdbc", "other.orders", {}, MY, [("mysql://db.example:3306", "other.orders")]),
    ("jdbc", "orders", {}, ORACLE, [("oracle://db.example:1522", "ORCL.ORDERS")]),
    ("jdbc", "orders", {"url": "jdbc:oracle:thin:@db.example:1521:XE"}, None, [("oracle://db.example:1521", "XE.ORDERS")]),
    ("jdbc", "orders", {"url": "jdbc:sqlserver://db.example;databaseName=shop"}, None, [("mssql://db.example:1433", "shop.dbo.orders")]),
    ("jdbc", "orders", {"url": "jdbc:db2://db.example/shop"}, None, []),
    ("jdbc", None, {"query": "SELECT 1"}, PG, []),
    ("kafka", ("orders", "returns"), {}, KAFKA, [("kafka://one:9093", "orders"), ("kafka://one:9093", "returns")]),
    ("kafka", "orders", {"kafka.bootstrap.servers": "three:9092"}, None, [("kafka://three:9092", "orders")]),
    ("mongodb", "orders", {}, MONGO, [("mongodb://mongo.example:27018", "orders")]),
    ("bigquery", "project.set.orders", {}, None, [("bigquery", "project.set.orders")]),
]


@pytest.mark.parametrize(("format", "path", "options", "connection", "expected"), NAMES, ids=[f"{n[0]} {n[1]}" for n in NAMES])
def test_name_of_a_dataset(format: str, path: Any, options: dict[str, Any], connection: Connection | None, expected: list[tuple[str, str]]) -> None:
    assert names_of(Source(format=format, path=path, options=options), connection) == expected
    if isinstance(path, str):
        assert names_of(Output(format=format, path=path, options=options), connection) == expected


CONTRACT: dict[str, Any] = {
    "name": "orders",
    "input": {"format": "parquet", "path": "s3a://lake/raw/orders"},
    "transformations": [{"type": "join", "with": {"format": "delta", "path": "sales.customers"}, "on": ["customer"]}],
    "annotations": {
        "description": "One row for each order.", "tags": ["finance"], "table": {"classification": "internal"},
        "columns": {"cpf": {"description": "Tax number", "pii": True, "tags": ["person"]}, "amount": {"description": "In reais"}},
    },
    "operations": {"owners": {"technical": "data", "business": ["sales", "finance"]}},
    "outputs": [{"format": "delta", "path": "/out/orders", "mode": "append"}, {"format": "parquet", "path": "/out/never"}],
    "validations": {"rules": [{"type": "not_null", "columns": ["cpf"]}], "on_failure": "warn", "report": {"format": "json", "path": "/out/report"}},
}
RULE = {"rule_type": "not_null", "passed": False, "severity": "warn", "message": "2 of 9 rows are null", "code": "not_null(cpf)", "metric_value": 2,
        "rule_params": {"column": "cpf"}}
ANSWER: dict[str, Any] = {
    "rows_read": 12, "validation_results": [RULE],
    "outputs": [
        {"at": "/outputs/0", "format": "delta", "path": "/out/orders", "status": "written", "rows_written": 9, "bytes": 900, "files": 2, "version": 7,
         "columns": {"cpf": "string", "amount": "decimal(10,2)", "n": "int"}},
        {"at": "/outputs/1", "format": "parquet", "path": "/out/never", "status": "failed"},
    ],
    "report": {"at": "/validations/report", "format": "json", "path": "/out/report", "status": "written", "rows_written": 1},
}


def _extracted(operator: Any) -> Any:
    from airflow.providers.openlineage.extractors.base import DefaultExtractor

    return DefaultExtractor(operator).extract_on_complete(SimpleNamespace())


def test_datasets_and_facets_of_a_run(answer: Any, ti: Any) -> None:
    answer(**ANSWER)
    operator = SparquetRunOperator(task_id="t", pipeline=CONTRACT)
    operator.execute({"ti": ti})
    told = _extracted(operator)
    assert [(d.namespace, d.name) for d in told.inputs] == [("s3://lake", "raw/orders"), ("spark", "sales.customers")]
    assert told.inputs[0].inputFacets["inputStatistics"].rowCount == 12
    assert told.inputs[1].inputFacets == {}
    assert [(d.namespace, d.name) for d in told.outputs] == [("file", "/out/orders"), ("file", "/out/report")]
    table = told.outputs[0]
    assert table.facets["documentation"].description == "One row for each order."
    assert [(o.name, o.type) for o in table.facets["ownership"].owners] == [("data", "technical"), ("sales", "business"), ("finance", "business")]
    assert [(t.key, t.value, t.field) for t in table.facets["tags"].tags] == [
        ("finance", "true", None), ("classification", "internal", None), ("pii", "true", "cpf"), ("person", "true", "cpf"),
    ]
    assert [(f.name, f.type, f.description) for f in table.facets["schema"].fields] == [
        ("cpf", "string", "Tax number"), ("amount", "decimal(10,2)", "In reais"), ("n", "int", None),
    ]
    assert table.facets["version"].datasetVersion == "7"
    statistics = table.outputFacets["outputStatistics"]
    assert (statistics.rowCount, statistics.size, statistics.fileCount) == (9, 900, 2)
    assert told.outputs[1].facets == {}, "the report is no table of the contract"
    (test,) = told.run_facets["test"].tests
    assert (test.name, test.status, test.severity, test.type, test.actual) == ("not_null(cpf)", "fail", "warn", "not_null", "2")


def test_rules_of_a_check_are_assertions_of_its_input(answer: Any, ti: Any) -> None:
    answer(validation_results=[RULE], rows_read=9)
    operator = ColaCheckOperator(task_id="t", table="sales.orders", rules=[{"type": "not_null", "columns": ["cpf"]}])
    operator.execute({"ti": ti})
    (dataset,) = _extracted(operator).inputs
    (assertion,) = dataset.inputFacets["dataQualityAssertions"].assertions
    assert (dataset.namespace, dataset.name) == ("spark", "sales.orders")
    assert (assertion.assertion, assertion.success, assertion.column, assertion.description) == ("not_null", False, "cpf", "2 of 9 rows are null")


def test_a_task_without_a_document_tells_nothing() -> None:
    assert _extracted(SparquetRunOperator(task_id="t", pipeline=CONTRACT)) is None


def test_a_run_that_never_answered_names_what_it_would_have_written(answer: Any, ti: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparquet_provider.core.errors import SparquetError
    from sparquet_provider.hooks.submission import Submission

    def lost(*_: Any, **__: Any) -> None:
        raise SparquetError("RESULT_MISSING", "", found="no result", reason="it was killed")

    monkeypatch.setattr(Submission, "run", lost)
    operator = SparquetRunOperator(task_id="t", pipeline=CONTRACT)
    with pytest.raises(Exception, match="RESULT_MISSING"):
        operator.execute({"ti": ti})
    told = _extracted(operator)
    assert [d.name for d in told.outputs] == ["/out/orders", "/out/never", "/out/report"]
    assert told.run_facets == {} and told.outputs[0].outputFacets == {}
