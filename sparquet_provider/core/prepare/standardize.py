"""``transform.standardize``: cleaning of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from ..errors import Problem, SparquetError, pointer
from ..parts import located
from ..spec import Field, spec
from .part import Part

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ..context import Run

#: Unicode's White_Space characters; Spark's trim knows blanks only. Source: PropList.txt of the Unicode Character Database.
WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


@spec
class Standardize(Part):
    """Clean the texts of one column: white space, then case, then empty texts."""

    trim: Annotated[bool, Field("Remove white space of any kind at both ends.")] = False
    lower: Annotated[bool, Field("Write in lower case.")] = False
    upper: Annotated[bool, Field("Write in upper case.")] = False
    normalize_whitespace: Annotated[bool, Field("Make one blank of any run of white space.")] = False
    empty_as_null: Annotated[bool, Field("A text that is empty in the end becomes null.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        if self.lower and self.upper:
            yield Problem("KEYS_EXCLUDE", at, {"found": "lower and upper", "reason": "a text has one case"})
        elif not (self.trim or self.lower or self.upper or self.normalize_whitespace or self.empty_as_null):
            facts = {"reason": "nothing is asked for, so the column stays as it is", "remedy": "Set trim, lower, upper, normalize_whitespace or empty_as_null."}
            yield Problem("INVALID_COMBINATION", at, facts, "warning")

    def value(self, text: Column) -> Column:
        """The cleaned text."""
        from pyspark.sql import functions as F

        if self.normalize_whitespace:
            text = F.regexp_replace(text, f"[{WHITE_SPACE}]+", " ")
        if self.trim:
            text = F.btrim(text, F.lit(WHITE_SPACE))
        if self.lower or self.upper:
            text = F.lower(text) if self.lower else F.upper(text)
        return F.nullif(text, F.lit("")) if self.empty_as_null else text


def standardize(columns: Mapping[str, Standardize], df: DataFrame, run: Run) -> DataFrame:
    """The frame with cleaned texts."""
    from pyspark.sql import functions as F

    found = located(df, ((pointer(name), name) for name in columns), run, "", top_level=True)
    wrong = [(at, c) for at, c in found if not c.is_text]
    if wrong:
        remedy = "Cast it to string first, or leave it out."
        facts = ((at, {"found": c.name, "type": c.type_name, "expected": "a text", "remedy": remedy}) for at, c in wrong)
        raise SparquetError.of(Problem("COLUMN_TYPE", run.at + at, f) for at, f in facts)
    return df.withColumns({c.name: how.value(F.col(c.sql)) for (_, c), how in zip(found, columns.values(), strict=True)})
