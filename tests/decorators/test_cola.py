"""``@task.cola_check``: what the function says becomes the check."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException


def checked(answer: Any, ti: Any, function: Any, *arguments: Any, **options: Any) -> Any:
    """The document that a decorated function submits."""
    from sparquet_provider.core.text import plain_tree

    seen = answer()
    with DAG("d"):
        operator = task.cola_check(task_id="gate", **options)(function)(*arguments).operator
    operator.execute({"ti": ti, "run_id": "manual__1"})
    return plain_tree(seen[-1][0].tree)


def test_a_list_is_the_rules_and_jinja_leaves_it_alone(answer: Any, ti: Any) -> None:
    def gate(least):
        return [{"type": "row_count", "min": least}, {"type": "regex", "column": "a", "pattern": "{{x"}]

    tree = checked(answer, ti, gate, 5, table="sales.orders")
    assert tree["input"] == {"format": "delta", "path": "sales.orders"}
    assert tree["validations"]["rules"] == gate(5)


def test_a_mapping_is_arguments_which_win(answer: Any, ti: Any) -> None:
    def gate(run_id=None) -> dict[str, Any]:
        return {"source": f"/in/{run_id}", "format": "csv", "rules": [{"type": "row_count", "min": "{least}"}], "pipeline_params": {"least": 2}, "on_failure": "warn"}

    tree = checked(answer, ti, gate, on_failure="fail", check_name="named")
    assert (tree["name"], tree["input"]) == ("named", {"format": "csv", "path": "/in/manual__1"})
    assert tree["validations"] == {"on_failure": "warn", "rules": [{"type": "row_count", "min": "2"}]}


def test_the_function_may_name_a_file(answer: Any, ti: Any, tmp_path: Any) -> None:
    (tmp_path / "r.json").write_text('[{"type": "row_count", "min": 1}]')
    assert checked(answer, ti, lambda: str(tmp_path / "r.json"), source="/x")["validations"]["rules"] == [{"type": "row_count", "min": 1}]


@pytest.mark.parametrize(("said", "words"), [
    ({"rulez": []}, "does not have: rulez. It has: .*rules"), (None, "returned NoneType, expected a list of rules"), (7, "returned int"),
])
def test_what_is_neither_is_named(answer: Any, ti: Any, said: Any, words: str) -> None:
    with pytest.raises(AirflowFailException, match=words):
        checked(answer, ti, lambda: said, source="/x")


def test_a_dag_with_it_serializes_also_when_it_is_mapped() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    with DAG("d") as dag:

        @task.cola_check(rules=[{"type": "row_count", "min": 1}])
        def gate(table: str) -> dict[str, str]:
            """Check one table."""
            return {"table": table}

        gate.expand(table=["a", "b"]) >> gate.override(task_id="one")("c")
    back = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert set(back.task_dict) == {"gate", "one"}
    assert dag.task_dict["one"].doc_md == "Check one table."
