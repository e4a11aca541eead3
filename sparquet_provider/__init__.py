"""Declarative Spark pipelines and data-quality gates for Apache Airflow."""

__version__ = "0.1.0"
