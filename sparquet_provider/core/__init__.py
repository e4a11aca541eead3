"""The execution core: standard library and pyspark only. It travels to the cluster as a zip.

Importing it does not import pyspark; running does.
"""

from __future__ import annotations

from .cola import Cola
from .extension import BaseCheck, BaseReader, BaseTransformation, BaseValidator, BaseWriter, ValidationResult
from .ingest import ingest
from .result import CheckResult, PipelineResult
from .sparquet import Sparquet

__all__ = [
    "BaseCheck",
    "BaseReader",
    "BaseTransformation",
    "BaseValidator",
    "BaseWriter",
    "CheckResult",
    "Cola",
    "PipelineResult",
    "Sparquet",
    "ValidationResult",
    "ingest",
]
