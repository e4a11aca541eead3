"""Data quality on its own: rules over a frame, with nothing but pyspark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from .columns import Columns
from .context import Run
from .custom import CustomRule
from .document import Rule
from .engine import Engine
from .errors import Problem, SparquetError, pointer
from .load import Loaded, load
from .quality import engine as quality
from .quality.metrics import RepeatedRows
from .registry import Registry
from .result import CheckResult
from .spec import Parse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class ColaSplit:
    """The two sides of a split: each row of the input is on exactly one of them."""

    valid: DataFrame
    invalid: DataFrame


class Cola:
    """Runs data-quality rules over a frame."""

    def __init__(self) -> None:
        self.registry = Registry()

    @property
    def available(self) -> list[str]:
        """The rule types that can be used."""
        return self.registry.names("validator")

    def register(self, name: str, cls: type) -> None:
        """Add a check of your own (a ``BaseCheck`` or ``BaseValidator``) under a type name."""
        self.registry.register("validator", name, cls)

    def run(self, df: DataFrame, rules: Iterable[Mapping[str, Any]]) -> list[CheckResult]:
        """Measure a frame by rules, each a mapping with ``type`` and its keys.

        Raises:
            SparquetError: with every defect, when the rules themselves are wrong. Bad data never raises.
        """
        placed = self._parse(rules)
        return quality.measure(df, quality.plan_rules(df, placed), self._context(df))

    def split(self, df: DataFrame, rules: Iterable[Mapping[str, Any]]) -> ColaSplit:
        """Split a frame by the row-level rules among ``rules``; a row is invalid when it breaks any of them."""
        context = self._context(df)
        flag, helpers = self._violation(df, self._parse(rules), context)
        from pyspark.sql import functions as F

        frame, drop = helpers
        bad = F.coalesce(flag, F.lit(False))
        return ColaSplit(frame.where(~bad).drop(*drop), frame.where(bad).drop(*drop))

    def _violation(self, df: DataFrame, rules: list[tuple[str, Rule]], context: Run) -> tuple[Column, tuple[DataFrame, list[str]]]:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        columns, flags, helpers = Columns.of(df), [F.lit(False)], []
        frame = df
        for at, rule in rules:
            found: Column | None = None
            if isinstance(rule, CustomRule):
                made = rule.make(context)
                found = made.violation(df) if hasattr(made, "violation") else None
            elif any(isinstance(m, RepeatedRows) for m in rule.metrics(columns)):
                name = f"__sparquet_repeats{at.replace('/', '_')}"
                keys = [F.expr(c) for m in rule.metrics(columns) if isinstance(m, RepeatedRows) for c in m.columns]
                counted = F.count(F.lit(1)) if rule.filter is None else F.count_if(F.expr(rule.filter))
                frame = frame.withColumn(name, counted.over(Window.partitionBy(*keys)) > 1)
                helpers.append(name)
                found = F.col(name)
            elif (violation := rule.violation(columns)) is not None:
                found = F.expr(violation)
            if found is not None:
                flags.append(F.coalesce(found if rule.filter is None else found & F.expr(rule.filter), F.lit(False)))
        return reduce(lambda a, b: a | b, flags), (frame, helpers)

    def _parse(self, rules: Iterable[Mapping[str, Any]]) -> list[tuple[str, Rule]]:
        loaded: Loaded = load({"rules": list(rules)}, strict=False)
        parse = Parse(self.registry, strict=False)
        placed = [(pointer(i), Rule.parse(raw, pointer(i), parse)) for i, raw in enumerate(loaded.tree["rules"])]
        errors = [p for p in parse.problems if p.severity == "error"]
        if errors:
            raise SparquetError.of(errors)
        return [(at, rule) for at, rule in placed if rule is not None]

    def _context(self, df: DataFrame) -> Run:
        spark = df.sparkSession
        return Run(spark, Engine(spark), dt.datetime.now(dt.timezone.utc), _no_reading, _no_steps)


def _no_reading(source: Any, run: Run) -> DataFrame:
    raise SparquetError.of(
        [Problem("INVALID_COMBINATION", run.at, {"reason": "rules outside of a pipeline read no other source", "remedy": "Use a pipeline document."})]
    )


def _no_steps(df: DataFrame, steps: Any, run: Run) -> DataFrame:
    return df
