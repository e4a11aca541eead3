"""The linter: every defect of a document at once, each with code, place and remedy; without Spark, in milliseconds."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from sparquet_provider.core.errors import CATALOGUE, Problem
from sparquet_provider.core.lint import lint, package_for_this_spark
from sparquet_provider.core.load import load
from sparquet_provider.core.registry import Registry

CASES = sorted((Path(__file__).parents[1] / "cases" / "lint").glob("*.yaml"))

#: A right document that uses many parts of the language; mutations of it must be wrong in a way that is reported.
RIGHT: dict[str, Any] = {
    "name": "orders",
    "description": "text",
    "spark": {"app_name": "orders", "configs": {"spark.sql.shuffle.partitions": "8"}},
    "input": {"format": "csv", "path": "/data/orders", "options": {"sep": ";"}, "schema": "id INT, amount DOUBLE, country STRING"},
    "transformations": [
        {"type": "filter", "condition": "amount > 0", "skip_if_false": "true"},
        {"type": "select", "columns": ["id", "amount", "country"]},
        {"type": "drop", "columns": ["country"]},
        {"type": "rename", "mappings": {"amount": "value"}},
        {"type": "cast", "columns": {"value": "decimal(18,2)"}},
        {"type": "sort", "columns": ["id"], "ascending": [True]},
        {"type": "drop_duplicates", "columns": ["id"]},
        {"type": "distinct"},
        {"type": "fill_na", "value": {"value": 0}},
        {"type": "with_column", "columns": {"double": "value * 2"}},
        {"type": "struct", "column": "payload", "fields": {"a": "id", "b": {"c": "value"}}},
        {"type": "sql", "query": "SELECT * FROM _df"},
        {"type": "join", "with": {"format": "parquet", "path": "/data/customers"}, "on": "id", "how": "left", "with_transformations": [{"type": "distinct"}]},
        {"type": "union", "with": {"format": "parquet", "path": "/data/archive"}, "allow_missing_columns": True},
        {"type": "repartition", "num_partitions": 4},
        {"type": "checkpoint", "method": "localCheckpoint", "eager": True},
        {"type": "collect", "column": "id", "as": "ids", "max_values": 10},
        {"type": "filter", "condition": "id IN ({{ids}})"},
        {"type": "stop_if_empty", "message": "nothing"},
        {"type": "debug", "actions": ["count"], "transformations": [{"type": "distinct"}]},
        {"type": "group_by", "by": ["id"], "agg": ["count(*) AS n"], "pivot": {"column": "month", "values": ["jan"]}},
    ],
    "validations": {
        "on_failure": "warn",
        "report": {"format": "csv", "path": "/dq", "mode": "append"},
        "rules": [
            {"type": "not_null", "columns": ["id"]},
            {"type": "unique", "columns": ["id"]},
            {"type": "range", "column": "n", "min": 0},
            {"type": "regex", "column": "id", "pattern": "x"},
            {"type": "row_count", "min": 1},
            {"type": "sql", "query": "SELECT true"},
            {"type": "missing_percent", "targets": ["id", "n"], "must_be": "< 5%", "warn": "= 0"},
            {"type": "invalid_count", "column": "id", "valid_values": ["a"], "must_be": "= 0"},
            {"type": "freshness", "column": "n", "must_be": "< 1d"},
            {"type": "foreign_key", "columns": ["id"], "source": {"format": "parquet", "path": "/reference"}},
            {"type": "column_comparison", "column": "id", "operator": "<=", "other": "n"},
            {"type": "sql", "failed_rows": "SELECT * FROM _validation_df", "output": {"format": "parquet", "path": "/bad"}},
        ],
    },
    "outputs": [
        {"format": "parquet", "path": "/out/a", "mode": "overwrite", "partition_by": ["id"]},
        {"format": "delta", "path": "/out/b", "mode": "merge", "options": {"merge_keys": ["id"]}, "transformations": [{"type": "distinct"}]},
    ],
}

#: A right contract, with every key of a preparation.
CONTRACT: dict[str, Any] = {
    "name": "orders",
    "source": {"format": "json", "path": "/landing", "read": {"schema": "id STRING, raw STRING"}},
    "catalog": "main",
    "layer": "silver",
    "target_table": "orders",
    "mode": "append",
    "select_columns": ["id", "raw"],
    "column_mapping": {"id": "order_id"},
    "schemas": {"v1": "STRUCT<items:ARRAY<STRUCT<sku:STRING>>>"},
    "transform": {
        "shape": {
            "parse_json": [
                {"column": "raw", "alias": "payload", "schema_ref": "v1", "drop_source": True},
                {"column": "order_id", "alias": "other", "schema": "STRUCT<a:INT>"},
            ],
            "flatten": {"enabled": True, "separator": "_", "max_depth": 3, "include": ["other"], "exclude": ["other.a"]},
            "zip_arrays": [{"alias": "zipped", "columns": {"x.a": "a", "x.b": "b"}}],
            "arrays": [{"path": "payload_items", "mode": "explode_outer", "alias": "item", "allow_cartesian": True}],
            "columns": {"order_id": {"alias": "id"}, "item.sku": {"alias": "sku", "cast": "STRING"}, "n": {"expression": "1 + 1", "alias": "n"}},
            "allow_cardinality_change_on_bronze": False,
        },
        "cast": {"sku": "string"},
        "standardize": {"sku": {"trim": True, "upper": True, "normalize_whitespace": True, "empty_as_null": True}},
        "derive": {"day": "to_date(ingestion_ts_utc)"},
        "deduplicate": {"keys": ["id"], "order_by": [{"column": "day", "direction": "desc", "nulls": "last"}, "sku asc"]},
    },
    "filter_expression": "sku IS NOT NULL",
    "custom_keys": {"key": ["id", "sku"]},
    "watermark_columns": ["day"],
    "annotations": {"description": "orders", "columns": {"id": {"description": "The order"}}},
    "operations": {"owners": ["data"]},
    "transformations": [{"type": "transform", "derive": {"z": "1"}, "standardize": {"sku": {"lower": True}}}],
}


def errors_of(document: Any, **options: Any) -> list[Problem]:
    loaded = load(document, options.pop("params", {}), strict=options.get("strict", True))
    return [p for p in [*loaded.problems, *lint(loaded.tree, **options)[1]] if p.severity == "error"]


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    loaded = load(case["document"], case.get("params"), strict=case.get("strict", True))
    found = [*loaded.problems, *lint(loaded.tree, strict=case.get("strict", True))[1]]
    assert sorted((p.code, p.at, p.severity) for p in found) == sorted((e["code"], e["at"], e.get("severity", "error")) for e in case["problems"]), "\n".join(
        map(str, found)
    )
    for expected in case["problems"]:
        texts = [str(p) for p in found if (p.code, p.at) == (expected["code"], expected["at"])]
        assert any(expected.get("says", "") in text for text in texts), texts


@pytest.mark.parametrize("document", [RIGHT, CONTRACT])
def test_the_right_document_has_no_problem(document: dict[str, Any]) -> None:
    assert lint(load(document).tree)[1] == []


# --- two thousand wrong documents ----------------------------------------------------------------------------------
def objects(tree: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(tree, dict):
        yield at, tree
        for key, value in tree.items():
            yield from objects(value, f"{at}/{key}")
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from objects(value, f"{at}/{i}")


#: Keys whose inner keys belong to the user, so that nothing in them is wrong.
FREE = ("options", "configs", "mappings", "fields", "columns", "value", "b")
#: Keys of a contract whose inner keys are names of columns, or belong to the user.
NAMES = ("columns", "column_mapping", "schemas", "cast", "standardize", "derive", "custom_keys", "operations", "annotations")
REQUIRED = {"name", "input", "type", "format", "condition", "mappings", "column", "fields", "query", "with", "as", "by", "agg", "pattern", "operator", "other"}

#: What a contract cannot do without: the keys of its parts.
CONTRACT_REQUIRED = {"source", "type", "format", "column", "schema_ref", "path", "keys", "order_by", "target_table"}
CHOICES = ("type", "format", "how", "on_failure", "mode", "layer", "direction", "nulls", "schema_ref")
EMPTY = ("condition", "agg", "name", "pattern")
CONTRACT_EMPTY = ("filter_expression", "keys", "order_by", "separator", "path", "column", "expression")


def mutate(random: Random, right: dict[str, Any] = RIGHT) -> tuple[dict[str, Any], str]:
    """A wrong document and what was done to it."""
    document = copy.deepcopy(right)
    free = NAMES if right is CONTRACT else FREE
    places = [(at, o) for at, o in objects(document) if at.rsplit("/", 1)[-1] not in free and o and "annotations" not in at]
    while True:
        at, target = random.choice(places)
        key = random.choice(list(target))
        kind = random.choice(["misspell", "drop", "wrong type", "unknown type", "empty"])
        if kind == "misspell" and len(key) > 4 and key not in ("validations", "description"):
            i = random.randrange(1, len(key) - 1)
            wrong = key[:i] + key[i + 1] + key[i] + key[i + 2 :]
            if wrong != key:
                document_target = {(wrong if k == key else k): v for k, v in target.items()}
                target.clear()
                target.update(document_target)
                return document, f"{at}/{key} misspelt as {wrong}"
        elif kind == "drop" and key in (REQUIRED if right is RIGHT else CONTRACT_REQUIRED) and not (key == "query" and "failed_rows" in target):
            del target[key]
            return document, f"{at}/{key} dropped"
        elif kind == "wrong type" and (key not in FREE or right is CONTRACT) and key not in ("skip_if_false", "description"):
            target[key] = {str: 3.5, int: ["text"], bool: 7, float: ["text"], list: 7, dict: 7}[type(target[key])]
            return document, f"{at}/{key} has a wrong type"
        elif kind == "unknown type" and key in CHOICES and isinstance(target[key], str):
            target[key] = target[key][:-1] + "xx"
            return document, f"{at}/{key} is unknown"
        elif kind == "empty" and key in (EMPTY if right is RIGHT else CONTRACT_EMPTY) and (at or right is CONTRACT):
            target[key] = type(target[key])()
            return document, f"{at}/{key} is empty"


def exists(document: Any, place: str) -> bool:
    """True when a JSON Pointer, or its parent (for a key that is missing), leads somewhere in the document."""
    node = document
    for part in [p.replace("~1", "/").replace("~0", "~") for p in place.split("/")[1:]][:-1]:
        try:
            node = node[int(part)] if isinstance(node, list) else node[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return True


def test_two_thousand_wrong_documents_each_give_an_error_with_a_place() -> None:
    random = Random(20260101)
    for number in range(2000):
        document, done = mutate(random)
        found = errors_of(document)
        assert found, f"{number}: {done}: no error"
        for problem in found:
            assert problem.code in CATALOGUE and problem.code != "INTERNAL"
            assert exists(document, problem.at), f"{number}: {done}: {problem}"
            assert problem.message and problem.remedy and "{" not in problem.message.replace("{{", "").split("columns here")[0] or "{" in str(problem.facts), (
                str(problem)
            )


def test_three_hundred_wrong_contracts_each_give_an_error_with_a_place() -> None:
    random = Random(20260102)
    for number in range(300):
        document, done = mutate(random, CONTRACT)
        found = errors_of(document)
        assert found, f"{number}: {done}: no error"
        for problem in found:
            assert problem.code in CATALOGUE and problem.code != "INTERNAL"
            assert exists(document, problem.at), f"{number}: {done}: {problem}"
            assert problem.message and problem.remedy


@pytest.mark.parametrize(
    "tree",
    [
        None,
        3,
        "text",
        [],
        {},
        {"name": 1},
        {"transformations": 3},
        {"transformations": [None, [], 3]},
        {"input": []},
        {"outputs": [None]},
        {"validations": {"rules": [3]}},
    ],
)
def test_anything_at_all_gets_errors_not_a_traceback(tree: Any) -> None:
    problems = lint(tree)[1]
    assert [p for p in problems if p.severity == "error"]


def test_all_defects_are_reported_at_once() -> None:
    document = {
        "name": "x",
        "input": {"format": "nope"},
        "transformations": [{"type": "filtr"}, {"type": "filter"}, {"type": "sort", "columns": "id"}],
        "output": {"format": "csv", "path": "/o", "mode": "merge"},
    }
    assert {p.at for p in errors_of(document)} >= {
        "/input/format",
        "/transformations/0/type",
        "/transformations/1",
        "/transformations/2/columns",
        "/output/mode",
    }


def test_linting_is_quick_and_needs_no_pyspark(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom sparquet_provider.core.lint import lint\nfrom sparquet_provider.core.load import load\nimport json\n"
        f"lint(load(json.loads({json.dumps(json.dumps(RIGHT))})).tree)\nprint('pyspark' in sys.modules, 'airflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]
    started = time.process_time()
    for _ in range(20):
        lint(load(RIGHT).tree)
    assert time.process_time() - started < 20, "a linter this slow is broken"


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ("io.delta:delta-spark_2.12:3.2.0", "io.delta:delta-spark_4.1_2.13:4.3.1"),
        ("io.delta:delta-core_2.12:2.4.0", "io.delta:delta-spark_4.1_2.13:4.3.1"),
        ("io.delta:delta-spark_4.1_2.13:4.3.1", None),
        ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.5.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"),
        ("org.postgresql:postgresql:42.7.3", None),
        ("com.example:thing_2.12:1.0", "com.example:thing_2.13:1.0"),
    ],
)
def test_packages_for_another_spark_or_scala_line(package: str, expected: str | None) -> None:
    assert package_for_this_spark(package) == (expected or package)
    document = {**RIGHT, "spark": {"configs": {"spark.jars.packages": package}}}
    found = errors_of(document)
    assert [(p.code, p.at) for p in found] == ([("PACKAGE_VERSION", "/spark/configs/spark.jars.packages")] if expected else [])


def test_custom_types_may_be_left_to_the_driver() -> None:
    document = {**RIGHT, "transformations": [{"type": "normalize_text", "column": "email", "anything": [1]}, {"type": "filter"}]}
    assert [p.code for p in errors_of(document)] == ["UNKNOWN_TYPE", "MISSING_KEY"]
    assert [p.code for p in errors_of(document, unknown_types=True)] == ["MISSING_KEY"]


def test_every_key_of_the_language_is_documented() -> None:
    from sparquet_provider.core.document import Check, Output, Pipeline, Source, SparkBlock, Validations
    from sparquet_provider.core.spec import members_of

    types = Registry()
    classes = [types.lookup(kind, name) for kind in ("transformation", "validator") for name in types.names(kind)] + [
        Pipeline,
        Check,
        Source,
        Output,
        Validations,
        SparkBlock,
    ]
    for cls in classes:
        assert cls.summary().endswith("."), cls
        for member in members_of(cls).values():
            assert member.field.doc.endswith("."), f"{cls.__name__}.{member.key}"


def test_numbers_beyond_floats_have_their_place() -> None:
    found = errors_of({**RIGHT, "validations": {"sample_rows": 10**400, "rules": [{"type": "row_count", "min": 10**400, "weight": 10**400}]}})
    places = {"/validations/sample_rows", "/validations/rules/0/min", "/validations/rules/0/weight"}
    assert {(p.code, p.at) for p in found} == {("WRONG_TYPE", at) for at in places}
    assert all(len(str(p)) < 300 for p in found)


def test_messages_shorten_long_values() -> None:
    long = "x" * 200_000
    rules = [{"type": long}, {"type": "row_count", "must_be": long}, {"type": "missing_count", "column": "a", "must_be": long}]
    found = errors_of({**RIGHT, "validations": {"on_failure": long, "rules": rules}})
    assert {p.code for p in found} >= {"UNKNOWN_TYPE", "THRESHOLD_INVALID", "WRONG_CHOICE"}
    assert all(len(p.message) < 2000 and "…" in p.message for p in found if "x" * 50 in p.message)
    many = Problem("COLUMN_NOT_FOUND", "", {"found": "a", "expected": [f"c{i}" for i in range(100)]})
    assert "c59 and 40 more" in many.remedy


def test_a_document_as_deep_as_allowed_is_read() -> None:
    steps: list[Any] = [{"type": "distinct"}]
    for _ in range(48):
        steps = [{"type": "debug", "actions": ["count"], "transformations": steps}]
    loaded = load({**RIGHT, "transformations": steps})
    assert not loaded.problems
    assert not [p for p in lint(loaded.tree)[1] if p.code not in ("VARIABLE_NOT_COLLECTED",)]
