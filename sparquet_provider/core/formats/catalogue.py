"""What a table says of itself in its catalogue: the schema it lies in, comments of table and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..columns import quoted
from ..storage import qualified
from ..text import literal
from .places import Place

if TYPE_CHECKING:
    from ..context import Run


def make_schema(place: Place, run: Run) -> None:
    """Make the schema of a table that is written by its name, when it is not there."""
    if len(place.parts) < 2:
        return
    schema = ".".join(quoted(part) for part in place.parts[:-1])
    if not run.spark.catalog.databaseExists(schema):
        run.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")


def write_comments(place: Place, table_comment: str | None, comments: Mapping[str, str], run: Run) -> None:
    """Write the comments that differ from those that the table has; columns that it has not are named in a warning."""
    if place.location is not None:
        place = Place(qualified(run.engine, place.location))
    columns, described = _described(place, run)
    for name, comment in comments.items():
        if name.casefold() not in columns:
            run.warn("NOTHING_CHANGED", reason=f"the table has no column {name!r} to put its description at")
        elif columns[name.casefold()][1] != comment:
            run.spark.sql(f"ALTER TABLE {place.sql} ALTER COLUMN {quoted(columns[name.casefold()][0])} COMMENT {literal(comment)}")
    if table_comment and table_comment != described:
        run.spark.sql(f"COMMENT ON TABLE {place.sql} IS {literal(table_comment)}")


def _described(place: Place, run: Run) -> tuple[dict[str, tuple[str, str]], str]:
    """Every column's name and comment, by its name in lower case; and the comment of the table."""
    rows = run.spark.sql(f"DESCRIBE TABLE EXTENDED {place.sql}").collect()
    # Columns come first; a line that is empty or begins with # parts them from what else is told.
    end = next((i for i, row in enumerate(rows) if not row["col_name"] or row["col_name"].startswith("# ")), len(rows))
    columns = {row["col_name"].casefold(): (row["col_name"], row["comment"] or "") for row in rows[:end]}
    return columns, next((str(row["data_type"]) for row in rows[end:] if row["col_name"] == "Comment"), "")
