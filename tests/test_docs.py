"""The generated pages are those of the classes, and what the guides show is right."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import jsonschema
import pytest

from sparquet_provider.core.lint import lint
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


def _documents() -> list[tuple[str, str]]:
    found = []
    for guide in GUIDES:
        for i, block in enumerate(re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)):
            if '"input"' in block and '"name"' in block:
                found.append((f"{guide.name}-{i}", block))
    return found


@pytest.mark.parametrize(("name", "text"), _documents(), ids=lambda v: v if len(v) < 40 else "")
def test_a_document_in_the_guides_is_right(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    loaded = load(tmp_path / "d.json", strict=False)
    problems = [p for p in [*loaded.problems, *lint(loaded.tree, unknown_types=True)[1]] if p.severity == "error"]
    assert not problems, "\n".join(map(str, problems))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.name)
def test_links_inside_the_repository_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", guide.read_text(encoding="utf-8")):
        assert (guide.parent / target).exists(), f"{guide.name}: {target}"
