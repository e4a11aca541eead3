"""Valid and invalid rows: every row is on exactly one side, whatever its nulls, NaN and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from ..columns import Columns, addressable
from ..custom import CustomRule
from ..document import Rule
from ..errors import Problem, SparquetError
from ..faults import translate
from .engine import code_of, extension_fault
from .metrics import Keys, Partnerless
from .sources import keys_elsewhere

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: The column that tells the sides apart while both are written in one job.
FLAG = "__sparquet_invalid"

#: How the names of columns begin that a split adds and takes away again.
RESERVED = "__sparquet_"


@dataclass
class Flagged:
    """A frame whose rows are judged: ``broken`` has one predicate a rule, never null; ``helpers`` are columns that it needs and nobody else wants."""

    frame: DataFrame
    names: list[str]
    broken: list[tuple[Rule, Column]] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)

    @property
    def bad(self) -> Column:
        """True when a row breaks any rule."""
        from pyspark.sql import functions as F

        columns = [column for _, column in self.broken] or [F.lit(False)]
        # In pairs: a long chain would be too deep for the optimizer.
        while len(columns) > 1:
            columns = [reduce(lambda a, b: a | b, columns[i : i + 2]) for i in range(0, len(columns), 2)]
        return columns[0]

    def valid(self) -> DataFrame:
        """The rows that break no rule, with the columns of the input."""
        return self._named(self.frame.where(~self.bad))

    def invalid(self, annotate: str | None = None, reasons: str | None = None) -> DataFrame:
        """The rows that break a rule; ``annotate`` and ``reasons`` name columns for the codes and the words."""
        return self._named(self.annotated(self.frame.where(self.bad), annotate, reasons))

    def both(self, annotate: str | None = None, reasons: str | None = None) -> DataFrame:
        """All rows with the flag; codes and words are null for valid rows."""
        from pyspark.sql import functions as F

        return self._named(self.annotated(self.frame.withColumn(FLAG, self.bad), annotate, reasons, F.col(FLAG)))

    def _named(self, df: DataFrame) -> DataFrame:
        """Without helpers, and with the names that the columns came with."""
        df = df.drop(*self.helpers)
        own = len(self.names)
        return df if df.columns[:own] == self.names else df.toDF(*self.names, *df.columns[own:])

    def annotated(self, df: DataFrame, annotate: str | None, reasons: str | None, only: Column | None = None) -> DataFrame:
        """A frame with the codes and the words of the broken rules."""
        for name, words in ((annotate, [code_of(rule) for rule, _ in self.broken]), (reasons, [rule.reason() for rule, _ in self.broken])):
            if name:
                df = df.withColumn(name, self._listed(words, only))
        return df

    def _listed(self, words: Sequence[str], only: Column | None) -> Column:
        from pyspark.sql import functions as F

        if not words:
            return F.lit(None).cast("array<string>")
        # Not by filter or array_compact: they fall out of code generation.
        picked = [F.when(column, F.lit(word)).otherwise(F.lit("")) for word, (_, column) in zip(words, self.broken, strict=True)]
        listed = F.array_remove(F.array(*picked), "")
        return listed if only is None else F.when(only, listed)


def refuse_taken_names(df: DataFrame, names: Mapping[str, str | None], at: str) -> None:
    """Raise COLUMN_COLLISION when a column that the split adds, by the key that names it, is there already; RESERVED_NAME for helpers."""
    if own := next((name for name in df.columns if name.casefold().startswith(RESERVED)), None):
        raise SparquetError("RESERVED_NAME", at, found=own)
    taken = {name.casefold() for name in df.columns}
    problems = [Problem("COLUMN_COLLISION", f"{at}/{key}", {"found": name}) for key, name in names.items() if name and name.casefold() in taken]
    if problems:
        raise SparquetError.of(problems)


def flag(df: DataFrame, rules: Iterable[tuple[str, Rule]], run: Run, codes: Sequence[str] = ()) -> Flagged:
    """Judge every row by the rules that blame rows; ``codes`` narrows them.

    Raises:
        SparquetError: a rule does not fit the columns, or the code of a custom check failed.
    """
    frame, columns = addressable(df)
    flagged = Flagged(frame, df.columns)
    for number, (at, rule) in enumerate(rules):
        if codes and code_of(rule) not in codes:
            continue
        try:
            broken = _broken(flagged, rule, columns, run.placed(""), f"{RESERVED}{number}")
            if broken is not None:
                broken = _never_null(broken, rule.filter)
                run.engine.check_analysis(flagged.frame.where(broken))
        except SparquetError as error:
            raise error.below(at) from error
        except Exception as error:
            raise translate(error, at, df.columns) from error
        if broken is not None:
            flagged.broken.append((rule, broken))
    return flagged


def _broken(flagged: Flagged, rule: Rule, columns: Columns, run: Run, helper: str) -> Column | None:
    """The predicate of one rule; it may add a helper column to the frame."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if isinstance(rule, CustomRule):
        return _custom(flagged.frame, rule, run)
    if not rule.blames_rows:
        return None
    if (violation := rule.violation(columns)) is not None:
        return F.expr(violation)
    metric = rule.metrics(columns)[0]
    flagged.helpers.append(helper)
    if isinstance(metric, Keys):
        counted = F.count(F.lit(1)) if rule.filter is None else F.count_if(F.expr(rule.filter))
        repeated = counted.over(Window.partitionBy(*[F.expr(c) for c in metric.columns])) > 1
        flagged.frame = flagged.frame.withColumn(helper, repeated)
        return F.col(helper)
    if not isinstance(metric, Partnerless):
        return None
    keys = keys_elsewhere(metric, run, f"{helper}_").withColumn(helper, F.lit(True))
    partners = [F.expr(c) == F.col(f"{helper}_{i}") for i, c in enumerate(metric.columns)]
    flagged.frame = flagged.frame.join(keys, reduce(lambda a, b: a & b, partners), "left")
    flagged.helpers += [c for c in keys.columns if c != helper]
    whole = reduce(lambda a, b: a & b, [F.expr(c).isNotNull() for c in metric.columns])
    return whole & F.col(helper).isNull()


def _custom(df: DataFrame, rule: CustomRule, run: Run) -> Column | None:
    from pyspark.sql import Column

    try:
        made = rule.make(run)
        found = made.violation(df) if hasattr(made, "violation") else None
        if found is not None and not isinstance(found, Column):
            raise TypeError(f"violation returned {type(found).__name__}, expected a boolean column")
    except Exception as error:
        raise extension_fault(error, rule) from error
    return found


def _never_null(broken: Column, only: str | None) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(broken if only is None else broken & F.expr(only), F.lit(False))
