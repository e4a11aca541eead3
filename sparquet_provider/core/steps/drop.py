"""The ``drop`` step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ..document import Step
from ..errors import nearest, pointer
from ..spec import Field, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Drop(Step):
    """Remove columns."""

    type: ClassVar[str] = "drop"
    notes: ClassVar[tuple[str, ...]] = (
        "A name that is not there changes nothing; the result carries a warning.",
        "a.b is the column with exactly that name; a field inside a struct cannot be dropped here, rebuild the struct with with_column.",
        "After a join that left two columns of one name, both are dropped.",
    )

    columns: Annotated[tuple[str, ...], Field("The names of the columns.", example=["tmp_flag", "debug_note"], nonempty=True)]

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        names = df.columns
        present = []
        for i, name in enumerate(self.columns):
            same = {n for n in names if n.casefold() == name.casefold()}
            present += [name] if name in same else sorted(same)
            if not same:
                near = nearest(name, names)
                run.warn("NOTHING_CHANGED", pointer("columns", i), reason=f"there is no column {name!r} to drop" + (f"; nearest: {near!r}" if near else ""))
        return df.drop(*present) if present else df
