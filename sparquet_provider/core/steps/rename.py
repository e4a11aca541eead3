"""The ``rename`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import nearest, pointer
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Rename(Step):
    """Rename columns, one after the other."""

    type: ClassVar[str] = "rename"
    notes: ClassVar[tuple[str, ...]] = (
        "The order counts: a to b and then b to c ends as c. To swap two names go through a third.",
        "A name that is not there changes nothing; the result carries a warning.",
        "Names are exact: a.b is the column with that name, never a field of a struct.",
        "A new name that another column has already is an error.",
    )

    mappings: Annotated[dict[str, str], Field("Old name to new name, in order.", example={"created_at": "creation_date", "nm": "name"}, nonempty=True)]

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        names = df.columns
        changed = {}
        for old, new in self.mappings.items():
            place = pointer("mappings", old)
            at = [i for i, n in enumerate(names) if n == old] or [i for i, n in enumerate(names) if n.casefold() == old.casefold()]
            if not at:
                near = nearest(old, names)
                run.warn("NOTHING_CHANGED", place, reason=f"there is no column {old!r} to rename" + (f"; nearest: {near!r}" if near else ""))
                continue
            if len(at) > 1:
                raise run.fault("COLUMN_AMBIGUOUS", place, found=old, reason=run.origins.get(old.casefold(), "two columns have this name"))
            if any(n.casefold() == new.casefold() for i, n in enumerate(names) if i not in at):
                raise run.fault("COLUMN_COLLISION", place, found=new)
            names[at[0]] = new
            changed[old] = new
        return df.withColumnsRenamed(changed) if changed else df
