"""Options that hold SQL: a value never breaks out of its quotes, there as in any other field."""

from __future__ import annotations

from typing import Any

import pytest

from sparquet_provider.core.lint import lint
from sparquet_provider.core.load import load

BREAK_OUT = "x' OR '1'='1"


def options_of(options: dict[str, Any], params: dict[str, Any], where: str = "output") -> dict[str, Any]:
    """The options of a block as the linter reads them."""
    block = {"format": "delta", "path": "/a", "mode": "overwrite", "options": options}
    raw = {"name": "n", "input": {"format": "parquet", "path": "/in"}, "output": {"format": "parquet", "path": "/out"}}
    raw |= {"output": block} if where == "output" else {"input": {"format": "jdbc", "options": {"url": "jdbc:postgresql://h/d", **options}}}
    document, problems = lint(load(raw, params).tree)
    assert document is not None, problems
    found: dict[str, Any] = getattr(document, where).options
    return found


@pytest.mark.parametrize("name", ["replaceWhere", "REPLACEWHERE", "merge_condition"])
def test_spark_sql_is_escaped_for_its_quotes(name: str) -> None:
    assert options_of({name: "tenant = '{t}' AND n > {n}"}, {"t": BREAK_OUT, "n": 5})[name] == "tenant = 'x\\' OR \\'1\\'=\\'1' AND n > 5"


@pytest.mark.parametrize(("value", "text"), [(BREAK_OUT, "x'' OR ''1''=''1"), ("O'Brien", "O''Brien"), ("C:\\new", "C:\\new")])
def test_the_sql_of_a_database_doubles_quotes(value: str, text: str) -> None:
    assert options_of({"query": "SELECT * FROM t WHERE n = '{x}'"}, {"x": value}, "input")["query"] == f"SELECT * FROM t WHERE n = '{text}'"


def test_other_options_take_values_as_they_are() -> None:
    assert options_of({"userMetadata": "by '{x}'"}, {"x": "O'Brien"})["userMetadata"] == "by 'O'Brien'"


def test_one_partition_is_replaced_whatever_its_name(house: Any) -> None:
    from sparquet_provider.core import Sparquet

    path = house.path("tenants")
    rows = [(1, "O'Brien"), (2, "b"), (3, BREAK_OUT)]
    assert house.write(rows, "id INT, tenant STRING", {"format": "delta", "path": path, "partition_by": ["tenant"]}).success

    def replace(rows: list[tuple[Any, ...]], where: str, **more: Any) -> Any:
        output = {"format": "delta", "path": path, "mode": "overwrite", "options": {"replaceWhere": where}}
        document = {"name": "w", "input": {"format": "view", "path": "x"}, "output": output, **more.pop("document", {})}
        return Sparquet(house.spark).run_from_dict(document, more.get("params"), input_df=house.spark.createDataFrame(rows, "id INT, tenant STRING"))

    def tenants() -> list[tuple[Any, ...]]:
        return sorted(tuple(r) for r in house.spark.read.format("delta").load(path).select("id", "tenant").collect())

    steps = [{"type": "drop", "columns": ["ingestion_ts"]}]
    for number, tenant in ((9, "O'Brien"), (8, BREAK_OUT)):
        done = replace([(number, tenant)], "tenant = '{t}'", params={"t": tenant}, document={"transformations": steps})
        assert done.success, done.message
    assert tenants() == [(2, "b"), (8, BREAK_OUT), (9, "O'Brien")]
    collected = [{"type": "collect", "column": "tenant", "as": "t"}, *steps]
    done = replace([(7, "O'Brien")], "tenant IN ({{t}})", document={"transformations": collected})
    assert done.success, done.message
    assert tenants() == [(2, "b"), (7, "O'Brien"), (8, BREAK_OUT)]
