"""The stand-ins of the operators' tests."""

from tests.operators.conftest import answer, ti

__all__ = ["answer", "ti"]
