"""Valid and invalid rows apart, the invalid ones with the codes of the rules that they break, both to parquet."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparquet_provider.core import Sparquet
from sparquet_provider.core.load import load
from sparquet_provider.core.run import Options

from . import orders
from .harness import compare, session, table
from .quality import ROWS, memory, warm

DISCOUNT = 0.55
_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"

#: The six rules by their codes; sparquet-cola reads the same ones.
RULES: dict[str, dict[str, Any]] = {
    **{f"null_{c}": {"type": "not_null", "columns": [c]} for c in ("email", "amount", "status")},
    "amount": {"type": "range", "column": "amount", "min": 0, "max": 10_000},
    "discount": {"type": "range", "column": "discount", "min": 0, "max": DISCOUNT},
    "email": {"type": "regex", "column": "email", "pattern": orders.EMAIL},
}
#: The same as conditions that a bad row fulfils; they are never null.
CONDITIONS = {
    **{f"null_{c}": f"{c} IS NULL" for c in ("email", "amount", "status")},
    "amount": "coalesce(amount < 0 OR amount > 10000, false)",
    "discount": f"coalesce(discount < 0 OR discount > {DISCOUNT}D, false)",
    "email": f"NOT coalesce(email RLIKE r'{orders.EMAIL}', false)",
}


def by_hand(spark: Any, place: Path, valid: Path, invalid: Path) -> None:
    """One write partitioned by the flag, whose two folders are renamed then.

    The codes are built for bad rows alone. ``array_remove`` is compiled, ``filter`` and ``array_compact`` are not.
    """
    codes = ", ".join(f"IF({condition}, '{code}', '')" for code, condition in CONDITIONS.items())
    both = valid.parent / f"both_{valid.name}"
    df = orders.read(spark, place).selectExpr("*", f"{' OR '.join(CONDITIONS.values())} AS bad")
    df = df.selectExpr("*", f"IF(bad, array_remove(array({codes}), ''), NULL) AS codes")
    spark.conf.set(_WRITERS, "8")
    try:
        df.write.mode("overwrite").partitionBy("bad").parquet(str(both))
    finally:
        spark.conf.unset(_WRITERS)
    for flag, target in (("false", valid), ("true", invalid)):
        shutil.rmtree(target, ignore_errors=True)
        (both / f"bad={flag}").rename(target)


def by_document(sparquet: Sparquet, place: Path, valid: Path, invalid: Path, *, one_write: bool) -> None:
    """The same as a document of a check, which has no output beside the two sides; it also measures the rules.

    The codes stand on the invalid side only, or with ``one_write`` as null on the valid side, too, as the hand-written form has them.
    """
    document = {
        "name": "benchmark",
        "input": {"format": "parquet", "path": str(place / "rows")},
        "transformations": [{"type": "drop", "columns": ["ingestion_ts"]}],
        "validations": {
            "on_failure": "warn",
            "rules": [{"code": code, **rule} for code, rule in RULES.items()],
            "annotate": "codes",
            "annotate_valid": one_write,
            "outputs": {"valid": {"format": "parquet", "path": str(valid)}, "invalid": {"format": "parquet", "path": str(invalid)}},
        },
    }
    sparquet.run_loaded(load(document), Options(), check=True).raise_for_status()


def compare_sides(tool: str, spark: Any, place: Path, valid: Path, invalid: Path) -> None:
    """Fail unless both sides have the rows that they should; and the codes, when there are some under that name."""
    expected = orders.read(spark, place).selectExpr(
        "count(*)", f"count_if({' OR '.join(CONDITIONS.values())})", *(f"count_if({c})" for c in CONDITIONS.values())
    )
    rows, bad, *broken = expected.head()
    good_side, bad_side = (spark.read.parquet(str(p)) for p in (valid, invalid))
    found = good_side.count(), bad_side.count()
    assert found == (rows - bad, bad), f"{tool} wrote {found} instead of {(rows - bad, bad)}"
    if "codes" in bad_side.columns:
        counts = list(bad_side.selectExpr(*(f"count_if(array_contains(codes, '{code}'))" for code in CONDITIONS)).head())
        assert counts == broken, f"{tool} wrote codes {counts} instead of {broken}"


def sides(folder: Path, tool: str) -> tuple[Path, Path]:
    """Where a tool writes."""
    return folder / f"valid_{tool}", folder / f"invalid_{tool}"


def main(folder: Path) -> None:
    """Run and print the ratios."""
    logging.getLogger("sparquet").setLevel(logging.ERROR)  # the rules are broken on purpose
    spark = session(folder, configs=memory(ROWS))
    place = orders.make(spark, folder, ROWS)
    found = compare(spark, ours(spark, place, folder), warm=warm(ROWS))
    for tool in ("hand", "sparquet", "sparquet_one"):
        compare_sides(tool, spark, place, *sides(folder, tool))
    table(f"Split of {ROWS:,} rows by 6 rules", found, "hand-written", {"sparquet, annotate_valid": 1.05})
    spark.stop()


def ours(spark: Any, place: Path, folder: Path) -> dict[str, Callable[[], None]]:
    """The floor and our document."""
    sparquet = Sparquet(spark)
    return {
        "hand-written": lambda: by_hand(spark, place, *sides(folder, "hand")),
        "sparquet, annotate_valid": lambda: by_document(sparquet, place, *sides(folder, "sparquet_one"), one_write=True),
        "sparquet": lambda: by_document(sparquet, place, *sides(folder, "sparquet"), one_write=False),
    }
