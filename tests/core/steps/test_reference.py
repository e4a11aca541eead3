"""What users read about a step: every field has a sentence and an example, every step its traps."""

from __future__ import annotations

import pytest

from sparquet_provider.core.document import Step
from sparquet_provider.core.registry import built_in_steps
from sparquet_provider.core.spec import Spec, members_of

STEPS = [pytest.param(cls, id=name) for name, cls in sorted(built_in_steps().items())]
TWENTY = (
    "cast checkpoint collect debug distinct drop drop_duplicates fill_na filter group_by join rename repartition select sort sql stop_if_empty struct union with_column"
)


def test_there_are_the_twenty() -> None:
    assert set(TWENTY.split()) <= set(built_in_steps())


@pytest.mark.parametrize("cls", STEPS)
def test_every_field_has_a_sentence_and_an_example(cls: type[Step]) -> None:
    for member in members_of(cls).values():
        assert member.field.doc.endswith("."), member.key
        assert member.field.example is not None, member.key


@pytest.mark.parametrize("cls", STEPS)
def test_every_step_says_what_it_does_and_its_traps(cls: type[Step]) -> None:
    assert cls.summary().endswith(".") and len(cls.summary()) < 80
    assert cls.notes and all(n.endswith(".") for n in cls.notes)


def test_names_in_documents_are_the_modules() -> None:
    assert all(cls.__module__.endswith(f".{name}") for name, cls in built_in_steps().items() if ".core.steps." in cls.__module__)


def test_the_parts_of_a_step_are_described_too() -> None:
    pivot = built_in_steps()["group_by"].__annotations__
    assert "pivot" in pivot
    from sparquet_provider.core.steps.group_by import Pivot

    assert issubclass(Pivot, Spec) and all(m.field.example is not None for m in members_of(Pivot).values())
