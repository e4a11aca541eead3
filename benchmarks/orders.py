"""The twelve columns that the benchmarks of data quality measure, and the facts that every tool has to find in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .harness import cache

#: From this size on the rows are kept between runs, for making them takes minutes.
KEPT = 10_000_000

EMAIL, PHONE = r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", r"^\+55[0-9]{10}$"
COUNTRIES = ("BR", "US", "DE", "FR", "ES", "PT", "IT", "NL", "PL", "SE")
STATUSES = ("new", "paid", "shipped", "done", "cancelled")
DOMAINS = ("example.com", "mail.org", "corp.net", "uni.edu")
KEYS = ("id", "order_code", "email")
BOUNDS = {"amount": (0, 10_000), "qty": (0, 19), "discount": (0, 1)}


def _hash(salt: str, values: int) -> str:
    return f"pmod(xxhash64(i, '{salt}'), {values})"


def _pick(salt: str, values: tuple[str, ...]) -> str:
    return f"element_at(array({quoted(values)}), CAST({_hash(salt, len(values))} + 1 AS int))"


def _null(expression: str, salt: str, per_thousand: int) -> str:
    return f"IF({_hash(salt, 1000)} < {per_thousand}, NULL, {expression})"


def quoted(values: tuple[str, ...]) -> str:
    """Texts as a list in SQL."""
    return ", ".join(f"'{v}'" for v in values)


#: One row of a thousand takes the key of the row seven before it.
_KEY = f"IF({_hash('dup', 1000)} = 0, greatest(i - 7, 0L), i)"
_COLUMNS = {
    "id": "k",
    "order_code": "concat('ORD-', hex(xxhash64(k, 'o')), lpad(CAST(k AS string), 9, '0'))",
    "cust_id": _null(f"CAST({_hash('c', 50_000)} AS int)", "nc", 10),
    "email": _null(f"IF({_hash('be', 100)} = 0, concat('bad.mail.', i), concat('user', {_hash('e', 3_000_000)}, '@', {_pick('dm', DOMAINS)}))", "ne", 20),
    "country": _null(f"IF({_hash('bc', 200)} = 0, 'XX', {_pick('co', COUNTRIES)})", "nco", 10),
    "status": _null(_pick("st", STATUSES), "ns", 15),
    "amount": _null(f"round({_hash('am', 1_000_000)} / 100D - IF({_hash('neg', 500)} = 0, 10000D, 0D), 2)", "na", 30),
    "qty": f"CAST({_hash('q', 20)} AS int)",
    "discount": _null(f"round({_hash('di', 60)} / 100D, 2)", "nd", 50),
    "order_date": f"date_add(DATE '2025-01-01', CAST({_hash('od', 365)} AS int))",
    "created_at": f"timestamp_seconds(1735689600 + {_hash('ca', 31_536_000)})",
    "phone": _null(f"concat('+55', lpad(CAST({_hash('ph', 1_000_000_000)} AS string), 10, '0'))", "np", 25),
}


def make(spark: Any, folder: Path, rows: int) -> Path:
    """The folder with the rows (:func:`read`) and the facts (:func:`facts`); made when it is not there yet."""
    place = (cache() / "bench-data" if rows >= KEPT else folder) / f"orders_{rows}"
    if not (place / "rows" / "_SUCCESS").exists():
        keyed = spark.range(0, rows, 1, max(2, rows // 1_250_000)).selectExpr("id AS i").selectExpr("i", f"{_KEY} AS k")
        keyed.selectExpr(*(f"{e} AS {c}" for c, e in _COLUMNS.items())).write.mode("overwrite").parquet(str(place / "rows"))
    if not (place / "facts.json").exists():
        (place / "facts.json").write_text(json.dumps(_count(read(spark, place)), indent=1))
    return place


def read(spark: Any, place: Path) -> Any:
    """The rows."""
    return spark.read.parquet(str(place / "rows"))


def facts(place: Path) -> dict[str, float]:
    """What is true of the rows, counted in the plainest way.

    ``null``, ``outside`` (its bounds), ``mismatched`` (its pattern) and ``other`` (than the listed values) name a column and
    count rows; ``… or null`` counts nulls too. ``distinct`` counts the values of a key that is not null, ``surplus`` its rows beyond
    them, ``repeated`` all rows whose key occurs more than once.
    """
    found: dict[str, float] = json.loads((place / "facts.json").read_text())
    return found


def row_facts() -> dict[str, str]:
    """The facts that are counts of single rows, as conditions in SQL; a null is none of the three."""
    return (
        {f"outside {c}": f"{c} < {low} OR {c} > {high}" for c, (low, high) in BOUNDS.items()}
        | {f"mismatched {c}": f"NOT {c} RLIKE r'{pattern}'" for c, pattern in (("email", EMAIL), ("phone", PHONE))}
        | {f"other {c}": f"{c} NOT IN ({quoted(values)})" for c, values in (("country", COUNTRIES), ("status", STATUSES))}
    )


def _count(df: Any) -> dict[str, float]:
    rows = row_facts()
    plain = {"rows": "count(*)"} | {f"null {c}": f"count_if({c} IS NULL)" for c in df.columns}
    plain |= {name: f"count_if({condition})" for name, condition in rows.items()}
    plain |= {"min amount": "min(amount)", "max qty": "max(qty)", "avg discount": "avg(discount)"}
    found = dict(zip(plain, df.selectExpr(*plain.values()).head(), strict=True))
    for name in rows:
        kind, column = name.split()
        found[f"{kind} or null {column}"] = found[name] + found[f"null {column}"]
    for key in KEYS:
        groups = df.where(f"{key} IS NOT NULL").groupBy(key).count()
        distinct, repeated = groups.selectExpr("count(*)", "coalesce(sum(IF(count > 1, count, 0)), 0)").head()
        present = found["rows"] - found[f"null {key}"]
        found |= {f"distinct {key}": distinct, f"surplus {key}": present - distinct, f"repeated {key}": repeated}
        found[f"surplus percent {key}"] = 100 * (present - distinct) / present
        found[f"surplus percent, null as a value, {key}"] = 100 * (found["rows"] - distinct - min(1, found[f"null {key}"])) / found["rows"]
    found["null percent discount"] = 100 * found["null discount"] / found["rows"]
    return found


def compare_facts(tool: str, found: dict[str, float], place: Path) -> None:
    """Fail when a tool found something else than is true: then it did other work."""
    true = facts(place)
    wrong = [f"{name} {value} instead of {true[name]}" for name, value in found.items() if abs(value - true[name]) > 1e-9 * max(1.0, abs(true[name]))]
    if wrong or not found:
        raise AssertionError(f"{tool} found {'; '.join(wrong) or 'nothing'}")
