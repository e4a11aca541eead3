"""The command ``sparquet check``, and the others where they meet check documents."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparquet_provider import cli
from sparquet_provider.core.errors import Problem
from sparquet_provider.core.result import CheckResult, OutputResult, PipelineResult
from sparquet_provider.core.sparquet import Sparquet
from sparquet_provider.core.text import plain_tree

CHECK: dict[str, Any] = {
    "name": "orders_gate", "input": {"format": "csv", "path": "{folder}/orders.csv"},
    "validations": {
        "rules": [
            {"type": "not_null", "column": "id", "code": "C1", "name": "have a key"}, {"type": "row_count", "min": 1, "code": "rows"},
            {"type": "missing_percent", "column": "country", "must_be": "< 90%", "warn": "= 0"},
        ],
        "outputs": {"invalid": {"format": "csv", "path": "{folder}/bad"}}, "report": {"format": "csv", "path": "{folder}/report"},
    },
}
PIPELINE = {**CHECK, "transformations": [{"type": "filter", "condition": "id IS NOT NULL"}], "output": {"format": "csv", "path": "{folder}/out"}}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], str]:
    def put(name: str, content: Any) -> str:
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(tmp_path / name)

    put("orders.csv", "id,country\n1,BR\n2,\n,PT\n")
    return put


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """A run that never starts Spark: say its result; the list gets the trees, and whether they are checks."""
    def define(result: PipelineResult) -> list[Any]:
        seen: list[Any] = []

        def run_loaded(self: Sparquet, loaded: Any, options: Any, *, strict: bool = True, check: bool = False) -> PipelineResult:
            seen.append((plain_tree(loaded.tree), check, options))
            return result

        monkeypatch.setattr(Sparquet, "run_loaded", run_loaded)
        return seen

    return define


# --- arguments -----------------------------------------------------------------------------------------------------
def test_a_check_document(started: Any, write: Any, tmp_path: Path) -> None:
    seen = started(PipelineResult("orders_gate"))
    assert cli.main(["check", write("c.json", CHECK), "--param", "folder=/data"]) == cli.SUCCESS
    (tree, check, options), = seen
    assert (check, options.params) == (True, {"folder": "/data"})
    assert tree["input"]["path"] == "/data/orders.csv"
    assert tree["validations"]["report"] == {"format": "csv", "path": "/data/report"}


def test_a_pipeline_document_writes_nothing(started: Any, write: Any) -> None:
    seen = started(PipelineResult("p"))
    cli.main(["check", write("p.json", PIPELINE), "--param", "folder=/data"])
    tree, check, _ = seen[0]
    assert check
    assert set(tree) == {"name", "input", "transformations", "validations"}
    assert set(tree["validations"]) == {"rules"}


def test_a_check_without_a_document(started: Any, write: Any) -> None:
    seen = started(PipelineResult("rules"))
    rules = write("rules.yaml", "- {type: row_count, min: '{least}'}\n")
    cli.main(["check", "--source", "/data/{x}", "--format", "csv", "--rules", rules, "--param-json", "least=2"])
    assert seen[0][0] == {"name": "rules", "input": {"format": "csv", "path": "/data/{x}"}, "validations": {"rules": [{"type": "row_count", "min": "2"}]}}


@pytest.mark.parametrize("arguments", [[], ["--source", "/x"], ["--rules", "r.json"], ["c.json", "--rules", "r.json"], ["c.json", "--source", "/x"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", *arguments]) == cli.USAGE
    assert "check takes a FILE, or --source and --rules" in capsys.readouterr().err


def test_a_page_without_a_folder_is_refused_before_anything_runs(started: Any, write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = started(PipelineResult("p"))
    assert cli.main(["check", write("c.json", CHECK), "--html", str(tmp_path / "none" / "r.html")]) == cli.USAGE
    assert seen == []


def test_defects_of_a_document(write: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write("c.json", {**CHECK, "validations": {"rules": [{"type": "row_cuont"}]}})
    assert cli.main(["check", file, "--param", "folder=/x", "--html", str(tmp_path / "r.html")]) == cli.USAGE
    assert "[UNKNOWN_TYPE] /validations/rules/0/type" in capsys.readouterr().out
    assert "UNKNOWN_TYPE" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert cli.main(["check", str(tmp_path / "none.json")]) == cli.USAGE
    assert cli.main(["check", write("e.json", {**CHECK, "validations": {"rules": []}}), "--param", "folder=/x"]) == cli.USAGE
    assert "at least one rule" in capsys.readouterr().out


# --- what is said --------------------------------------------------------------------------------------------------
RESULTS = [
    CheckResult("not_null", False, "1 row\nwith null", 1, 1, "have a key", code="C1"), CheckResult("row_count", True, "3 rows", code="row_count"),
    CheckResult("range", True, "1 row", severity="warn", code="range(x)"),
]


@pytest.mark.parametrize(("changes", "code"), [
    ({}, cli.SUCCESS), ({"status": "skipped", "reason": "stop_if_empty", "message": "nothing"}, cli.SUCCESS),
    ({"status": "failed", "reason": "quality"}, cli.QUALITY_FAILED), ({"status": "failed", "reason": "document"}, cli.USAGE),
    ({"status": "failed", "reason": "data"}, cli.RUN_FAILED), ({"status": "failed", "reason": "infrastructure"}, cli.RUN_FAILED),
])
def test_exit_codes(started: Any, write: Any, changes: dict[str, Any], code: int) -> None:
    started(PipelineResult("p", **changes))
    assert cli.main(["check", write("c.json", CHECK)]) == code


def test_one_line_a_rule_and_the_score(started: Any, write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started(PipelineResult(
        "gate", "failed", "quality", validation_results=RESULTS, score=0.6667, quarantine=[OutputResult("/validations/outputs/invalid", "csv", "/bad", "overwrite", "written", 1)],
        problems=[Problem("QUALITY_FAILED", "/validations", {"count": 1, "total": 3, "found": "x"})], warnings=[Problem("COLUMN_REPLACED", "/input", {"found": "a"}, "warning")],
    ))
    file = write("c.json", CHECK)
    assert cli.main(["check", file, "--html", str(tmp_path / "r.html")]) == cli.QUALITY_FAILED
    assert capsys.readouterr().out.splitlines() == [
        "gate: failed (quality), score 67%",
        "  FAIL C1 (have a key): 1 row with null",
        "  PASS row_count: 3 rows",
        "  WARN range(x): 1 row",
        "  /validations/outputs/invalid: csv /bad: written, 1 rows",
        "  warning: [COLUMN_REPLACED] /input: the source's own column 'a' was replaced. Rename it at the source to keep it.",
    ]
    assert "have a key" in (tmp_path / "r.html").read_text(encoding="utf-8")
    cli.main(["check", file, "--json"])
    assert [r["severity"] for r in json.loads(capsys.readouterr().out)["validation_results"]] == ["fail", "pass", "warn"]


# --- lint and explain ----------------------------------------------------------------------------------------------
def test_lint_and_explain_take_check_documents(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    check, pipeline = write("c.json", CHECK), write("p.json", PIPELINE)
    assert cli.main(["lint", check, pipeline, "--param", "folder=/x"]) == cli.SUCCESS
    assert capsys.readouterr().out.splitlines() == [f"{check}: ok (a check: it has rules and no output)", f"{pipeline}: ok"]
    assert cli.main(["explain", check, "--param", "folder=/x"]) == cli.SUCCESS
    said = capsys.readouterr().out
    assert said.startswith("check orders_gate\n")
    assert "/validations/outputs/invalid: csv /x/bad" in said


def test_a_pipeline_that_lost_its_output_is_still_named(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    without = {k: v for k, v in PIPELINE.items() if k != "output"}
    for lost in ({**without, "outptu": {}}, {k: v for k, v in without.items() if k != "validations"}):
        assert cli.main(["lint", write("p.json", lost), "--param", "folder=/x"]) == cli.USAGE
        assert "'output' is missing" in capsys.readouterr().out


def test_explain_lists_the_packages(write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", "mysql://me:never-shown@db/shop")
    jdbc = {"format": "jdbc", "path": "t"}
    document = {
        "name": "x", "input": {"format": "avro", "path": "/a"},
        "outputs": [{**jdbc, "connection": "shop"}, {**jdbc, "connection": "unknown", "mode": "append"}],
    }
    assert cli.main(["explain", write("p.json", document)]) == cli.SUCCESS
    said = capsys.readouterr().out
    assert "/outputs/0: jdbc t (overwrite), connection shop" in said and "never-shown" not in said
    assert [line.split(":")[-2] for line in said.partition("packages\n")[2].splitlines()[:2]] == ["spark-avro_2.13", "mysql-connector-j"]
    assert said.rstrip().endswith("/outputs/1: the driver of the connection unknown")


# --- a real run ----------------------------------------------------------------------------------------------------
EXTENSION = """
from sparquet_provider.core import BaseCheck, CheckResult

class FewCountries(BaseCheck):
    def run(self, df):
        found = df.select("country").distinct().count()
        return CheckResult("few_countries", found <= self.params["most"], f"{found} countries", 0, found)

def register(sparquet):
    sparquet.register_validator("few_countries", FewCountries)
"""


@pytest.mark.classic_only(reason="the command makes a session of its own")
def test_a_check_for_real(spark: Any, write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--param", f"folder={tmp_path}"]
    assert cli.main(["check", write("c.json", CHECK), *folder, "--html", str(tmp_path / "r.html")]) == cli.QUALITY_FAILED
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "orders_gate: failed (quality), score 67%"
    assert [line.split()[:2] for line in lines[1:4]] == [["FAIL", "C1"], ["PASS", "rows:"], ["WARN", "missing_percent(country):"]]
    assert list((tmp_path / "bad").glob("*.csv"))
    assert list((tmp_path / "report").glob("*.csv"))
    assert "1 of 3" in (tmp_path / "r.html").read_text(encoding="utf-8")

    for written in ("bad", "report"):
        (tmp_path / written).rename(tmp_path / f"{written}-before")
    assert cli.main(["check", write("p.json", PIPELINE), *folder]) == cli.SUCCESS, "its filter drops the row without a key"
    assert not any((tmp_path / written).exists() for written in ("bad", "report", "out"))

    rules = write("rules.json", [{"type": "few_countries", "most": 1}])
    options = ["--source", f"{tmp_path}/orders.csv", "--format", "csv", "--rules", rules, "--extension", write("mine.py", EXTENSION)]
    capsys.readouterr()
    assert cli.main(["check", *options]) == cli.QUALITY_FAILED
    assert "FAIL few_countries: 3 countries" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "text"), [("d.yaml", ""), ("d.yaml", "# nothing"), ("d.json", "null"), ("d.json", '{"name": "\\ud800"}')])
@pytest.mark.parametrize("command", ["lint", "explain", "run", "check"])
def test_every_command_says_why_there_is_no_document(write: Any, capsys: pytest.CaptureFixture[str], command: str, name: str, text: str) -> None:
    assert cli.main([command, write(name, text)]) == cli.USAGE
    said = "".join(capsys.readouterr())
    assert ("U+D800" if "ud800" in text else "expected an object") in said
    assert ": ok" not in said


def test_a_watermark_goes_in_as_json_and_comes_out_in_words(started: Any, write: Any, capsys: Any) -> None:
    seen = started(PipelineResult("p", watermark={"ts": "2026-01-02T00:00:00+00:00"}))
    document = write("p.json", {"name": "p", "input": {"format": "csv", "path": "/a"}, "watermark_columns": ["ts"], "output": {"format": "csv", "path": "/b"}})
    assert cli.main(["run", document, "--watermark", '{"ts": "2026-01-01"}']) == cli.SUCCESS
    assert seen[0][2].watermark == {"ts": "2026-01-01"}
    assert 'watermark: {"ts": "2026-01-02T00:00:00+00:00"}' in capsys.readouterr().out
    assert cli.main(["run", document, "--watermark", "yesterday"]) == cli.USAGE
    assert cli.main(["run", document, "--watermark", "[1]"]) == cli.USAGE


@pytest.mark.parametrize("target", ["{folder}/file", "/proc/none"])
def test_a_target_that_cannot_be_written_is_a_usage_error(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    path = target.format(folder=tmp_path)
    assert cli.main(["bundle", path]) == cli.USAGE
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("error: [INVALID_COMBINATION]") and path in shown.err
    assert cli.main(["bundle", path, "--json"]) == cli.USAGE
    assert path in json.loads(capsys.readouterr().out)["problems"][0]["message"]


@pytest.mark.parametrize(("code", "says"), [
    ("import sys; sys.exit(0)", "SystemExit: 0"), ("def register(sparquet): raise SystemExit(7)", "SystemExit: 7"),
    ("def register(sparquet): sparquet.register_transformation('x', 5)", "a transformation is a name and a class with apply"),
    ("def register(sparquet): sparquet.register_validator('x', object)", "a validator is a name and a class with validate or run"),
    ("def register(sparquet): sparquet.register_reader('', type('R', (), {'read': print}))", "a reader is a name"),
])
def test_an_extension_that_does_not_register_stops_the_command(write: Any, capsys: pytest.CaptureFixture[str], code: str, says: str) -> None:
    document = write("p.json", {"name": "p", "input": {"format": "csv", "path": "/a"}, "output": {"format": "csv", "path": "/b"}})
    extension = write("broken.py", code)
    for command in (["lint", document], ["explain", document], ["capabilities"]):
        sys.modules.pop("broken", None)
        assert cli.main([*command, "--extension", extension]) == cli.USAGE
        said = capsys.readouterr()
        assert "[EXTENSION_FAILED]" in said.err and says in said.err and said.out == ""


@pytest.mark.parametrize("text", ["[" * 100_000, "1e999", '{"a": [-1e999]}', "NaN", "Infinity"])
def test_a_value_that_is_no_json_is_told_briefly(write: Any, capsys: pytest.CaptureFixture[str], text: str) -> None:
    document = write("p.json", {"name": "p", "input": {"format": "csv", "path": "/a"}, "output": {"format": "csv", "path": "/b"}})
    assert cli.main(["lint", document, "--param-json", f"a={text}"]) == cli.USAGE
    said = capsys.readouterr().err
    assert "expected JSON after --param-json a=" in said and len(said) < 300


def test_the_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "0 success or skipped, 1 the run failed, 2 wrong usage or a document with errors, 3 quality rules failed" in " ".join(capsys.readouterr().out.split())
