"""Adapters: the classes that users write (:mod:`extension`) behave like built-in steps, rules and formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from .document import Output, Rule, Source, Step
from .extension import IOConfig
from .formats.base import Format, Written
from .result import jsonable
from .spec import Field, Parse, spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .context import Run


@spec
class CustomStep(Step):
    """A transformation registered by the user."""

    implementation: ClassVar[Any] = None
    params: Annotated[dict[str, Any], Field("Every key of the step but type and skip_if_false.", free=True, sql=True)] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read the step; all keys beside ``type`` and ``skip_if_false`` become ``params``."""
        return super().parse(_with_params(raw, ("type", "skip_if_false")), at, parse)

    def apply(self, df: DataFrame, run: Run) -> DataFrame:
        made = self.implementation(SimpleNamespace(type=self.type, params=dict(self.params)), run.spark)
        result: DataFrame = made.apply(df)
        return result


@spec
class CustomRule(Rule):
    """A validator or check registered by the user."""

    implementation: ClassVar[Any] = None
    measured_in: ClassVar[str] = "code"
    params: Annotated[dict[str, Any], Field("Every key of the rule but type.", free=True, sql=True)] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Any, at: str, parse: Parse) -> Self | None:
        """Read the rule; all keys but ``type`` and the common ones become ``params``."""
        return super().parse(_with_params(raw, ("type", "name", "code", "error_message", "tags", "filter", "weight", "previous_name")), at, parse)

    def parameters(self) -> dict[str, Any]:
        return dict(jsonable(self.params)) | ({"filter": self.filter} if self.filter else {})

    def make(self, run: Run) -> Any:
        """The user's object for this rule: a BaseValidator or a BaseCheck."""
        if hasattr(self.implementation, "validate"):
            return self.implementation(SimpleNamespace(type=self.type, params=dict(self.params)), run.spark)
        return self.implementation(dict(self.params), run.spark)


def _with_params(raw: Any, own: tuple[str, ...]) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    return {k: v for k, v in raw.items() if k in own} | {"params": {k: v for k, v in raw.items() if k not in own}}


def adapt_transformation(name: str, cls: type | None) -> type[Step]:
    """A step class for a ``BaseTransformation`` subclass."""
    return type(f"Custom_{name}", (CustomStep,), {"type": name, "implementation": cls, "__doc__": cls.__doc__ if cls else None})


def adapt_check(name: str, cls: type | None) -> type[Rule]:
    """A rule class for a ``BaseValidator`` or ``BaseCheck`` subclass."""
    return type(f"Custom_{name}", (CustomRule,), {"type": name, "implementation": cls, "__doc__": cls.__doc__ if cls else None})


def adapt_reader(name: str, cls: type) -> Format:
    """A format object for a ``BaseReader`` subclass."""

    class CustomReader(Format):
        readable = True

        def read(self, source: Source, run: Run) -> DataFrame:
            path = list(source.path) if isinstance(source.path, tuple) else source.path
            config = IOConfig(source.format, path, dict(source.options), schema=source.schema)
            result: DataFrame = cls(config, run.spark).read()
            return result

    CustomReader.name = name
    return CustomReader()


def adapt_writer(name: str, cls: type) -> Format:
    """A format object for a ``BaseWriter`` subclass."""

    class CustomWriter(Format):
        writable = True
        modes = None

        def write(self, df: DataFrame, output: Output, run: Run) -> Written:
            config = IOConfig(output.format, output.path, dict(output.options), output.mode, list(output.partition_by), list(output.columns))
            watch = run.engine.watch(df)
            returned = cls(config, run.spark).write(watch.df)
            rows = returned if isinstance(returned, int) and not isinstance(returned, bool) else watch.rows_written()
            return Written(rows=rows, reason=None if rows is not None else "the custom writer did not say")

    CustomWriter.name = name
    return CustomWriter()
