"""What Airflow is told about this package."""

from __future__ import annotations

from typing import Any

from . import __version__


def get_provider_info() -> dict[str, Any]:
    """The provider's metadata (entry point ``apache_airflow_provider``)."""
    name = "Sparquet"
    return {
        "package-name": "airflow-provider-sparquet",
        "name": name,
        "description": "Declarative Spark pipelines and data-quality gates.",
        "versions": [__version__],
        "integrations": [{"integration-name": name, "external-doc-url": "https://spark.apache.org/", "tags": ["software"]}],
        "hooks": [{"integration-name": name, "python-modules": ["sparquet_provider.hooks.submission"]}],
        "operators": [{"integration-name": name, "python-modules": ["sparquet_provider.operators.sparquet", "sparquet_provider.operators.cola"]}],
        "sensors": [{"integration-name": name, "python-modules": ["sparquet_provider.sensors.cola"]}],
        "triggers": [{"integration-name": name, "python-modules": ["sparquet_provider.triggers.wait"]}],
        "task-decorators": [{"name": "cola_check", "class-name": "sparquet_provider.decorators.cola.cola_check_task"}],
        "extra-links": ["sparquet_provider.operators.links.SparquetReportLink"],
        "config": {
            "sparquet": {
                "description": "Results of Sparquet's operators.",
                "options": {
                    "result_dir": {
                        "description": "A folder (path or URI) in which the full result and a report page of every run are kept. Empty: they are not kept.",
                        "version_added": "0.1.0", "type": "string", "example": "s3://aws_default@bucket/results", "default": "",
                    },
                    "result_base_url": {
                        "description": "The address under which result_dir is served; tasks then link to their report page.",
                        "version_added": "0.1.0", "type": "string", "example": "https://reports.example.com/sparquet", "default": "",
                    },
                },
            },
        },
    }
