"""Documents are found beside the DAG file or in its bundle, and every defect is reported before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.operators.documents import Home, checked, read


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "bundle" / "team").mkdir(parents=True)
    (tmp_path / "bundle" / "pipelines").mkdir()
    return tmp_path / "bundle"


def dag(bundle: Path) -> Any:
    return SimpleNamespace(fileloc=str(bundle / "team" / "dag.py"), relative_fileloc="team/dag.py")


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_the_home_of_a_dag(bundle: Path) -> None:
    expected = Home(bundle / "team", bundle)
    assert Home.of(dag(bundle), None) == expected
    assert Home.of(SimpleNamespace(fileloc=str(bundle / "team" / "dag.py")), SimpleNamespace(bundle_instance=SimpleNamespace(path=bundle))) == expected
    assert Home.of(SimpleNamespace(fileloc=str(bundle / "team" / "dag.py")), None) == Home(bundle / "team", bundle / "team")
    assert Home.of(None, None) == Home(Path.cwd(), Path.cwd())


def test_a_path_is_looked_up_beside_the_dag_file_then_in_the_bundle(bundle: Path, pipeline: dict[str, Any]) -> None:
    home = Home.of(dag(bundle), None)
    in_bundle = write(bundle / "pipelines" / "p.json", pipeline)
    assert home.find("pipelines/p.json") == in_bundle
    (bundle / "team" / "pipelines").mkdir()
    beside = write(bundle / "team" / "pipelines" / "p.json", pipeline)
    assert home.find("pipelines/p.json") == beside
    assert home.find(str(in_bundle)) == in_bundle
    loaded = read("pipelines/none.json", {}, home, strict=True)
    assert [p.code for p in loaded.problems] == ["DOCUMENT_NOT_FOUND"]
    assert str(bundle / "team" / "pipelines") in str(loaded.problems[0])


def test_included_files_stay_in_the_bundle(bundle: Path, tmp_path: Path, pipeline: dict[str, Any]) -> None:
    write(tmp_path / "outside.json", [{"type": "filter", "condition": "a > 1"}])
    write(bundle / "pipelines" / "inside.json", [{"type": "filter", "condition": "a > 1"}])
    home = Home.of(dag(bundle), None)
    for file, codes in (("../../outside.json", ["INCLUDE_OUTSIDE_ROOT"]), ("../pipelines/inside.json", [])):
        write(bundle / "team" / "p.json", {**pipeline, "transformations": [{"$include": file}]})
        assert [p.code for p in read("p.json", {"src": "/x"}, home, strict=True).problems] == codes
        assert [p.code for p in read({**pipeline, "transformations": [{"$include": file}]}, {"src": "/x"}, home, strict=True).problems] == codes


def test_a_document_outside_of_the_bundle_includes_from_its_own_folder(bundle: Path, tmp_path: Path, pipeline: dict[str, Any]) -> None:
    write(tmp_path / "part.json", [{"type": "filter", "condition": "a > 1"}])
    file = write(tmp_path / "p.json", {**pipeline, "transformations": [{"$include": "part.json"}]})
    assert read(str(file), {"src": "/x"}, Home.of(dag(bundle), None), strict=True).problems == []


def test_every_defect_at_once(pipeline: dict[str, Any]) -> None:
    document = {**pipeline, "transformatons": [], "transformations": [{"type": "filtr"}, {"type": "filter"}]}
    with pytest.raises(AirflowFailException) as caught:
        checked(read(document, {"sorce": "/x"}, Home.of(None, None), strict=True), "run", strict=True, extensions=[])
    text = str(caught.value)
    assert text.startswith("The document has 4 defects; nothing was submitted.")
    for part in ("[PARAMETER_WITHOUT_VALUE] /input/path", "[MISSPELT_KEY] /transformatons", "[UNKNOWN_TYPE] /transformations/0/type", "[MISSING_KEY] /transformations/1"):
        assert part in text


def test_warnings_come_back(pipeline: dict[str, Any]) -> None:
    warnings = checked(read(pipeline, {"src": "/x", "other": 1}, Home.of(None, None), strict=True), "run", strict=True, extensions=[])
    assert [p.code for p in warnings] == ["PARAMETER_NOT_USED"]


def test_types_of_extensions_are_left_to_the_driver(pipeline: dict[str, Any]) -> None:
    document = {**pipeline, "transformations": [{"type": "normalize_text", "column": "email"}]}
    loaded = read(document, {"src": "/x"}, Home.of(None, None), strict=True)
    assert checked(loaded, "run", strict=True, extensions=["my_types"]) == []
    with pytest.raises(AirflowFailException, match="UNKNOWN_TYPE"):
        checked(loaded, "run", strict=True, extensions=[])
