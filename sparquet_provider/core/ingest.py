"""``ingest``: one call from a frame or a source to a table, prepared as a contract says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .result import PipelineResult
from .sparquet import Sparquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def ingest(
    source: DataFrame | Mapping[str, Any] | str,
    target_table: str,
    *,
    catalog: str | None = None,
    layer: str | None = None,
    mode: str = "append",
    transform: Mapping[str, Any] | None = None,
    merge_keys: str | Sequence[str] = (),
    format: str = "delta",
    partition_by: str | Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    params: Mapping[str, Any] | None = None,
    watermark: Mapping[str, Any] | None = None,
    run_id: str = "",
    strict: bool = True,
    spark: SparkSession | Mapping[str, Any] | None = None,
    **keys: Any,
) -> PipelineResult:
    """Prepare rows and write them to a table; the call form of a contract document.

    ```python
    result = ingest(source=df, target_table="orders", layer="silver", mode="upsert", merge_keys=["order_id"],
                    transform={"cast": {"amount": "decimal(18,2)"}})
    ```

    Args:
        source: a frame; or an input block (``{"format": …, "path": …}``); or the name or location of a Delta table.
        target_table: the table: a full name with dots, or its last part below ``catalog`` and ``layer``.
        catalog: the catalog of the table.
        layer: bronze, silver or gold; also the schema of the table.
        mode: append, overwrite, replace_partitions, upsert, hash_diff_upsert, historical or snapshot_soft_delete.
        transform: the preparation: shape, cast, standardize, derive, deduplicate.
        merge_keys: the key columns, for the modes that need them.
        format: delta or iceberg.
        partition_by: columns that partition a table that is made.
        options: further options of the writer.
        name: names the run in logs and result; the table's name by default.
        params: values of ``{name}`` placeholders.
        watermark: the mark of the previous run, for ``watermark_columns``.
        run_id: names the run; it becomes the column ``__run_id``.
        strict: misspelt keys are errors, not warnings.
        spark: as for :class:`Sparquet`; a frame brings its own session.
        keys: every other key of a document, such as ``select_columns``, ``column_mapping``, ``filter_expression``, ``custom_keys``,
            ``watermark_columns``, ``schemas``, ``shape``, ``validations``, ``transformations``, ``annotations``, ``operations``.

    Returns:
        the result; a faulty contract and a failed run are results too (see ``raise_for_status``).
    """
    frame = None
    if isinstance(source, str):
        block: Any = {"format": "delta", "path": source}
    elif isinstance(source, Mapping) or not hasattr(source, "sparkSession"):
        block = source  # what is neither a frame nor a block is reported at its place
    else:
        frame, block = source, {"format": "view", "path": "the_frame_that_was_passed_in"}
        spark = spark or frame.sparkSession
    output = {"format": format, "partition_by": [partition_by] if isinstance(partition_by, str) else list(partition_by), "options": dict(options or {})}
    given = {"catalog": catalog, "layer": layer, "transform": transform, "name": name, "merge_keys": merge_keys}
    document = {
        "input": block, "target_table": target_table, "mode": mode, "output": output, **{k: v for k, v in given.items() if v}, **keys,
    }
    return Sparquet(spark).run_from_dict(document, params, frame, strict=strict, run_id=run_id, watermark=watermark)
