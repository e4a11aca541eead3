"""Operators that run pipelines and check data. Importing them starts no Spark and loads no other provider."""

from .cola import ColaCheckOperator
from .sparquet import SparquetRunOperator

__all__ = ["ColaCheckOperator", "SparquetRunOperator"]
