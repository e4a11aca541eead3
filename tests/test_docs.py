"""The generated pages are those of the classes, and what the guides show is right."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sparquet_provider.core.gates import kind_of
from sparquet_provider.core.lint import lint, lint_check
from sparquet_provider.core.load import load

ROOT = Path(__file__).parents[1]
GUIDES = sorted([*ROOT.glob("README*.md"), *ROOT.glob("docs/*.md")])


def _pages() -> dict[str, str]:
    found = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    pages: dict[str, str] = module.pages()
    return pages


PAGES = _pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_not_stale(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name], "run: make docs"


def test_the_schema_accepts_what_lint_accepts_and_refuses_what_it_refuses() -> None:
    from tests.core.test_lint import RIGHT

    schema = json.loads(PAGES["schema/pipeline.json"])
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [e.message for e in validator.iter_errors(RIGHT)] == []
    for wrong in (
        {**RIGHT, "transformations": [{"type": "filter"}]},
        {**RIGHT, "input": {"path": "/x"}},
        {k: v for k, v in RIGHT.items() if k != "name"},
        {**RIGHT, "transformations": [{"type": "sort", "columns": "id"}]},
    ):
        assert not validator.is_valid(wrong)
        assert lint(load(wrong).tree)[0] is None


def _blocks(language: str) -> list[tuple[str, str]]:
    """The blocks of a language in the guides, each with a name."""
    found = []
    for guide in GUIDES:
        blocks = re.findall(rf"```{language}\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
        found += [(f"{guide.name}-{i}", block) for i, block in enumerate(blocks)]
    return found


def _named(blocks: list[tuple[str, str]]) -> Any:
    return pytest.mark.parametrize("text", [text for _, text in blocks], ids=[name for name, _ in blocks])


@_named([(name, text) for name, text in _blocks("json") if '"input"' in text and '"name"' in text])
def test_a_document_in_the_guides_is_right(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    loaded = load(tmp_path / "d.json", strict=False)
    read = lint_check if kind_of(loaded.tree) == "check" else lint
    problems = [p for p in [*loaded.problems, *read(loaded.tree, unknown_types=True)[1]] if p.severity == "error"]
    assert not problems, "\n".join(map(str, problems))


@_named([(name, text) for name, text in _blocks("json") if text.startswith('{"format"')])
def test_an_output_in_the_guides_is_right(text: str) -> None:
    _, problems = lint({"name": "x", "input": {"format": "csv", "path": "/in"}, "output": json.loads(text)})
    assert problems == []


@_named([(name, text) for name, text in _blocks("json") if '"input"' not in text and not text.startswith('{"format"')])
def test_a_rule_in_the_guides_is_right(text: str) -> None:
    found = json.loads("{" + text + "}" if text.startswith('"validations"') else text)
    block = found["validations"] if "validations" in found else {"rules": found if isinstance(found, list) else [found]}
    _, problems = lint_check(load({"name": "d", "input": {"format": "csv", "path": "/x"}, "validations": block}).tree)
    assert not problems, "\n".join(map(str, problems))


@_named([(name, text) for name, text in _blocks("python") if "with DAG(" in text and "from airflow.sdk import" in text])
def test_a_dag_in_the_guides_is_right(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk import DAG
    from airflow.serialization.serialized_objects import DagSerialization

    names: dict[str, Any] = {"__name__": "guide", "datetime": datetime}
    exec(compile(text, "guide", "exec"), names)
    dags = [value for value in names.values() if isinstance(value, DAG)] or [t.dag for t in names.values() if getattr(t, "task_id", None)]
    for dag in dags:
        DagSerialization.serialize_dag(dag)


@_named(_blocks("python"))
def test_python_in_the_guides_compiles(text: str) -> None:
    compile(text, "guide", "exec")


def test_the_notebook_of_the_guide_runs(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [text for name, text in _blocks("python") if name.startswith("data-quality") and "with DAG(" not in text]
    assert len(blocks) == 2
    df = spark.sql("SELECT * FROM VALUES (1, 'BR', DATE'2026-01-01'), (2, NULL, DATE'2999-01-01'), (NULL, 'PT', NULL) t(id, country, ordered_at)")
    names: dict[str, Any] = {"__name__": "guide", "spark": spark, "df": df}
    for block in blocks:
        exec(compile(block, "guide", "exec"), names)
    assert "[FAIL] not_null(id)" in capsys.readouterr().out
    assert [(row["country"], row["broken_rules"]) for row in names["bad"]] == [(None, ["missing_percent(country)"]), ("PT", ["not_null(id)"])]
    assert names["table"].count() == 2
    (result,) = names["results"]
    assert (result.failed_count, result.check_name, result.message) == (1, "nothing from tomorrow", "1 dates in the future")
    own = [{"type": "no_future_date", "column": "ordered_at", "code": "F"}]
    assert [row["b"] for row in names["cola"].split(df, own, annotate="b").invalid.collect()] == [["F"]]


def test_commands_in_the_guides_have_the_options_that_they_show() -> None:
    from sparquet_provider.cli import command_line

    lines = [line for _, text in _blocks("bash") for line in text.splitlines() if line.startswith("sparquet ")]
    assert any(line.startswith("sparquet check") for line in lines)
    for line in lines:
        command_line().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.name)
def test_links_inside_the_repository_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", guide.read_text(encoding="utf-8")):
        assert (guide.parent / target).exists(), f"{guide.name}: {target}"
