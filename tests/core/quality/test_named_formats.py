"""The named formats: what they accept and reject, in as few Spark jobs as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from string import ascii_uppercase, digits

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sparquet_provider.core.quality.named_formats import FORMATS, NAMES, predicate

CASES: dict[str, dict[str, list[str]]] = yaml.load(
    (Path(__file__).parents[2] / "cases" / "formats_named.yaml").read_text(encoding="utf-8"),
    yaml.BaseLoader,  # noqa: S506 - makes texts of all scalars
)
BLANKS = (" ", "\n", "\r\n", "\t", "\u00a0", "\u2028")


def verdicts(spark, asked: Iterable[tuple[str, str]], column: str = "text") -> dict[tuple[str, str], bool | None]:
    """What the predicates say of texts, one job for all pairs of format and text."""
    from pyspark.sql import functions as F

    pairs = list(asked)
    names = sorted({name for name, _ in pairs})
    cases = " ".join(f"WHEN '{name}' THEN {predicate(name, column)}" for name in names)
    df = spark.createDataFrame(pairs, "name string, text string").repartition(2)
    return {(r.name, r.text): r.verdict for r in df.select("name", "text", F.expr(f"CASE name {cases} END AS verdict")).collect()}


def test_every_format_has_cases() -> None:
    assert list(CASES) == list(NAMES)
    for name, case in CASES.items():
        assert min(len(case["accepts"]), len(case["rejects"])) >= 6, name


def test_the_cases(spark) -> None:
    expected: dict[tuple[str, str], bool] = {}
    for f in FORMATS:
        accepted, rejected = [*CASES[f.name]["accepts"], f.example], [*CASES[f.name]["rejects"], f.counterexample]
        assert not set(accepted) & set(rejected)
        expected |= {(f.name, text): False for text in [*rejected, "", *BLANKS, "\x00", "é" * 20, "𝟙" * 11]}
        expected |= {(f.name, text): True for text in accepted}
        expected |= {(f.name, text): False for a in accepted for b in BLANKS for text in (a + b, b + a)}
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    found = verdicts(spark, expected)
    assert {k: v for k, v in found.items() if v is not expected[k]} == {}
    assert len(found) == len(expected)


def test_long_texts_end_neither_the_matcher_nor_the_arithmetic(spark) -> None:
    n = 100_000
    long = {
        "email": "a." * n + "a@b.co", "uuid": "a-" * n, "cpf": "1" * n, "cnpj": "A" * n, "date": "2024-01-01" * n, "timestamp": "2024-01-01T" * n,
        "time": "00:00:" * n, "phone": "1-" * n + "1", "integer": "1" * n, "decimal": "1." + "1" * n, "number": "1" * n + "e" + "1" * n,
        "url": "https://a.b/" + "%41/" * n, "ip": "1." * n, "ipv4": "1." * n, "ipv6": "1:" * n, "boolean": "true" * n, "alphanumeric": "a" * n,
        "credit_card": "1 " * n + "1", "iban": "GB82 " * n, "country_code": "BR" * n, "currency": "BRL" * n, "hex": "f" * n, "json": "[" * n,
        "base64": "QUJD" * n, "slug": "a-" * n + "a",
    }  # fmt: skip
    found = verdicts(spark, long.items())
    accepted = {"integer", "decimal", "number", "url", "alphanumeric", "hex", "base64", "slug"}
    assert {name: v for (name, _), v in found.items()} == {name: name in accepted for name in NAMES}


def test_a_collation_changes_nothing_and_null_has_no_format(spark) -> None:
    rejected = [("country_code", "br"), ("boolean", "on"), ("cnpj", "12abc34501de35"), ("iban", "gb82west12345698765432"), ("cpf", "x")]
    for collation in ("UTF8_LCASE", "UNICODE_CI"):
        assert set(verdicts(spark, rejected, f"collate(text, '{collation}')").values()) == {False}
    row = spark.sql(f"SELECT {', '.join(predicate(name, 'CAST(NULL AS STRING)') for name in NAMES)}").first()
    assert True not in set(row)


def test_names_have_no_case() -> None:
    assert predicate("CPF", "x") == predicate("cpf", "x")
    with pytest.raises(KeyError):
        predicate("cfp", "x")


# --- check digits, computed once more -------------------------------------------------------------------------------
def _modulo_11(values: list[int], weights: Iterable[int]) -> int:
    rest = sum(v * w for v, w in zip(values, weights, strict=True)) % 11
    return 0 if rest < 2 else 11 - rest


def cpf_is_right(text: str) -> bool:
    values = [int(c) for c in text]
    first, second = _modulo_11(values[:9], range(10, 1, -1)), _modulo_11(values[:10], range(11, 1, -1))
    return len(set(text)) > 1 and values[9:] == [first, second]


def cnpj_is_right(text: str) -> bool:
    values = [ord(c) - 48 for c in text]
    weights = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6]
    first, second = _modulo_11(values[:12], weights[11::-1]), _modulo_11(values[:13], weights[::-1])
    return len(set(text)) > 1 and values[12:] == [first, second]


def luhn_is_right(text: str) -> bool:
    doubled = [int(c) * (1 + i % 2) for i, c in enumerate(reversed(text))]
    return sum(d // 10 + d % 10 for d in doubled) % 10 == 0 and int(text) > 0


def iban_is_right(text: str) -> bool:
    number = int("".join(str(int(c, 36)) for c in text[4:] + text[:4]))
    return number % 97 == 1 and text[2:4] not in ("00", "01", "99")


def _completed(body: st.SearchStrategy[str], ends: Callable[[str], Iterable[str]], is_right: Callable[[str], bool]) -> st.SearchStrategy[str]:
    """Numbers half of which have right check digits: of the possible endings, the right one or any."""

    def complete(drawn: tuple[str, bool, int]) -> str:
        possible = list(ends(drawn[0]))
        return next((t for t in possible if drawn[1] and is_right(t)), possible[drawn[2] % len(possible)])

    return st.tuples(body, st.booleans(), st.integers(0, 99)).map(complete)


def _two_digits(body: str) -> list[str]:
    return [f"{body}{i:02d}" for i in range(100)]


_ALL = digits + ascii_uppercase
_BBANS = [("BR", 8, 15, 2), ("LC", 28, 0, 0), ("GT", 24, 0, 0), ("DE", 0, 18, 0), ("NO", 0, 11, 0), ("MD", 20, 0, 0), ("BY", 4, 4, 16)]


@st.composite
def _bban(draw: st.DrawFn) -> str:
    country, before, middle, after = draw(st.sampled_from(_BBANS))
    head = draw(st.text(ascii_uppercase if country == "LC" else _ALL, min_size=before, max_size=before))
    return country + head + draw(st.text(digits, min_size=middle, max_size=middle)) + draw(st.text(_ALL, min_size=after, max_size=after))


NUMBERS = {
    "cpf": (_completed(st.text(digits, min_size=9, max_size=9), _two_digits, cpf_is_right), cpf_is_right),
    "cnpj": (_completed(st.text(digits, min_size=12, max_size=12) | st.text(_ALL, min_size=12, max_size=12), _two_digits, cnpj_is_right), cnpj_is_right),
    "credit_card": (_completed(st.text(digits, min_size=11, max_size=18), lambda b: [b + d for d in digits], luhn_is_right), luhn_is_right),
    "iban": (_completed(_bban(), lambda b: [f"{b[:2]}{i:02d}{b[2:]}" for i in range(100)], iban_is_right), iban_is_right),
}


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_check_digits_are_those_of_plain_python(spark, name: str, data: st.DataObject) -> None:
    strategy, is_right = NUMBERS[name]
    texts = set(data.draw(st.lists(strategy, min_size=40, max_size=200)))
    found = verdicts(spark, [(name, text) for text in texts])
    assert {t: found[name, t] for t in texts} == {t: is_right(t) for t in texts}
