"""From text to tree: parameters, includes, runtime variables; nothing breaks out of its place."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparquet_provider.core.load import load
from sparquet_provider.core.text import literal, plain, plain_tree, render_text, sql_text, variables_in


def tree_of(text: str, params: dict[str, Any], folder: Path, suffix: str = ".json") -> Any:
    file = folder / f"document{suffix}"
    file.write_text(text, encoding="utf-8")
    loaded = load(file, params)
    assert not [p for p in loaded.problems if p.severity == "error"], loaded.problems
    return plain_tree(loaded.tree)


INSIDE = [
    ("abc", "abc"),
    (7, "7"),
    (0.1, "0.1"),
    (10**20, str(10**20)),
    ("007", "007"),
    (True, "true"),
    (False, ""),
    (None, ""),
    ([], ""),
    ("", ""),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
    (Decimal("1.50"), "1.50"),
    (["a", "b"], "'a', 'b'"),
    ([1, 2], "1, 2"),
    ("O'Brien", "O'Brien"),
    ("C:\\new\\t", "C:\\new\\t"),
    ('a"b', 'a"b'),
    ("two\nlines", "two\nlines"),
    ("🦆", "🦆"),
    ("{other}", "{other}"),
]
OUTSIDE = [
    ("abc", "abc"),
    (7, 7),
    (0.5, 0.5),
    (True, True),
    (False, False),
    (None, None),
    ([1, 2], [1, 2]),
    (["a"], ["a"]),
    ([], []),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (Decimal("2"), 2),
    ('a"b', 'a"b'),
]


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize(("value", "expected"), INSIDE)
def test_a_parameter_inside_a_string(tmp_path: Path, value: Any, expected: str, suffix: str) -> None:
    tree = tree_of('{"k": "<{x}>", "other": 1}', {"x": value}, tmp_path, suffix)
    assert render_text(tree["k"], {}, sql=False) == f"<{expected}>"
    assert tree["other"] == 1


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize(("value", "expected"), OUTSIDE)
def test_a_parameter_outside_a_string_is_a_json_value(tmp_path: Path, value: Any, expected: Any, suffix: str) -> None:
    text = '{"k": {x}, "list": [{x}]}' if suffix == ".json" else "k: {x}\nlist:\n  - {x}\n"
    assert tree_of(text, {"x": value}, tmp_path, suffix) == {"k": expected, "list": [expected]}


def test_a_parameter_in_a_number_and_in_a_key(tmp_path: Path) -> None:
    assert tree_of('{"n": 1{zeros}, "f": {i}.5, "{k}": {"a{k}": -{i}}}', {"zeros": "00", "i": 2, "k": "key"}, tmp_path) == {
        "n": 100,
        "f": 2.5,
        "key": {"akey": -2},
    }


def test_what_is_no_placeholder(tmp_path: Path) -> None:
    text = json.dumps({"a": r"\p{L}+ \x{A0} {11} ${x} {} { x } {x-y}", "b": "{{ x }} {{x}}"})
    assert tree_of(text, {"x": "never", "unused": 1}, tmp_path) == json.loads(text)


def test_two_keys_that_parameters_make_one() -> None:
    loaded = load({"column_mapping": {"{k}": "y", "z": "q", "{other}": "r"}}, {"k": "z", "other": "w"})
    assert [(p.code, p.at) for p in loaded.problems] == [("DUPLICATE_KEY", "/column_mapping/z")]


def test_yaml_merge_keys_fill_in_what_is_not_given(tmp_path: Path) -> None:
    text = "base: &a {header: false, sep: ';'}\nmore: &b {sep: '|', x: 1}\none: {<<: *a, header: true}\ntwo: {<<: [*a, *b], y: 2}\nplain: {'<<': 3}\n"
    tree = tree_of(text, {}, tmp_path, ".yaml")
    assert (tree["one"], tree["two"], tree["plain"]) == ({"header": True, "sep": ";"}, {"sep": ";", "header": False, "x": 1, "y": 2}, {"<<": 3})


def test_yaml_has_the_data_model_of_json(tmp_path: Path) -> None:
    tree = tree_of("on: id\nyes: no\nn: 007\nd: 2026-01-02\nt: true\ne: 1e3\nz: ~\nb: |\n  it's {x}\n", {"x": 5}, tmp_path, ".yaml")
    assert tree == {"on": "id", "yes": "no", "n": "007", "d": "2026-01-02", "t": True, "e": 1000.0, "z": None, "b": "it's 5\n"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": 1,}', "INVALID_JSON"),
        ('{"a": 1, "a": 2}', "DUPLICATE_KEY"),
        ("[" * 100000, "INVALID_JSON"),
        ('{"a": "\ufdd0"}', "RESERVED_CHARACTER"),
        ("", "INVALID_JSON"),
    ],
)
def test_a_text_that_is_wrong(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    assert [p.code for p in load(tmp_path / "d.json").problems] == [code]


#: Nine levels of nine aliases each.
BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))


@pytest.mark.parametrize(
    ("name", "text", "code", "at", "words"),
    [
        ("d.json", '{\n"a": ' + "9" * 5000 + "}", "INVALID_JSON", "", "5000 digits is too long (line 2, column 6)"),
        ("d.json", '{"s": "NaN", "a": NaN}', "INVALID_JSON", "", "there is no NaN in JSON (line 1, column 19)"),
        ("d.json", '{"a": -Infinity}', "INVALID_JSON", "", "there is no -Infinity"),
        ("d.json", '{"a": 1e999}', "INVALID_JSON", "", "1e999 is too large"),
        ("d.json", '{"a": ' + "[" * 900 + "]" * 900 + "}", "INVALID_JSON", "", "nested too deep"),
        ("d.json", "null", "WRONG_TYPE", "", "expected an object"),
        ("d.json", '{"a": ["x", "\\ud800"]}', "RESERVED_CHARACTER", "/a/1", "U+D800"),
        ("d.json", '{"a": {"\\udfff": 1}}', "RESERVED_CHARACTER", "/a", "U+DFFF"),
        ("d.json", '{"b": {p}, "a": "\\uFDD05\\ufdd1"}', "RESERVED_CHARACTER", "/a", "U+FDD0"),
        ("d.json", '{"a": "\\ufdd0{p}\\ufdd0"}', "RESERVED_CHARACTER", "/a", "U+FDD0"),
        ("d.json", '{"a": [{"b/c": {"x": 1, "x": 2}}]}', "DUPLICATE_KEY", "/a/0/b~1c", "'x'"),
        ("d.yaml", "a: {<<: 3}", "INVALID_YAML", "", "the merge key << takes a mapping"),
        ("d.yaml", "a: !!bool x", "INVALID_YAML", "", "'x' is no value of the type bool"),
        ("d.yaml", "a: !!timestamp x", "INVALID_YAML", "", "the tag !!timestamp is not known here"),
        ("d.yaml", "a: !!binary YQ==", "INVALID_YAML", "", "!!binary"),
        ("d.yaml", "a: !!int x", "INVALID_YAML", "", "is no value of the type int"),
        ("d.yaml", "a: !!int ''", "INVALID_YAML", "", "is no value of the type int"),
        ("d.yaml", "a: !!str [x]", "INVALID_YAML", "", "scalar"),
        ("d.yaml", "a: !!map x", "INVALID_YAML", "", "line 1"),
        ("d.yaml", "!!map x", "INVALID_YAML", "", "line 1"),
        ("d.yaml", "a: !!float nan", "INVALID_YAML", "", "no number"),
        ("d.yaml", "a: 1e999", "INVALID_YAML", "", "no number"),
        ("d.yaml", "a: " + "9" * 5000, "INVALID_YAML", "", "is no value of the type int"),
        ("d.yaml", "a: " + "[" * 900 + "]" * 900, "INVALID_YAML", "", "nested too deep"),
        ("d.yaml", "a: " + "[" * 150 + "]" * 150, "INVALID_YAML", "", "nested too deep"),
        ("d.yaml", BOMB, "INVALID_YAML", "", "aliases expand to more than 100000"),
        ("d.yaml", "a: &x " + "y" * 100_000 + "\nb: [" + "*x, " * 1000 + "]", "INVALID_YAML", "", "aliases expand"),
        ("d.yaml", "&a [*a]", "INVALID_YAML", "", "an alias stands inside the value"),
        ("d.yaml", "", "WRONG_TYPE", "", "expected an object"),
        ("d.yaml", "# nothing\n", "WRONG_TYPE", "", "expected an object"),
        ("d.yaml", 'a: ["\\ud800"]', "RESERVED_CHARACTER", "/a/0", "U+D800"),
        ("d.yaml", 'a: "\\ufdd2"\nb: {p}', "RESERVED_CHARACTER", "/a", "U+FDD2"),
        ("d.yaml", "a:\n  - {x: 1, x: 2}\n", "DUPLICATE_KEY", "/a/0", "'x'"),
    ],
)
def test_a_hostile_text_is_a_problem_with_its_place(tmp_path: Path, name: str, text: str, code: str, at: str, words: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = [p for p in load(tmp_path / name, {"p": 1}).problems if p.severity == "error"]
    assert [(p.code, p.at) for p in found] == [(code, at)]
    assert words in found[0].message
    assert len(str(found[0]).encode()) < 500


def test_texts_that_only_look_reserved(tmp_path: Path) -> None:
    assert tree_of(r'{"a": "\\ufdd0", "b": "\ud83e\udd86{p}"}', {"p": "x"}, tmp_path) == {"a": r"\ufdd0", "b": "🦆x"}
    assert tree_of("a: '\\ufdd0'\nb: \"\\ud83e\\udd86{p}\"\n", {"p": "x"}, tmp_path, ".yaml") == {"a": r"\ufdd0", "b": "🦆x"}
    assert tree_of("a: &a [1, 2]\nb: [*a, *a]\n", {}, tmp_path, ".yaml") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}


def test_what_no_document_can_hold_given_from_python() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    found = load({"min": "\ufdd05\ufdd1", "keys": {"\ud800": 1}, "n": [10**5000], "t": "{p}"}, {"p": "x"})
    assert [(p.code, p.at) for p in found.problems] == [("RESERVED_CHARACTER", "/min"), ("RESERVED_CHARACTER", "/keys"), ("WRONG_TYPE", "/n/0")]
    assert plain(found.tree["t"]) == "x"
    problem, = load(circle).problems
    assert (problem.code, problem.at) == ("WRONG_TYPE", "/a" * 100)


@pytest.mark.parametrize(
    ("value", "words"),
    [("\ud800", "reserved"), (["a", "\ufdd0"], "list that holds a text with a reserved"), (10**5000, "digits"), ([10**5000], "digits")],
    ids=["half", "mark in a list", "number", "number in a list"],
)
def test_parameters_that_no_document_can_hold(value: Any, words: str) -> None:
    problem, = load({"a": "{x}"}, {"x": value}).problems
    assert problem.code == "PARAMETER_TYPE" and words in problem.message


@pytest.mark.parametrize(("text", "value"), [('{"a": -{x}}', "Infinity"), ('{"a": 1{x}}', "0" * 5000), ('{"a": {x}{y}}', "[" * 100_000)])
def test_a_number_made_of_parameters_that_is_none(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "d.json").write_text(text)
    problem, *_ = load(tmp_path / "d.json", {"x": value, "y": ""}).problems
    assert (problem.code, problem.at) == ("WRONG_TYPE", "/a") and len(str(problem)) < 500


def test_the_place_of_a_syntax_error(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text('{\n  "a": 1\n  "b": 2\n}', encoding="utf-8")
    assert "(line 3, column 3)" in load(tmp_path / "d.json").problems[0].message


@pytest.mark.parametrize(("value", "words"), [({"a": 1}, "dict"), ([[1]], "list that holds a list"), (object(), "object"), (b"x", "bytes")])
def test_a_parameter_without_a_text_form_is_named(value: Any, words: str) -> None:
    problems = load({"a": "{x}"}, {"x": value}).problems
    assert [(p.code, p.facts["found"], p.facts["type"]) for p in problems] == [("PARAMETER_TYPE", "x", words)]


def test_placeholders_without_a_value_and_values_without_a_placeholder() -> None:
    found = load({"a": ["{since}", "{dya}"]}, {"sinse": 1, "day": 2}).problems
    assert [(p.code, p.at, p.severity) for p in found] == [
        ("PARAMETER_WITHOUT_VALUE", "/a/0", "error"),
        ("PARAMETER_WITHOUT_VALUE", "/a/1", "error"),
        ("PARAMETER_NOT_USED", "", "warning"),
        ("PARAMETER_NOT_USED", "", "warning"),
    ]
    assert "nearest: 'sinse'" in str(found[0])
    assert {p.severity for p in load({"a": "{since}"}, strict=False).problems} == {"warning"}


def test_inserted_text_is_never_scanned_again() -> None:
    loaded = load({"a": "{x} {y}"}, {"x": "{y} {{v}}", "y": "2"})
    assert render_text(sql_text(loaded.tree["a"]), {"v": "never"}, sql=True) == "{y} {{v}} 2"


# --- SQL -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("template", "value", "expected"),
    [
        ("n = '{x}'", "O'Brien", r"n = 'O\'Brien'"),
        ('n = "{x}"', 'a"b', r'n = "a\"b"'),
        ("`{x}` = 1", "a`b", "`a``b` = 1"),
        ("p = '{x}'", "C:\\new", r"p = 'C:\\new'"),
        ("{x} > 1", "a + b", "a + b > 1"),
        ("n IN ({x})", ["O'Brien", "b"], r"n IN ('O\'Brien', 'b')"),
        ("'it''s' = '{x}'", "'", r"'it''s' = '\''"),
        (r"'\'' = '{x}'", "'", r"'\'' = '\''"),
        ("a -- don't\n = '{x}'", "'", "a -- don't\n = '\\''"),
        ("a /* don't */ = '{x}'", "'", "a /* don't */ = '\\''"),
    ],
)
def test_a_parameter_is_escaped_for_the_quotes_around_it(template: str, value: Any, expected: str) -> None:
    assert sql_text(load({"q": template}, {"x": value}).tree["q"]) == expected


def test_fields_that_are_no_sql_are_not_escaped() -> None:
    assert plain(load({"m": "Don't {x}"}, {"x": "'"}).tree["m"]) == "Don't '"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "'x'"),
        ("O'Brien", r"'O\'Brien'"),
        (3, "3"),
        (Decimal("1.20"), "1.20"),
        (True, "TRUE"),
        (dt.date(2026, 1, 2), "DATE '2026-01-02'"),
        ([1, 2], "1, 2"),
        ([], "NULL"),
        (None, "NULL"),
        (dt.datetime(2026, 1, 2, 3, 4), "TIMESTAMP '2026-01-02 03:04:00'"),
        (["a", "b"], "'a', 'b'"),
        (Decimal("1E+3"), "1000"),
        (float("nan"), "double('nan')"),
    ],
)
def test_variables_become_literals_in_sql(value: Any, expected: str) -> None:
    assert literal(value) == expected
    assert render_text("x IN ({{ v }})", {"v": value}, sql=True) == f"x IN ({expected})"


def test_variables_are_words_elsewhere() -> None:
    assert render_text("/out/{{day}}/{{ids}}/{{later}}", {"day": dt.date(2026, 1, 2), "ids": [1, 2]}, sql=False) == "/out/2026-01-02/1, 2/{{later}}"
    assert render_text("n = '{{who}}'", {"who": "O'Brien"}, sql=True) == r"n = 'O\'Brien'"
    assert variables_in("{{a}} {b} {{ c }} ${{d}}") == ["a", "c"]


NASTY_CHARACTERS = "'\"`\\{}$ab\n-/*;\u00e9🦆 x"
NASTY = st.text(st.sampled_from(NASTY_CHARACTERS), max_size=12)


@settings(max_examples=300, deadline=None)
@given(value=NASTY, left=NASTY.filter(lambda t: not set(t) & set("'\"`\\{}$-/*")), suffix=st.sampled_from([".json", ".yaml"]))
def test_no_value_breaks_out_of_its_string(tmp_path_factory: pytest.TempPathFactory, value: str, left: str, suffix: str) -> None:
    file = tmp_path_factory.mktemp("fuzz") / f"d{suffix}"
    file.write_text(json.dumps({"a": left + "{x}", "b": [1]}, ensure_ascii=False), encoding="utf-8")
    loaded = load(file, {"x": value})
    assert render_text(plain(loaded.tree["a"]), {}, sql=False) == left + value
    assert loaded.tree["b"] == [1] and len(loaded.tree) == 2


def test_no_value_breaks_out_of_its_sql_literal(spark) -> None:
    random = Random(7)
    values = ["".join(random.choices(NASTY_CHARACTERS, k=random.randint(0, 12))) for _ in range(300)]
    document = {f"q{i}": f"{q}{{x{i}}}{q} AS c{i}" for i in range(len(values)) for q in ["'\""[i % 2]]}
    tree = load(document, {f"x{i}": v for i, v in enumerate(values)}).tree
    row = spark.sql("SELECT " + ", ".join(render_text(sql_text(t), {}, sql=True) for t in tree.values())).collect()[0]
    assert list(row) == values
    assert list(spark.sql("SELECT " + ", ".join(literal(v) for v in values)).collect()[0]) == values


# --- $include ------------------------------------------------------------------------------------------------------
def test_fragments_include_others_relative_to_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "shared" / "deep").mkdir(parents=True)
    (tmp_path / "shared" / "a.json").write_text('[{"type": "distinct"}, {"$include": "deep/b.yaml"}]')
    (tmp_path / "shared" / "deep" / "b.yaml").write_text("type: filter\ncondition: d = '{day}'\n")
    (tmp_path / "p.json").write_text(
        json.dumps(
            {
                "transformations": [{"$include": "shared/a.json"}, {"type": "join", "with_transformations": [{"$include": "shared/deep/b.yaml"}]}],
                "outputs": [{"transformations": [{"$include": "shared/a.json"}]}],
            }
        )
    )
    loaded = load(tmp_path / "p.json", {"day": "2026-01-02"})
    one, two = {"type": "distinct"}, {"type": "filter", "condition": "d = '2026-01-02'"}
    assert plain_tree(loaded.tree) == {
        "transformations": [one, two, {"type": "join", "with_transformations": [two]}],
        "outputs": [{"transformations": [one, two]}],
    }
    assert loaded.files["/transformations/1"].endswith("b.yaml") and not loaded.problems


def test_fragments_in_every_destination(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('[{"type": "distinct"}]')
    out = {"transformations": [{"$include": "f.json"}]}
    (tmp_path / "p.json").write_text(
        json.dumps({"validations": {"outputs": {"valid": out, "invalid": out}, "report": out, "rules": [{"type": "sql", "output": out}, 3]}, "output": out})
    )
    (tmp_path / "rules.json").write_text(json.dumps({"outputs": {"invalid": out}}))
    done = {"transformations": [{"type": "distinct"}]}
    loaded = load(tmp_path / "p.json")
    assert loaded.tree == {
        "validations": {"outputs": {"valid": done, "invalid": done}, "report": done, "rules": [{"type": "sql", "output": done}, 3]}, "output": done,
    }
    assert {"/validations/outputs/valid/transformations/0", "/validations/rules/0/output/transformations/0"} <= set(loaded.files)
    assert load(tmp_path / "rules.json").tree == {"outputs": {"invalid": done}}


def test_fragments_that_cannot_be_there(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing")
    for i in range(60):
        (tmp_path / f"{i}.json").write_text(json.dumps({"$include": f"{i + 1}.json"}))
    (tmp_path / "p.json").write_text(json.dumps({"transformations": [{"$include": n} for n in ("a\0b", "empty.yaml", "0.json")]}))
    found = load(tmp_path / "p.json").problems
    assert [p.code for p in found] == ["DOCUMENT_NOT_READABLE", "INCLUDE_NOT_STEPS", "WRONG_TYPE"]
    assert "a\\0b" in found[0].message and "\0" not in str(found[0])


def test_include_faults(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.json").write_text('{"$include": "y.json"}')
    (tmp_path / "in" / "y.json").write_text('{"$include": "x.json"}')
    (tmp_path / "in" / "n.json").write_text("3")
    steps = [
        {"$include": "x.json"},
        {"$include": "none.json"},
        {"$include": "../../etc/passwd"},
        {"$include": "n.json"},
        {"$include": "y.json", "type": "filter"},
        {"$include": 3},
    ]
    (tmp_path / "in" / "p.json").write_text(json.dumps({"transformations": steps}))
    found = load(tmp_path / "in" / "p.json", root=tmp_path / "in").problems
    assert [p.code for p in found] == ["INCLUDE_CYCLE", "INCLUDE_NOT_FOUND", "INCLUDE_OUTSIDE_ROOT", "INCLUDE_NOT_STEPS", "INCLUDE_MISPLACED", "WRONG_TYPE"]
    assert "x.json -> y.json -> x.json" in str(found[0])


def test_a_link_that_leaves_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.json").write_text('{"type": "distinct"}')
    (tmp_path / "root" / "link.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "root" / "p.json").write_text('{"transformations": [{"$include": "link.json"}]}')
    assert [p.code for p in load(tmp_path / "root" / "p.json", root=tmp_path / "root").problems] == ["INCLUDE_OUTSIDE_ROOT"]
