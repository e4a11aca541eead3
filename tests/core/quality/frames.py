"""Small frames and the rules that fit them, drawn by Hypothesis: many repeats, nulls, NaN, limits of types and odd names."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tests.core.quality.oracle import CLOCK, ROW_LEVEL, THRESHOLD_OF_ROWS, World, measure
from tests.core.quality.words import is_floating, is_nan, is_numeric

Draw = Callable[[st.SearchStrategy[Any]], Any]
Rule = dict[str, Any]

UTC = dt.timezone.utc
ZONES = ("UTC", "America/Sao_Paulo", "Asia/Kolkata")
OTHER = "quality_other"
ROW = "row"

KINDS: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, -1, 7, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, 2, -5, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)],
    "double": [0.0, -0.0, 0.1, 0.2, 1.5, -2.25, 100.0, 1e15, math.nan],
    "decimal(38,18)": [Decimal(t) for t in ("0", "1e-18", "0.1", "1", "1.5", "-3", "123456789012345678.123456789012345678")],
    "decimal(10,2)": [Decimal(t) for t in ("0.00", "0.10", "1.00", "1.50", "-3.25", "99999999.99")],
    "string": [
        "a", "b", "A", "", " ", "abc", "12", "5", "-3", "10.5", "1e2", "é", "\U0001f600", "12\n", "NaN", "N/A", "true", "False", "550e8400-e29b-41d4-a716-446655440000",
    ],
    "boolean": [True, False],
    "date": [dt.date(2024, 1, 1), dt.date(2024, 2, 29), dt.date(2023, 12, 31), dt.date(2018, 11, 4), dt.date(1970, 1, 1), dt.date(2024, 6, 1)],
    "timestamp": [
        dt.datetime(2024, 1, 1, tzinfo=UTC),
        dt.datetime(2024, 1, 1, 2, 59, 59, 999999, tzinfo=UTC),
        dt.datetime(2023, 12, 31, 18, 30, tzinfo=UTC),
        dt.datetime(2018, 11, 4, 3, tzinfo=UTC),
        CLOCK - dt.timedelta(hours=30),
        CLOCK + dt.timedelta(minutes=4),
        CLOCK + dt.timedelta(minutes=6),
    ],
}  # fmt: skip
NAMES = ("n", "Order Number", "preço", "select", "UPPER", "a.b", "x'y", "t", "_1", "1st")
PATTERNS = ("^[0-9]+$", "a", "^$", "[A-Z]", r"^\d+(\.\d+)?$", "b|e", r"\s")
#: What rules compare with; JSON has no decimals, so these are what a person writes.
LITERALS: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, -1, 2**31 - 1, 2.5],
    "bigint": [0, 1, -5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1.5],
    "double": [0, 0.1, 0.2, 1.5, -2.25, 100, 1e15],
    "decimal(38,18)": [0, 0.1, 1, 1.5, -3, 2],
    "decimal(10,2)": [0, 0.1, 1, 1.5, -3.25, 99999999.99],
    "string": ["a", "A", "", "abc", "12", "NaN", "N/A", "é", "true"],
    "boolean": [True, False],
    "date": ["2024-01-01", "2024-02-29", "2023-12-31", "2018-11-04"],
    "timestamp": ["2024-01-01 00:00:00", "2023-12-31T18:30:00+00:00", "2018-11-04 01:00:00"],
}


@dataclass(frozen=True)
class Frame:
    """Rows with their columns' types, the session's time zone, and another table (the view ``OTHER``)."""

    schema: dict[str, str]
    rows: list[dict[str, Any]]
    world: World

    def of(self, test: Callable[[str], bool]) -> list[str]:
        """The columns of such types; the row's number is no rule's business."""
        return [c for c, kind in self.schema.items() if c != ROW and test(kind)]

    @property
    def plain(self) -> list[str]:
        """The columns that can be compared."""
        return self.of(lambda kind: kind in KINDS)


# --- frames -------------------------------------------------------------------------------------------------------------
@st.composite
def frames(draw: Draw) -> Frame:
    """A frame of 0 to 12 rows; at least one number and one text among its columns."""
    kinds = [draw(st.sampled_from([k for k in KINDS if is_numeric(k)])), "string", *draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))]
    names = draw(st.permutations(NAMES))[: len(kinds)]
    schema = dict(zip(names, kinds, strict=True))
    if "a.b" in schema and draw(st.booleans()):
        schema["a"] = "struct<b:int>"
    columns = {c: draw(_values(kind)) for c, kind in schema.items()}
    count = draw(st.sampled_from([0, 1, 1, 2, 3, 4, 6, 9, 12]))
    rows = [{c: draw(columns[c]) for c in schema} for _ in range(count)]
    other = [{c: draw(columns[c]) for c in schema} for _ in range(draw(st.integers(0, 4)))]
    tables = {OTHER: (dict(schema), other)}
    if draw(st.booleans()):
        schema = {**schema, ROW: "int"}
        rows = [{**row, ROW: i} for i, row in enumerate(rows)]
    return Frame(schema, rows, World(zone=draw(st.sampled_from(ZONES)), tables=tables))


@st.composite
def _values(draw: Draw, kind: str) -> st.SearchStrategy[Any]:
    """The values of one column: a few of its type's, or nulls only."""
    if kind.startswith("struct"):
        return st.sampled_from([None, {"b": None}, {"b": 1}])
    few = draw(st.lists(st.sampled_from(KINDS[kind]), min_size=1, max_size=5, unique_by=repr))
    style = draw(st.sampled_from(["nulls", "some", "some", "some", "none"]))
    return st.none() if style == "nulls" else st.sampled_from([*few, *([None] if style == "some" else [])])


# --- thresholds ---------------------------------------------------------------------------------------------------------
@st.composite
def thresholds(
    draw: Draw, value: Any, exact: bool, zone: str, unit: str = "", signs: tuple[str, ...] = (">", ">=", "<", "<=", "=", "!=", "between", "not between")
) -> str:
    """A threshold whose operands lie at the value and around it; of an inexact value they keep a distance."""
    operands = st.sampled_from(_operands(value, exact, zone))
    sign = draw(st.sampled_from(signs))
    if "between" in sign:
        low, high = sorted([draw(operands), draw(operands)], key=_place)
        return f"{sign.upper() if draw(st.booleans()) else sign} {low}{unit} and {high}{unit}"
    return f"{sign}{draw(st.sampled_from(['', ' ', '  ']))}{draw(operands)}{unit}"


def _place(operand: str) -> Any:
    """For sorting the ends of an interval."""
    return Fraction(operand) if operand[0] in "+-0123456789" and ("-" not in operand[1:5] or "e" in operand) else operand.strip("'")


def _operands(value: Any, exact: bool, zone: str) -> list[str]:
    if isinstance(value, str):
        return [f"'{t}'" for t in ([value] if not set(value) & set("'\n ") and value else []) + ["a", "5", "N/A"]]
    if isinstance(value, dt.datetime):
        from zoneinfo import ZoneInfo

        near = [value + dt.timedelta(seconds=s) for s in (-1, 0, 1, 86400)]
        local = [str(n.astimezone(ZoneInfo(zone)).replace(tzinfo=None)) for n in near]
        return [*local, *(f"'{t}'" for t in local), "2024-01-01"]
    if isinstance(value, dt.date):
        local = [(value + dt.timedelta(days=d)).isoformat() for d in (-1, 0, 1)]
        return [*local, *(f"'{t}'" for t in local)]
    fixed = ["0", "1", "-1", "50", "1e3", "-2.5", "+2"]
    if value is None or is_nan(value) or (isinstance(value, float) and math.isinf(value)):
        return fixed
    if isinstance(value, float):
        return [*fixed, *([repr(value), repr(value + 1), repr(value - 1)] if exact else _clear([*fixed, repr(value + 1), repr(value * 1.5 - 0.25)], value))]
    number = Fraction(value)
    around = [text for n in (number, number + 1, number - 1) if (text := _digits(n)) is not None]
    if exact and around:
        return [*fixed, *around]
    return _clear([*fixed, *around[1:], str(math.floor(number)), str(math.ceil(number))], float(number))


def _clear(texts: list[str], value: float) -> list[str]:
    """Those that stand off the value far enough for a sum in another order."""
    return [t for t in texts if abs(float(t) - value) > 1e-5 * max(1, abs(value))] or ["1e300"]


def _digits(number: Fraction) -> str | None:
    """All digits of a number, None when they have no end within eighteen places."""
    whole = number * 10**18
    if whole.denominator != 1:
        return None
    sign, digits = "-" if whole < 0 else "", f"{abs(whole.numerator):019d}"
    return f"{sign}{digits[:-18]}.{digits[-18:]}".rstrip("0").rstrip(".")


# --- predicates ---------------------------------------------------------------------------------------------------------
@st.composite
def predicates(draw: Draw, frame: Frame) -> str:
    """A SQL predicate of the oracle's kind."""
    return " AND ".join(draw(st.lists(_atoms(frame), min_size=1, max_size=2)))


@st.composite
def _atoms(draw: Draw, frame: Frame) -> str:
    name = draw(st.sampled_from(frame.plain))
    quoted, kind = f"`{name}`", frame.schema[name]
    form = draw(st.sampled_from(["compare", "compare", "IS NULL", "IS NOT NULL", "TRUE"]))
    if form != "compare":
        return form if form == "TRUE" else f"{quoted} {form}"
    sign = draw(st.sampled_from(["=", "<>", "<", ">="]))
    literal = draw(st.sampled_from(LITERALS[kind]))
    if kind == "boolean":
        return f"{quoted} {draw(st.sampled_from(['=', '<>']))} {str(literal).upper()}"
    if kind in ("date", "timestamp"):
        return f"{quoted} {sign} {kind.upper()} '{literal}'"
    return f"{quoted} {sign} '{literal}'" if kind == "string" else f"{quoted} {sign} {literal!r}"


# --- rules --------------------------------------------------------------------------------------------------------------
@st.composite
def suites(draw: Draw, frame: Frame) -> list[Rule]:
    """Rules of most types, and a few that cannot run; each with a code of its own."""
    found = [rule for kind in MAKERS for _ in range(draw(st.sampled_from([0, 1, 1, 1]))) if (rule := draw(_rule(frame, kind))) is not None]
    breakable = [rule for rule in found if rule["type"] not in ("schema", "row_count", "sql")] or [{"type": "not_null", "column": "nope"}]
    broken = draw(st.lists(st.sampled_from(breakable), min_size=2, max_size=4))
    found += [draw(_broken(rule)) for rule in broken]
    return [{**rule, "code": f"r{i}"} for i, rule in enumerate(found)]


@st.composite
def _rule(draw: Draw, frame: Frame, kind: str) -> Rule | None:
    keys = MAKERS[kind](draw, frame, kind)
    if keys is None:
        return None
    rule = {"type": kind, **keys}
    if kind != "schema" and draw(st.integers(0, 2)) == 0:
        rule["filter"] = draw(predicates(frame))
    if kind in ROW_LEVEL and kind not in THRESHOLD_OF_ROWS:
        return rule
    if kind in ("schema", "sql"):
        return rule
    return {**rule, **draw(_limits(frame, rule))}


@st.composite
def _broken(draw: Draw, rule: Rule) -> Rule:
    """The rule with a column that is not there."""
    place = draw(st.sampled_from([k for k in ("columns", "column", "other", "by") if k in rule] or ["filter"]))
    if place == "filter":
        return {**rule, "filter": "`nope` IS NULL"}
    old = rule[place]
    return {**rule, place: [*old[:-1], "nope"] if isinstance(old, list) else "nope"}


@st.composite
def _limits(draw: Draw, frame: Frame, rule: Rule) -> Rule:
    """``must_be``, ``warn`` or both, near what the rule measures."""
    kind = rule["type"]
    if kind == "freshness":
        texts: st.SearchStrategy[str] = st.sampled_from(["< 1d", "<= 30h", "< 1d 12h", "> 2w", "between 1h and 60d", "<= 1.5D", ">= 10s", "< 120m"])
    else:
        unit = draw(st.sampled_from(["", "%", " %"])) if kind.endswith("percent") or kind in ("completeness", "reconciliation") else ""
        value = measure(frame.rows, frame.schema, {**rule, "must_be": f"< 1{unit}"}, frame.world).value
        signs = (">", ">=") if kind == "completeness" else (">", ">=", "<", "<=", "=", "!=", "between", "not between")
        if isinstance(value, bool):
            return {"must_be": "= 'true'"}
        texts = thresholds(value, _is_exact(frame, rule), frame.world.zone, unit, signs)
    keys = draw(st.sampled_from([("must_be",), ("must_be", "warn"), ("warn",)]))
    if kind == "reconciliation":
        keys = ("must_be",) if unit else draw(st.sampled_from([(), keys]))
        keys = () if keys == ("warn",) else keys
    limits: Rule = {key: draw(texts) for key in keys}
    if kind in ("min", "max", "avg", "sum", "stddev", "freshness", "quantile"):
        limits.update({"on_empty": e} if (e := draw(st.sampled_from([None, None, "fail", "warn", "pass"]))) else {})
    return limits


def _is_exact(frame: Frame, rule: Rule) -> bool:
    """The value of the metric has no rounding, so that a threshold may stand upon it."""
    if rule["type"] in ("stddev", "quantile"):
        return False
    floating = "column" in rule and isinstance(rule["column"], str) and is_floating(frame.schema.get(rule["column"], ""))
    if rule["type"] == "avg":
        values = [row[rule["column"]] for row in frame.rows if row[rule["column"]] is not None]
        return not floating and all(abs(v) < 10**12 for v in values) and frame.schema[rule["column"]] != "decimal(38,18)"
    return rule["type"] != "sum" or not floating


def _column(draw: Draw, names: list[str]) -> Rule | None:
    """One column under either key, None when there is no such column."""
    return draw(st.sampled_from([{"column": n} for n in names] + [{"columns": n} for n in names])) if names else None


def _columns(draw: Draw, frame: Frame, least: int = 1, most: int = 2) -> Rule:
    found = draw(st.lists(st.sampled_from(frame.plain), min_size=least, max_size=most, unique=True))
    return {draw(st.sampled_from(["columns", "columns", "column"])): found} if len(found) > 1 else {"column": found[0]}


def _named(draw: Draw, frame: Frame, kind: str) -> Rule:
    return _columns(draw, frame)


def _range(draw: Draw, frame: Frame, kind: str) -> Rule:
    name = draw(st.sampled_from(frame.of(lambda k: is_numeric(k) or k == "string")))
    return {"column": name, **_bounds(draw, frame.schema[name], "min", "max")}


def _bounds(draw: Draw, kind: str, low: str, high: str) -> Rule:
    choices = st.sampled_from(LITERALS["int"] if kind == "string" else LITERALS[kind])
    ends = sorted([draw(choices), draw(choices)])
    return draw(st.sampled_from([{low: ends[0]}, {high: ends[1]}, {low: ends[0], high: ends[1]}]))


def _regex(draw: Draw, frame: Frame, kind: str) -> Rule:
    return {"column": draw(st.sampled_from(frame.of(lambda k: k == "string"))), "pattern": draw(st.sampled_from(PATTERNS))}


def _row_count(draw: Draw, frame: Frame, kind: str) -> Rule:
    size = len(frame.rows)
    return draw(st.sampled_from([{}, {}, {"min": size}, {"min": size + 1}, {"max": size}, {"min": 1, "max": 5}]))


def _sql(draw: Draw, frame: Frame, kind: str) -> Rule:
    condition = draw(predicates(frame))
    count = draw(st.integers(0, 3))
    queries = [
        f"SELECT COUNT(*) = {count} FROM _validation_df WHERE {condition}",
        f"SELECT COUNT(*) >= {count} FROM _validation_df",
        "SELECT CAST(NULL AS BOOLEAN)",
        "SELECT TRUE WHERE FALSE",
    ]
    rows = {"failed_rows": f"SELECT * FROM _validation_df WHERE {condition}"}
    return draw(st.sampled_from([rows, *({"query": q} for q in queries[:2]), rows, *({"query": q} for q in queries)]))


def _entries(draw: Draw, kinds: list[str], nulls: bool = True) -> list[Any]:
    """A list of values for columns of these types."""
    choices = [v for kind in kinds for v in LITERALS[kind]] + (["NaN"] if any(map(is_floating, kinds)) else [])
    found = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=4, unique_by=repr))
    return [*found, None] if nulls and draw(st.integers(0, 3)) == 0 else found


def _like(draw: Draw, frame: Frame) -> tuple[Rule, str]:
    """One column, or two of one type."""
    name = draw(st.sampled_from(frame.plain))
    kind = frame.schema[name]
    same = [c for c in frame.of(lambda k: k == kind) if c != name]
    names = [name, draw(st.sampled_from(same))] if same and draw(st.booleans()) else [name]
    return {"columns": names} if len(names) > 1 else {"column": name}, kind


def _missing(draw: Draw, frame: Frame, kind: str) -> Rule:
    where, of = _like(draw, frame)
    return {**where, **({"missing_values": _entries(draw, [of], nulls=False)} if draw(st.booleans()) else {})}


def _invalid(draw: Draw, frame: Frame, kind: str) -> Rule:
    where, of = _like(draw, frame)
    options: list[Callable[[], Rule]] = [
        lambda: {"valid_values": [v for v in _entries(draw, [of]) if v != "NaN" or of == "string"] or [None]},
        lambda: {"invalid_values": [v for v in _entries(draw, [of]) if v != "NaN" or of == "string"] or [None]},
    ]
    if is_numeric(of) or of == "string":
        options.append(lambda: _bounds(draw, of, "valid_min", "valid_max"))
    if of == "string":
        options += [
            lambda: {"valid_format": draw(st.sampled_from(["integer", "boolean", "uuid"]))},
            lambda: {"valid_regex": draw(st.sampled_from(PATTERNS))},
            lambda: {"valid_length": draw(st.integers(0, 3))},
            lambda: {"valid_min_length": draw(st.integers(0, 2))},
            lambda: {"valid_max_length": draw(st.integers(1, 5))},
        ]
    keys: Rule = {}
    for option in draw(st.lists(st.sampled_from(range(len(options))), min_size=1, max_size=2, unique=True)):
        keys.update(options[option]())
    if draw(st.integers(0, 3)) == 0:
        keys["missing_values"] = _entries(draw, [of], nulls=False)
    return {**where, **keys}


def _number(draw: Draw, frame: Frame, kind: str) -> Rule | None:
    return {"column": draw(st.sampled_from(frame.of(is_numeric)))}


def _extreme(draw: Draw, frame: Frame, kind: str) -> Rule:
    return {"column": draw(st.sampled_from(frame.of(lambda k: k in KINDS and k != "boolean")))}


def _freshness(draw: Draw, frame: Frame, kind: str) -> Rule | None:
    names = frame.of(lambda k: k in ("date", "timestamp"))
    if not names:
        return None
    clock = draw(st.sampled_from([{}, *({"as_of": t} for t in ("2024-06-01T00:00:00+00:00", "2024-06-01T00:00:00Z", "2024-05-31 21:00:00"))]))
    future = draw(st.sampled_from([{}, {}, {"allow_future": True}, {"allow_future": False}]))
    return {"column": draw(st.sampled_from(names)), **clock, **future}


def _schema(draw: Draw, frame: Frame, kind: str) -> Rule:
    names = st.lists(st.sampled_from([*frame.plain, "nope", "none"]), max_size=3, unique=True)
    spelt = {"int": ["int", "INTEGER"], "bigint": ["long", "BigInt"], "string": ["str", "STRING"]}
    types = {}
    for name in draw(st.lists(st.sampled_from(frame.plain), max_size=3, unique=True)):
        own = frame.schema[name]
        types[name] = draw(st.sampled_from([*spelt.get(own, [own]), own, draw(st.sampled_from(list(KINDS)))]))
    required = draw(names)
    forbidden = [name for name in draw(names) if name not in required and name not in types]
    keys: Rule = {"required_columns": required, "forbidden_columns": forbidden, "column_types": types}
    keys = {k: v for k, v in keys.items() if v} or {"required_columns": ["nope"]}
    return {**keys, **({"strict_types": True} if types and draw(st.booleans()) else {})}


def _accepted(draw: Draw, frame: Frame, kind: str) -> Rule:
    where, of = _like(draw, frame)
    return {**where, "values": [v for v in _entries(draw, [of]) if v != "NaN" or of == "string"] or LITERALS[of][:2]}


def _comparison(draw: Draw, frame: Frame, kind: str) -> Rule | None:
    pairs = [(a, b) for a in frame.plain for b in frame.plain if a != b and _comparable(frame.schema[a], frame.schema[b])]
    if not pairs:
        return None
    a, b = draw(st.sampled_from(pairs))
    return {"column": a, "operator": draw(st.sampled_from(["<", "<=", "=", "!=", ">=", ">"])), "other": b}


def _comparable(a: str, b: str) -> bool:
    exact = ("int", "bigint", "decimal(38,18)", "decimal(10,2)")
    return a == b or {a, b} == {"int", "double"} or {a, b} == {"date", "timestamp"} or (a in exact and b in exact)


def _conditional(draw: Draw, frame: Frame, kind: str) -> Rule:
    return {**_columns(draw, frame), "when": draw(predicates(frame))}


def _exclusive(draw: Draw, frame: Frame, kind: str) -> Rule:
    found = draw(st.lists(st.sampled_from(frame.plain), min_size=2, max_size=3, unique=True))
    return {"columns": found, **draw(st.sampled_from([{}, {"exactly_one": True}, {"exactly_one": False}]))}


def _foreign(draw: Draw, frame: Frame, kind: str) -> Rule:
    where = _columns(draw, frame)
    source = {"format": "view", "path": OTHER}
    names = next(iter(where.values()))
    if draw(st.booleans()):
        return {**where, "source": source, "source_columns": names}
    return {**where, "source": source}


def _quantile(draw: Draw, frame: Frame, kind: str) -> Rule:
    keys = {"quantile": draw(st.sampled_from([0, 0.1, 0.25, 0.5, 0.75, 0.95, 1]))}
    return {"column": draw(st.sampled_from(frame.of(is_numeric))), **keys, **draw(st.sampled_from([{}, {"exact": True}]))}


def _completeness(draw: Draw, frame: Frame, kind: str) -> Rule:
    by = draw(st.lists(st.sampled_from(frame.plain), min_size=1, max_size=2, unique=True))
    return {**_columns(draw, frame), "by": by}


def _reconciliation(draw: Draw, frame: Frame, kind: str) -> Rule:
    # The expression is the author's: a sum that its type does not hold is an error there.
    numbers = frame.of(lambda k: is_numeric(k) and not is_floating(k))
    texts = ["count(*)", *(f"{f}(`{c}`)" for c in numbers for f in ("sum", "max", "count") if f != "sum" or frame.schema[c] != "bigint")]
    keys = {"expression": draw(st.sampled_from(texts)), "source": {"format": "view", "path": OTHER}}
    return {**keys, **({"source_expression": draw(st.sampled_from(texts))} if draw(st.booleans()) else {})}


MAKERS: dict[str, Callable[[Draw, Frame, str], Rule | None]] = {
    "not_null": _named,
    "unique": _named,
    "range": _range,
    "regex": _regex,
    "row_count": _row_count,
    "sql": _sql,
    "missing_count": _missing,
    "missing_percent": _missing,
    "invalid_count": _invalid,
    "invalid_percent": _invalid,
    "duplicate_count": _named,
    "duplicate_percent": _named,
    "distinct_count": _named,
    "min": _extreme,
    "max": _extreme,
    "avg": _number,
    "sum": _number,
    "stddev": _number,
    "freshness": _freshness,
    "schema": _schema,
    "accepted_values": _accepted,
    "column_comparison": _comparison,
    "conditional_not_null": _conditional,
    "mutually_exclusive": _exclusive,
    "foreign_key": _foreign,
    "quantile": _quantile,
    "completeness": _completeness,
    "reconciliation": _reconciliation,
}
