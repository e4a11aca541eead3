"""The keys of a data contract at the top of a document, and the fixed order in which they act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..errors import Problem, pointer
from ..spec import Field, Spec, members_of, render, spec
from ..text import plain
from .control import finalise
from .parse_json import check_ddl
from .part import Operation, same_names
from .selection import Selection, check_derived
from .shape import Shape
from .transform import Transform, in_order
from .watermark import only_later

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run

LAYERS = ("bronze", "silver", "gold")


@spec
class Annotations(Spec):
    """What the catalogue should know about the table; it travels with the document and never changes data."""

    EXTRA_KEYS: ClassVar[tuple[str, ...]] = ("aliases", "tags", "classification", "data_product", "glossary", "deprecated")

    description: Annotated[str | None, Field("What the table holds.", example="One row per customer.", runtime=False)] = None
    table: Annotated[dict[str, Any], Field("Facts about the table.", example={"tags": ["finance"]}, free=True, runtime=False)] = field(default_factory=dict)
    columns: Annotated[
        dict[str, dict[str, Any]],
        Field("Column to facts: description, aliases, tags, pii.", example={"cpf": {"description": "Tax number", "pii": True}}, free=True, runtime=False),
    ] = field(default_factory=dict)

    def check(self, at: str) -> Iterator[Problem]:
        for name, facts in self.columns.items():
            if not isinstance(facts.get("description", ""), str):
                place = at + pointer("columns", name, "description")
                yield Problem("WRONG_TYPE", place, {"found": type(facts["description"]).__name__, "expected": "a text", "hint": ""})

    @property
    def comments(self) -> dict[str, str]:
        """Column to description, for those that have one."""
        return {name: facts["description"] for name, facts in self.columns.items() if facts.get("description")}

    @property
    def table_comment(self) -> str | None:
        """The description of the table."""
        found = self.description or self.table.get("description")
        return found if isinstance(found, str) else None


@spec
class Contract(Selection):
    """The keys of a contract; they act after the read, before the transformations."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = dict.fromkeys(("cast", "standardize", "derive", "deduplicate"), "transform")

    layer: Annotated[
        str | None, Field("The layer of the table; bronze keeps the records of the source.", choices=LAYERS, example="silver", runtime=False)
    ] = None
    catalog: Annotated[str | None, Field("The catalog of target_table.", example="main", runtime=False)] = None
    target_table: Annotated[
        str | None, Field("The table of the output: catalog.layer.table; it stands for an output block, or for its path.", example="orders", runtime=False)
    ] = None
    mode: Annotated[str | None, Field("How target_table is written; append by default.", example="upsert", runtime=False)] = None
    merge_keys: Annotated[
        tuple[str, ...], Field("The key of target_table, for modes that need one.", example=["order_id"], one_or_more=True, runtime=False)
    ] = ()
    schemas: Annotated[dict[str, str], Field("Schemas by name, for parse_json.schema_ref.", example={"v1": "STRUCT<id:STRING>"}, runtime=False)] = field(
        default_factory=dict
    )
    shape: Annotated[Shape | None, Field("The short form of transform.shape.", example={"flatten": {"enabled": True}})] = None
    transform: Annotated[Transform | None, Field("Preparation of shape and values.", example={"cast": {"amount": "decimal(18,2)"}})] = None
    watermark_columns: Annotated[
        tuple[str, ...], Field("Only rows later than the mark of the previous run are read.", example=["updated_at"], one_or_more=True, runtime=False)
    ] = ()
    annotations: Annotated[Annotations | None, Field("Metadata of the catalogue.", example={"columns": {"id": {"description": "The order"}}})] = None
    operations: Annotated[
        dict[str, Any], Field("Who runs it and how: owners, criticality, freshness.", example={"owners": ["data"]}, free=True, runtime=False)
    ] = field(
        default_factory=dict
    )

    def check(self, at: str) -> Iterator[Problem]:
        yield from super().check(at)
        if self.shape is not None and self.transform is not None and self.transform.shape is not None:
            yield Problem("KEYS_EXCLUDE", at + "/shape", {"found": "shape and transform.shape", "reason": "the first is the short form of the second"})
        for place, shape in (("/shape", self.shape), ("/transform/shape", self.transform.shape if self.transform else None)):
            if shape is not None:
                yield from shape.check_layer(self.layer, at + place)
                yield from shape.check_schemas(self.schemas, at + place)
        if self.transform is not None:
            yield from check_derived(self.transform.derive, self.layer, at + "/transform/derive", (self.shape, self.transform.shape))
        for name, ddl in self.schemas.items():
            yield from check_ddl(ddl, at + pointer("schemas", name))
        yield from same_names([(at + pointer("watermark_columns", i), n) for i, n in enumerate(self.watermark_columns)])
        if self.target_table is not None and self.catalog and is_location(self.target_table):
            facts = {"reason": "target_table is a location, which no catalog names", "remedy": "Remove catalog, or write the name of a table."}
            yield Problem("INVALID_COMBINATION", at + "/catalog", facts)
        if self.target_table is None:
            for key in ("catalog", "mode", "merge_keys"):
                if getattr(self, key):
                    remedy = "Add target_table, or write it in the output block."
                    yield Problem("INVALID_COMBINATION", at + pointer(key), {"reason": f"{key} belongs to target_table, which is not there", "remedy": remedy})

    @property
    def is_contract(self) -> bool:
        """True when any of these keys prepares rows or names the table, so that the control columns belong to the frame."""
        keys = ("select_columns", "column_mapping", "filter_expression", "custom_keys", "shape", "transform", "watermark_columns", "target_table", "layer")
        return any(getattr(self, key) for key in keys)

    @property
    def own_keys(self) -> Contract:
        """These keys alone, without those of the document around them."""
        return Contract(**{name: getattr(self, name) for name in members_of(Contract)})

    def preparation(self) -> list[Operation]:
        """The operations in their fixed order; the keys may come in any."""
        keys: Contract = render(self.own_keys, {})
        transform, at_shape = keys.transform or Transform(), "/transform/shape"
        if keys.shape is not None:
            transform, at_shape = replace(transform, shape=keys.shape), "/shape"
        found = in_order(keys, transform, "/transform", at_shape, [keys._mark()] if keys.watermark_columns else ())
        return [*found, Operation("", "control columns", "with_column", finalise)] if self.is_contract else []

    def _mark(self) -> Operation:
        def apply(df: DataFrame, run: Run) -> DataFrame:
            return only_later(self.watermark_columns, df, run)

        return Operation("/watermark_columns", "watermark_columns", "filter", apply)


def is_location(target: str) -> bool:
    """True for a path or URI, False for the name of a table."""
    return "/" in target or ":" in target


def table_name(target: str, catalog: str | None, layer: str | None) -> str:
    """The name of the target table: a location, and a name with dots, as it is; otherwise below its catalog and layer."""
    return target if "." in target or is_location(target) else ".".join(part for part in (catalog, layer, target) if part)


def with_target(raw: Any) -> Any:
    """A document in which ``target_table`` has become the output, or the path of it, and names the document if nothing else does."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("target_table"), str) or "outputs" in raw:
        return raw
    texts = {key: plain(raw[key]) if isinstance(raw.get(key), str) else None for key in ("target_table", "catalog", "layer")}
    path = table_name(str(texts["target_table"]), texts["catalog"], texts["layer"])
    output = raw.get("output", {})
    if not isinstance(output, Mapping):
        return raw
    options = output.get("options", {})
    if "merge_keys" in raw and isinstance(options, Mapping):
        options = {"merge_keys": raw["merge_keys"], **options}
    made = {"format": "delta", "path": path, "mode": raw.get("mode") or "append", **output, "options": options}
    return {"name": path, **raw, "output": made}


#: The places of a contract that stand for those of the output it becomes.
PLACES = {
    "/output/path": "/target_table",
    "/output/mode": "/mode",
    "/output/options/merge_keys": "/merge_keys",
    "/output/options": "/merge_keys",
    "/output": "/target_table",
}
