"""What Airflow finds of this package: by its entry point, through Airflow's own manager."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from sparquet_provider.get_provider_info import get_provider_info

NAME = "airflow-provider-sparquet"


@pytest.fixture(scope="module")
def manager() -> Any:
    """Airflow's manager of providers."""
    from airflow.providers_manager import ProvidersManager

    return ProvidersManager()


def test_the_information_has_airflows_form() -> None:
    from airflow.providers_manager import _create_provider_info_schema_validator

    _create_provider_info_schema_validator().validate(get_provider_info())


def test_every_name_leads_to_something() -> None:
    info = get_provider_info()
    found = {}
    for kind in ("hooks", "operators", "sensors", "triggers"):
        for entry in info[kind]:
            for module in entry["python-modules"]:
                names = vars(import_module(module))
                found[module] = {n for n, v in names.items() if isinstance(v, type) and v.__module__ == module}
    assert "ColaCheckOperator" in found["sparquet_provider.operators.cola"]
    assert "ColaCheckSensor" in found["sparquet_provider.sensors.cola"]
    assert "WaitTrigger" in found["sparquet_provider.triggers.wait"]
    for name in (*info["extra-links"], *(d["class-name"] for d in info["task-decorators"])):
        module, _, attribute = name.rpartition(".")
        assert getattr(import_module(module), attribute)


def test_airflow_finds_the_provider(manager: Any) -> None:
    assert {k: v for k, v in manager.providers[NAME].data.items() if k in get_provider_info()} == get_provider_info()
    assert "sparquet_provider.operators.links.SparquetReportLink" in manager.extra_links_class_names
    assert dict(manager.provider_configs)[NAME]["sparquet"]["options"]["result_dir"]["type"] == "string"


def test_airflow_finds_the_decorator() -> None:
    from airflow.sdk import task

    from sparquet_provider.decorators.cola import cola_check_task

    assert task.cola_check is cola_check_task


def test_airflow_finds_the_trigger_by_the_name_that_it_gives() -> None:
    from airflow.sdk.module_loading import import_string

    from sparquet_provider.triggers.wait import WaitTrigger

    name, _ = WaitTrigger("2026-01-01T00:00:00+00:00", {}).serialize()
    assert import_string(name) is WaitTrigger
