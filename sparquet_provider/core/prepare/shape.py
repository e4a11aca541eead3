"""``transform.shape``: nested and semi-structured records become flat rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from ..errors import Problem, SparquetError, nearest, pointer
from ..losses import Tally, tallied
from ..spec import Field, spec
from .arrays import ArrayStep, apply_arrays, check_arrays
from .flatten import Flatten
from .parse_json import ParseJson
from .part import Part, generator_in, same_names
from .projection import Projected, cast_early, check_projection, project, texts_within
from .zip_arrays import ZipArrays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@spec
class Shape(Part):
    """Make nested records flat: parse_json, flatten, zip_arrays, arrays, columns, in this order."""

    parse_json: Annotated[
        tuple[ParseJson, ...], Field("Text columns that hold JSON.", example=[{"column": "raw", "alias": "payload", "schema": "STRUCT<id:STRING>"}])
    ] = ()
    flatten: Annotated[Flatten | None, Field("Fields of structs become columns.", example={"enabled": True})] = None
    zip_arrays: Annotated[
        tuple[ZipArrays, ...], Field("Parallel arrays become one array of structs.", example=[{"alias": "point", "columns": {"h.t": "time", "h.r": "rain"}}])
    ] = ()
    arrays: Annotated[
        tuple[ArrayStep, ...], Field("What happens to arrays.", example=[{"path": "payload.events", "mode": "explode_outer", "alias": "event"}])
    ] = ()
    columns: Annotated[
        dict[str, Projected] | None, Field("The columns that stay; all when absent.", example={"event.id": {"alias": "event_id", "cast": "STRING"}})
    ] = None
    allow_cardinality_change_on_bronze: Annotated[bool, Field("Allow explode in the layer bronze, which keeps the source's records otherwise.")] = False

    def check(self, at: str) -> Iterator[Problem]:
        if self.columns is not None:
            if not self.columns:
                yield Problem("EMPTY_VALUE", at + "/columns", {"expected": "at least one column", "hint": ""})
            yield from check_projection(self.columns, at + "/columns")
        yield from check_arrays(self.arrays, at + "/arrays")
        yield from same_names([(at + pointer("zip_arrays", i, "alias"), z.alias) for i, z in enumerate(self.zip_arrays)])

    def check_layer(self, layer: str | None, at: str) -> Iterator[Problem]:
        """Bronze keeps the records of the source unless the document says that it means to multiply them."""
        if layer != "bronze" or self.allow_cardinality_change_on_bronze:
            return
        for i, step in enumerate(self.arrays):
            if step.explodes:
                yield Problem("BRONZE_CARDINALITY", at + pointer("arrays", i, "mode"), {"found": step.mode})
        for path, column in (self.columns or {}).items():
            if found := generator_in(column.expression or ""):
                yield Problem("BRONZE_CARDINALITY", at + pointer("columns", path, "expression"), {"found": found})

    def check_schemas(self, schemas: Mapping[str, str], at: str) -> Iterator[Problem]:
        """References to schemas that the document does not have."""
        for i, entry in enumerate(self.parse_json):
            if entry.schema_ref is not None and entry.schema_ref not in schemas:
                facts = {"found": entry.schema_ref, "nearest": nearest(entry.schema_ref, schemas), "expected": sorted(schemas)}
                yield Problem("WRONG_CHOICE", at + pointer("parse_json", i, "schema_ref"), facts)

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        """The flat frame."""
        df, tallies = self._parsed(df, run)
        if not self._keeps_records:
            df, tallies = tallied(df, tallies, run), []
        if self.flatten is not None:
            df = self.flatten.apply(df, run.placed(run.at + "/flatten"))
        for i, arrays in enumerate(self.zip_arrays):
            df = arrays.apply(df, run.placed(run.at + pointer("zip_arrays", i)))
        once = [column for tally in tallies for column in tally.columns]
        columns, early = self.columns or {}, dict[str, str]()
        if any(step.explodes for step in self.arrays):
            df, early, lost = cast_early(columns, df, run.placed(run.at + "/columns"), [step.name for step in self.arrays])
            tallies += lost
        df = apply_arrays(self.arrays, df, run.placed(run.at + "/arrays"), once)
        if not columns:
            return df
        if not any("." in name for name in df.columns):  # a path may then mean such a column, whatever its first part is
            run.valid_texts.update(texts_within(self._read_from_json, columns, df, run.placed(run.at + "/columns")))
        return project(columns, df, run.placed(run.at + "/columns"), tallies, early)

    def _parsed(self, df: DataFrame, run: Run) -> tuple[DataFrame, list[Tally]]:
        """The frame after every entry of parse_json; the faults of all of them at once, but not of those that need what another one makes."""
        tallies: list[Tally] = []
        problems: list[Problem] = []
        failed: set[str] = set()
        for i, entry in enumerate(self.parse_json):
            try:
                df, tally = entry.apply(df, run.placed(run.at + pointer("parse_json", i)), run.schemas, i)
                tallies += [tally] if tally else []
            except SparquetError as error:
                problems += error.problems if entry.column.split(".")[0] not in failed else []
                failed.add(entry.alias or entry.column)
        if problems:
            raise SparquetError.of(problems)
        return df, tallies

    @property
    def _read_from_json(self) -> set[str]:
        """The columns that surely hold what was read from JSON. Its texts are UTF-8, whatever bytes the source has."""
        if self.flatten is not None:  # it removes columns, whose names others may take
            return set()
        found = {entry.alias or entry.column for entry in self.parse_json}
        for _ in self.arrays:
            found |= {step.name for step in self.arrays if step.path.split(".")[0] in found}
        return found

    @property
    def _keeps_records(self) -> bool:
        """True when each record has a row left where the casts of the projection count: texts that are no JSON are counted there, too."""
        casts = any(column.cast for column in (self.columns or {}).values())
        return casts and all(step.mode != "explode" for step in self.arrays)
