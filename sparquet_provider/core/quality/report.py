"""The report: one row a rule, as a frame that any format can write."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

from ..result import PipelineResult, jsonable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The columns of the report, as Spark DDL.
REPORT_SCHEMA = (
    "pipeline_name STRING, run_id STRING, measured_at TIMESTAMP, rule_type STRING, check_name STRING, code STRING, rule_uid STRING, "
    "dimension STRING, target STRING, rule_params STRING, severity STRING, passed BOOLEAN, failed_count BIGINT, metric_value STRING, "
    "rows BIGINT, message STRING, error STRING, params STRING"
)


def report_frame(spark: SparkSession, result: PipelineResult, measured_at: dt.datetime) -> DataFrame:
    """One row for each rule of the result, in one partition."""
    rows = [
        (
            result.pipeline_name,
            result.run_id,
            measured_at,
            c.rule_type,
            c.check_name,
            c.code,
            c.rule_uid,
            c.dimension,
            c.target,
            json.dumps(jsonable(c.rule_params), ensure_ascii=False, sort_keys=True),
            c.severity,
            c.passed,
            c.failed_count,
            None if c.metric_value is None else str(jsonable(c.metric_value)),
            c.rows,
            c.message,
            str(c.error["code"]) if c.error else None,
            json.dumps(jsonable(result.params), ensure_ascii=False, sort_keys=True),
        )
        for c in result.validation_results
    ]
    return spark.createDataFrame(rows, REPORT_SCHEMA).coalesce(1)
