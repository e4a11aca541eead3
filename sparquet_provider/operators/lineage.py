"""What OpenLineage is told: the datasets that a document reads and writes, what it says of them, and how its rules ended.

Airflow's OpenLineage provider asks the operators for it; without that provider nothing here is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..core.connections import Connection
from ..core.document import Check, Output, Pipeline, Source
from ..core.lint import lint, lint_check
from ..core.plan import sources_of
from ..core.spec import render
from .datasets import Name, names_of
from .outcome import name_of

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset

#: Facts of ``annotations`` that have a facet of their own, or none.
_NO_TAGS = ("description", "aliases", "table", "columns", "glossary")


@dataclass
class Seen:
    """What a task has seen so far: the bound document, the connections it names, and the result once there is one."""

    tree: dict[str, Any]
    task: Literal["run", "check"]
    connections: Mapping[str, Connection]
    result: dict[str, Any] | None = None


def lineage_of(seen: Seen) -> OperatorLineage:
    """The datasets and facets of a task.

    Outputs are those that the result says were written; before there is a result, those that the document names.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.facet_v2 import test_run

    document, _ = (lint if seen.task == "run" else lint_check)(seen.tree, unknown_types=True)
    if document is None:
        return OperatorLineage()
    tests = [test_run.TestExecution(**_test(rule)) for rule in (seen.result or {}).get("validation_results") or []]
    return OperatorLineage(
        inputs=_once(_inputs(document, seen)), outputs=_once(_outputs(document, seen)),
        run_facets={"test": test_run.TestRunFacet(tests)} if tests else {},
    )


def _once(datasets: Iterator[Any]) -> list[Any]:
    """Each dataset once; the first mention has the most to say."""
    found: dict[Name, Any] = {}
    for dataset in datasets:
        found.setdefault((dataset.namespace, dataset.name), dataset)
    return list(found.values())


def _inputs(document: Pipeline | Check, seen: Seen) -> Iterator[InputDataset]:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
    from openlineage.client.facet_v2 import input_statistics_input_dataset as statistics

    result = seen.result or {}
    for at, source in sources_of(document):
        names = _names(source, seen)
        facets: dict[str, Any] = {}
        if at == "/input" and len(names) == 1:
            if result.get("rows_read") is not None:
                facets["inputStatistics"] = statistics.InputStatisticsInputDatasetFacet(rowCount=result["rows_read"])
            # The rules of a check judge its input, unless it makes something else of it first.
            if isinstance(document, Check) and not document.transformations and (rules := result.get("validation_results")):
                facets["dataQualityAssertions"] = quality.DataQualityAssertionsDatasetFacet([quality.Assertion(**_assertion(rule)) for rule in rules])
        yield from (InputDataset(namespace, name, inputFacets=facets) for namespace, name in names)


def _outputs(document: Pipeline | Check, seen: Seen) -> Iterator[OutputDataset]:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import dataset_version_dataset as version
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    entries = _entries(seen.result)
    beside = document.validations.destinations if document.validations is not None else ()
    for at, output in (*document.destinations, *beside):
        entry = entries.get(at, {})
        if seen.result is not None and entry.get("status") not in ("written", "kept"):
            continue
        facets = _facts(document, seen.tree, entry) if not at.startswith("/validations") else {}
        if entry.get("version") is not None:
            facets["version"] = version.DatasetVersionDatasetFacet(str(entry["version"]))
        counts = {"rowCount": entry.get("rows_written"), "size": entry.get("bytes"), "fileCount": entry.get("files")}
        written = {"outputStatistics": statistics.OutputStatisticsOutputDatasetFacet(**counts)} if any(v is not None for v in counts.values()) else {}
        for namespace, name in _names(replace(output, path=entry.get("path") or output.path), seen):
            yield OutputDataset(namespace, name, facets=facets, outputFacets=written)


def _entries(result: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """What the result says of each destination, by its place."""
    found = result or {}
    entries = [*(found.get("outputs") or []), *(found.get("quarantine") or []), *([found["report"]] if found.get("report") else [])]
    return {entry["at"]: entry for entry in entries}


def _names(block: Source | Output, seen: Seen) -> list[Name]:
    """The datasets of a block; none while its path waits for a variable."""
    variables = (seen.result or {}).get("variables") or {}
    return names_of(render(block, variables), seen.connections.get(block.connection or ""))


# --- what the document says of its table ---------------------------------------------------------------------------------
def _facts(document: Pipeline | Check, tree: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Description, owners, tags and columns as facets of the table."""
    from openlineage.client.facet_v2 import documentation_dataset, ownership_dataset, schema_dataset, tags_dataset

    notes: Mapping[str, Any] = tree.get("annotations") or {}
    table: dict[str, Any] = {**notes, **(notes.get("table") or {})}
    described: Mapping[str, Any] = notes.get("columns") or {}
    facets: dict[str, Any] = {}
    if document.annotations is not None and document.annotations.table_comment:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(document.annotations.table_comment)
    if owners := list(_owners((tree.get("operations") or {}).get("owners"))):
        facets["ownership"] = ownership_dataset.OwnershipDatasetFacet([ownership_dataset.Owner(name, kind) for name, kind in owners])
    tags = [(key, value, None) for key, value in _tags(table)]
    tags += [(key, value, column) for column, facts in described.items() for key, value in _tags(facts)]
    if tags:
        fields = tags_dataset.TagsDatasetFacetFields
        facets["tags"] = tags_dataset.TagsDatasetFacet([fields(key, value, source="USER", field=column) for key, value, column in tags])
    if columns := entry.get("columns"):
        facets["schema"] = schema_dataset.SchemaDatasetFacet([
            schema_dataset.SchemaDatasetFacetFields(name, kind, (described.get(name) or {}).get("description")) for name, kind in columns.items()
        ])
    return facets


def _owners(given: Any) -> Iterator[tuple[str, str | None]]:
    """Owners as a name, a list of names, or names by their role."""
    if isinstance(given, Mapping):
        yield from ((str(name), str(role)) for role, names in given.items() for name in (names if isinstance(names, list) else [names]))
    elif given:
        yield from ((str(name), None) for name in (given if isinstance(given, list) else [given]))


def _tags(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tags as they are, and every simple fact (``pii: true``) as a tag with a value."""
    for key, value in facts.items():
        if key == "tags":
            yield from ((str(tag), "true") for tag in (value if isinstance(value, list) else [value]))
        elif key not in _NO_TAGS and isinstance(value, str | int | float):
            yield key, str(value).lower() if isinstance(value, bool) else str(value)


# --- how the rules ended -------------------------------------------------------------------------------------------------
def _test(rule: Mapping[str, Any]) -> dict[str, Any]:
    severity = "warn" if rule.get("severity") == "warn" else "error"
    return {**_told(rule), "name": name_of(rule), "status": "pass" if rule.get("passed") else "fail", "severity": severity, "type": rule.get("rule_type")}


def _assertion(rule: Mapping[str, Any]) -> dict[str, Any]:
    column = (rule.get("rule_params") or {}).get("column")
    found = {"column": column} if isinstance(column, str) else {}
    return {**_told(rule), **found, "name": name_of(rule), "assertion": str(rule.get("rule_type")), "success": bool(rule.get("passed"))}


def _told(rule: Mapping[str, Any]) -> dict[str, Any]:
    metric = rule.get("metric_value")
    return {"description": rule.get("message"), "actual": None if metric is None else str(metric)}
