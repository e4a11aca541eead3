"""The report: one row a rule, as a frame that any format can write."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from ..result import CheckResult, PipelineResult, jsonable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The columns of the report, as Spark DDL.
REPORT_SCHEMA = (
    "pipeline_name STRING, run_id STRING, measured_at TIMESTAMP, rule_type STRING, check_name STRING, code STRING, rule_uid STRING, "
    "previous_name STRING, dimension STRING, tags STRING, target STRING, rule_params STRING, severity STRING, passed BOOLEAN, failed_count BIGINT, "
    "metric_value STRING, rows BIGINT, message STRING, error STRING, weight DOUBLE, score DOUBLE, params STRING"
)


def report_frame(spark: SparkSession, result: PipelineResult, measured_at: dt.datetime) -> DataFrame:
    """One row for each rule of the result, in one partition."""
    return results_frame(spark, result.validation_results, measured_at, result)


def results_frame(spark: SparkSession, results: list[CheckResult], measured_at: dt.datetime, run: PipelineResult | None = None) -> DataFrame:
    """One row for each result, in one partition; the columns of the run are null without a run."""
    rows = [
        (
            run.pipeline_name if run else None,
            run.run_id if run else None,
            measured_at,
            c.rule_type,
            c.check_name,
            c.code,
            c.rule_uid,
            c.previous_name,
            c.dimension,
            ", ".join(c.tags),
            c.target,
            _json(c.rule_params),
            c.severity,
            c.passed,
            c.failed_count,
            None if c.metric_value is None else str(jsonable(c.metric_value)),
            c.rows,
            c.message,
            str(c.error["code"]) if c.error else None,
            float(c.weight),
            run.score if run else None,
            _json(run.params) if run else None,
        )
        for c in results
    ]
    return spark.createDataFrame(rows, REPORT_SCHEMA).coalesce(1)


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False, sort_keys=True)
