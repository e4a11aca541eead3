"""Data quality on its own: rules over a frame, with nothing but pyspark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .connections import Connections
from .context import Run
from .document import Rule
from .engine import Engine
from .errors import Problem, SparquetError, nearest, pointer
from .faults import quiet_spark_errors
from .lint import check_formats
from .load import load
from .plan import explain_rules
from .quality import engine as quality
from .quality import profile
from .quality.report import results_frame
from .quality.split import flag, refuse_taken_names
from .registry import Registry
from .result import CheckResult
from .spec import Parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .document import Source


@dataclass(frozen=True)
class ColaSplit:
    """The two sides of a split: each row of the input is on exactly one of them."""

    valid: DataFrame
    invalid: DataFrame


class Cola:
    """Runs data-quality rules over a frame.

    ```python
    for result in Cola().run(df, [{"type": "missing_percent", "column": "cpf", "must_be": "< 5%", "warn": "= 0"}]):
        print(result)  # [WARN] missing_percent(cpf): missing_percent(cpf) = 2% satisfies must_be (< 5%) but breaks warn (= 0)
    ```

    ``connections`` are the servers that sources of rules name, as for ``Sparquet``.
    """

    def __init__(self, connections: Mapping[str, Any] | None = None) -> None:
        self._connections = dict(connections or {})
        self.registry = Registry()

    @property
    def available(self) -> list[str]:
        """The rule types that can be used."""
        return self.registry.names("validator")

    def register(self, name: str, cls: type) -> None:
        """Add a check of your own (a ``BaseCheck`` or ``BaseValidator``) under a type name."""
        self.registry.register("validator", name, cls)

    def run(self, df: DataFrame, rules: Iterable[Mapping[str, Any]], *, as_of: str | None = None, sample_rows: int = 0) -> list[CheckResult]:
        """Measure a frame by rules, each a mapping with ``type`` and its keys; one result a rule, in their order.

        Args:
            df: the frame.
            rules: the rules; an entry with ``targets`` stands for one rule each.
            as_of: the clock of freshness rules, as an ISO timestamp; now by default.
            sample_rows: how many failing rows each result may show; 0 keeps all data out of results.

        Raises:
            SparquetError: with every defect, when the rules themselves are wrong. Bad data never raises.
        """
        parsed = self._parse(rules)
        with quiet_spark_errors():
            planned = quality.plan_rules(df, parsed)
            results = quality.measure(df, planned, self._context(df, as_of))
            if sample_rows:
                quality.add_samples(planned, results, sample_rows)
        return results

    def split(
        self, df: DataFrame, rules: Iterable[Mapping[str, Any]], *, annotate: str | None = None, reasons: str | None = None, codes: Sequence[str] = ()
    ) -> ColaSplit:
        """Split a frame by the row-level rules among ``rules``; a row is invalid when it breaks any of them, whatever their thresholds.

        Args:
            df: the frame.
            rules: the rules; those that blame no single row (``avg``, ``schema`` …) take no part.
            annotate: a column of the invalid side with the codes of the broken rules, as array<string>.
            reasons: a column of the invalid side with the reasons in words, as array<string>.
            codes: narrows the rules to those codes.

        Raises:
            SparquetError: a rule is wrong or does not fit the columns.
        """
        refuse_taken_names(df, {"annotate": annotate, "reasons": reasons}, "")
        parsed = self._parse(rules)
        known = {quality.code_of(rule) for _, rule in parsed}
        unknown = [code for code in codes if code not in known]
        if unknown:
            raise SparquetError.of(Problem("WRONG_CHOICE", "/codes", {"found": c, "expected": sorted(known), "nearest": nearest(c, known)}) for c in unknown)
        flagged = flag(df, parsed, self._context(df), codes)
        return ColaSplit(flagged.valid(), flagged.invalid(annotate, reasons))

    def explain(self, rules: Iterable[Mapping[str, Any]]) -> list[str]:
        """Which rule is measured in which pass, in words; nothing runs."""
        return list(explain_rules([rule for _, rule in self._parse(rules)]))

    def suggest(self, df: DataFrame) -> list[dict[str, Any]]:
        """Rules that the frame satisfies now, from a profile in one pass, as a list to edit and keep."""
        return profile.suggest(df)

    def to_spark(self, spark: SparkSession, results: Iterable[CheckResult]) -> DataFrame:
        """Results as a Spark frame, one row a rule, in the columns of a report."""
        return results_frame(spark, list(results), dt.datetime.now(dt.timezone.utc))

    def to_pandas(self, results: Iterable[CheckResult]) -> Any:
        """Results as a pandas frame, one row a rule. Needs pandas."""
        import pandas

        return pandas.DataFrame([r.to_dict() for r in results])

    def _parse(self, rules: Iterable[Mapping[str, Any]]) -> list[tuple[str, Rule]]:
        loaded = load({"rules": list(rules)}, strict=False)
        parse = Parse(self.registry, strict=False)
        parsed = [(pointer(i), Rule.parse(raw, pointer(i), parse)) for i, raw in enumerate(loaded.tree["rules"])]
        found = [*loaded.problems, *parse.problems, *check_formats(parse, self.registry, unknown=False)]
        errors = [p for p in found if p.severity == "error"]
        if errors:
            raise SparquetError.of(errors)
        return [(at + inside, rule) for at, entry in parsed if entry is not None for inside, rule in entry.expanded()]

    def _context(self, df: DataFrame, as_of: str | None = None) -> Run:
        spark = df.sparkSession
        engine = Engine(spark)
        engine.hide_refusals()
        return Run(spark, engine, dt.datetime.now(dt.timezone.utc), self._read, _no_steps, as_of=as_of, connections=Connections(self._connections))

    def _read(self, source: Source, run: Run) -> DataFrame:
        df: DataFrame = self.registry.lookup("reader", source.format).read(source, run)
        return df


def _no_steps(df: DataFrame, steps: Any, run: Run) -> DataFrame:
    return df
