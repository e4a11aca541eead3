"""The Python door: run documents from a script, a notebook or the driver."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .document import SparkBlock
from .errors import Problem, SparquetError
from .lint import lint, lint_check
from .load import Loaded, load
from .registry import Kind, Registry
from .result import PipelineResult
from .run import Options, execute
from .secrets import Scrubber, mask, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("sparquet")


class Sparquet:
    """Runs pipeline documents.

    Args:
        spark: a session to use; or ``{"app_name": …, "master": …, "configs": {…}}`` for the session to create, which
            wins over the document's ``spark`` block; or None to take the active session, or create one.
        connections: the servers and logins that documents name: ``{"my_pg": {"conn_type": "postgres", "host": …}}``, or a
            URI or JSON text for each. What is not there is looked up in ``AIRFLOW_CONN_<NAME>``.
    """

    def __init__(self, spark: SparkSession | Mapping[str, Any] | None = None, connections: Mapping[str, Any] | None = None) -> None:
        self._settings: Mapping[str, Any] = spark if isinstance(spark, Mapping) else {}
        self._spark: SparkSession | None = None if isinstance(spark, Mapping) else spark
        self._connections = dict(connections or {})
        self.registry = Registry()

    # --- running -----------------------------------------------------------------------------------------------
    def run(
        self,
        path: str | Path,
        params: Mapping[str, Any] | None = None,
        input_df: DataFrame | None = None,
        columns: Mapping[str, Any] | None = None,
        input_view: str | Mapping[str, str] | None = None,
        *,
        strict: bool = False,
        root: str | Path | None = None,
        run_id: str = "",
        watermark: Mapping[str, Any] | None = None,
        connections: Mapping[str, Any] | None = None,
    ) -> PipelineResult:
        """Run the document of a file.

        Args:
            path: a ``.json``, ``.yaml`` or ``.yml`` file.
            params: the values of its ``{name}`` placeholders.
            input_df: a frame that replaces the reading of the input block.
            columns: constant columns added to the input, by name.
            input_view: publishes the input as a view: a name, or ``{"name": …, "type": "session"|"global"}``.
            strict: misspelt keys and placeholders without a value are errors, not warnings.
            root: included files outside this folder are refused.
            run_id: names the run in result and report.
            watermark: the mark of the previous run (``result.watermark``), for a document with ``watermark_columns``.
            connections: further servers and logins, for this run only.

        Returns:
            the result; a faulty document and a failed run are results too (see ``raise_for_status``).
        """
        return self._run(load(path, params, root=root, strict=strict), params, input_df, columns, input_view, strict, run_id, watermark, connections)

    def run_from_dict(
        self,
        document: Mapping[str, Any],
        params: Mapping[str, Any] | None = None,
        input_df: DataFrame | None = None,
        columns: Mapping[str, Any] | None = None,
        input_view: str | Mapping[str, str] | None = None,
        *,
        strict: bool = False,
        root: str | Path | None = None,
        run_id: str = "",
        watermark: Mapping[str, Any] | None = None,
        connections: Mapping[str, Any] | None = None,
    ) -> PipelineResult:
        """Run a document given as a mapping; see :meth:`run`. Includes are relative to the working directory."""
        loaded = load(document, params, root=root, strict=strict)
        return self._run(loaded, params, input_df, columns, input_view, strict, run_id, watermark, connections)

    def run_loaded(self, loaded: Loaded, options: Options, *, strict: bool = True, check: bool = False, warn: bool = False) -> PipelineResult:
        """Run a tree that is loaded already (the driver's way in).

        ``check`` reads it as input and rules only. ``warn`` logs what the linter warns of; operators and command did so before.
        """
        if loaded.tree is None:
            return faulty("", [p for p in loaded.problems if p.severity == "error"], loaded.problems, options)
        document: Any
        document, problems = (lint_check if check else lint)(loaded.tree, self.registry, strict=strict, files=loaded.files)
        problems = [*loaded.problems, *problems]
        errors = [p for p in problems if p.severity == "error"]
        if errors or document is None:
            return faulty(_name_of(loaded.tree), errors, problems, options)
        warnings = [p for p in problems if p.severity == "warning"]
        for warning in warnings if warn else ():
            log.warning("%s", warning)
        try:
            session = self.session(document.spark, warnings)
        except SparquetError as error:
            return faulty(document.name, list(error.problems), problems, options)
        return execute(document, self.registry, session, options, warnings)

    def _run(
        self,
        loaded: Loaded,
        params: Mapping[str, Any] | None,
        input_df: DataFrame | None,
        columns: Mapping[str, Any] | None,
        input_view: str | Mapping[str, str] | None,
        strict: bool,
        run_id: str,
        watermark: Mapping[str, Any] | None,
        connections: Mapping[str, Any] | None,
    ) -> PipelineResult:
        found = {**self._connections, **(connections or {})}
        options = Options(input_df, dict(columns or {}), input_view, run_id, mask(params or {}), watermark, found, tuple(values(params or {})))
        return self.run_loaded(loaded, options, strict=strict, warn=True)

    def session(self, block: SparkBlock, warnings: list[Problem]) -> SparkSession:
        """The session for a document: the one given, the active one, or a new one with the block's settings."""
        if self._spark is not None:
            return self._spark
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise SparquetError("PYSPARK_MISSING", cause=error) from error
        configs = {**block.configs, **self._settings.get("configs", {})}
        active = SparkSession.getActiveSession()
        if active is not None:
            lost = sorted(k for k, v in configs.items() if active.conf.get(k, None) != as_conf(v))
            if lost:
                warnings.append(Problem("SESSION_REUSED", "/spark/configs", {"found": ", ".join(lost)}, "warning"))
            return active
        builder = SparkSession.builder.appName(str(self._settings.get("app_name") or block.app_name or "Sparquet"))
        if master := self._settings.get("master") or block.master:
            builder = builder.master(str(master))
        for key, value in configs.items():
            builder = builder.config(key, as_conf(value))
        try:
            self._spark = builder.getOrCreate()
        except Exception as error:
            raise SparquetError("SESSION_FAILED", reason=f"{type(error).__name__}: {error}", cause=error) from error
        return self._spark

    # --- extending ---------------------------------------------------------------------------------------------
    def register_transformation(self, name: str, cls: type) -> None:
        """Add a transformation of your own (a ``BaseTransformation``) to this object."""
        self.registry.register("transformation", name, cls)

    def register_validator(self, name: str, cls: type) -> None:
        """Add a validator of your own (a ``BaseValidator`` or ``BaseCheck``) to this object."""
        self.registry.register("validator", name, cls)

    def register_reader(self, name: str, cls: type) -> None:
        """Add a reader of your own (a ``BaseReader``) to every ``Sparquet`` of this process."""
        self.registry.register("reader", name, cls)

    def register_writer(self, name: str, cls: type) -> None:
        """Add a writer of your own (a ``BaseWriter``) to every ``Sparquet`` of this process."""
        self.registry.register("writer", name, cls)

    def register(self, kind: Kind, name: str, cls: type) -> None:
        """Add a type of the given kind; the four methods above are shorter."""
        self.registry.register(kind, name, cls)

    def capabilities(self) -> dict[str, list[str]]:
        """The transformations, readers, writers and validators of this process, custom ones included."""
        return self.registry.capabilities()


def as_conf(value: Any) -> str:
    """A setting as Spark reads it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def faulty(name: str, errors: list[Problem], problems: list[Problem], options: Options) -> PipelineResult:
    """The result of a run that never began."""
    hide = Scrubber(options.hidden)
    errors, problems = ([replace(p, facts=hide.tree(p.facts)) for p in found] for found in (errors, problems))
    error = SparquetError.of(errors)
    return PipelineResult(
        name,
        "failed",
        errors[0].category if errors else "document",
        str(error),
        run_id=options.run_id,
        params=dict(options.params),
        rows_written=0,
        problems=errors,
        warnings=[p for p in problems if p.severity == "warning"],
    )


def _name_of(tree: Any) -> str:
    name = tree.get("name") if isinstance(tree, Mapping) else None
    return name if isinstance(name, str) else ""
