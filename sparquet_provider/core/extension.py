"""The classes to inherit from when the language does not cover a case.

They import nothing of Spark, so that a module with extensions can be linted where pyspark is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .result import CheckResult

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["BaseCheck", "BaseReader", "BaseTransformation", "BaseValidator", "BaseWriter", "CheckResult", "ValidationResult"]


class BaseTransformation:
    """A transformation of your own: implement ``apply``.

    ``self.config.params`` holds every key of the step but ``type`` and ``skip_if_false``; ``self.spark`` is the session.
    """

    def __init__(self, config: SimpleNamespace, spark: SparkSession | None = None) -> None:
        self.config = config
        self.spark = spark

    def apply(self, df: DataFrame) -> DataFrame:
        """Return the changed frame."""
        raise NotImplementedError


@dataclass
class ValidationResult:
    """What a validator found; the first four may be given by position."""

    rule_type: str
    passed: bool
    message: str = ""
    failed_count: int = 0
    metric_value: Any = None


class BaseValidator:
    """A validator of your own: implement ``validate``. ``self.rule.params`` holds every key but ``type``."""

    def __init__(self, rule: SimpleNamespace, spark: SparkSession | None = None) -> None:
        self.rule = rule
        self.spark = spark

    def validate(self, df: DataFrame) -> ValidationResult:
        """Measure the frame and return a result; do not raise for bad data."""
        raise NotImplementedError


class BaseCheck:
    """A data-quality check of your own: implement ``run``; and ``violation`` when single rows can be to blame.

    ``self.params`` holds every key of the rule but ``type``.
    """

    def __init__(self, params: dict[str, Any], spark: SparkSession | None = None) -> None:
        self.params = params
        self.spark = spark

    def run(self, df: DataFrame) -> CheckResult:
        """Measure the frame."""
        raise NotImplementedError

    def violation(self, df: DataFrame) -> Column | None:
        """A boolean column that is true for bad rows; None when the check is about the whole frame."""
        return None


@dataclass
class IOConfig:
    """What a custom reader or writer finds in ``self.config``."""

    format: str
    path: Any
    options: dict[str, Any] = field(default_factory=dict)
    mode: str = "overwrite"
    partition_by: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    schema: str | None = None


class BaseReader:
    """A connector of your own, reading side: implement ``read``."""

    def __init__(self, config: IOConfig, spark: SparkSession) -> None:
        self.config = config
        self.spark = spark

    def read(self) -> DataFrame:
        """Return the frame."""
        raise NotImplementedError


class BaseWriter:
    """A connector of your own, writing side: implement ``write``. ``self.config.mode`` is the mode as written."""

    def __init__(self, config: IOConfig, spark: SparkSession) -> None:
        self.config = config
        self.spark = spark

    def write(self, df: DataFrame) -> Any:
        """Write the frame; a returned int is taken as the number of rows written."""
        raise NotImplementedError
