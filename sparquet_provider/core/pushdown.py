"""What reached the sources, read from the text of a physical plan (``explain`` in its formatted mode)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NODE = re.compile(r"^\((\d+)\) (.+?)\s*(?:\[codegen id : \d+\])?\s*$")
#: Leaves that hold rows in memory: nothing can be pushed to them.
_IN_MEMORY = ("Scan ExistingRDD", "Scan OneRowRelation")
_LABELS = {
    "PartitionFilters": "partition_filters", "PushedFilters": "pushed_filters",
    "PushedAggregates": "pushed_aggregates", "PushedAggregation": "pushed_aggregates",
    "PushedGroupBy": "pushed_group_by", "PushedGroupByExpressions": "pushed_group_by", "RuntimeFilters": "runtime_filters",
}
_ICEBERG = re.compile(r"[\[ ]filters=(?P<filters>.*?)(?:, runtimeFilters=(?P<runtime>.*?))?(?:, groupedBy=(?P<group>.*?))?[\])]\s*$")
_ROW_FORMATS = ("csv", "json", "text", "xml")


@dataclass
class Scan:
    """One scan: its name, the columns it returns, and what was pushed to it (each a text, empty when nothing was)."""

    name: str
    columns: int | None = None
    partition_filters: str = ""
    pushed_filters: str = ""
    pushed_aggregates: str = ""
    pushed_group_by: str = ""
    runtime_filters: str = ""

    @property
    def pushed(self) -> bool:
        """True when the source was told anything beside the columns."""
        return any((self.partition_filters, self.pushed_filters, self.pushed_aggregates, self.pushed_group_by, self.runtime_filters))

    @property
    def advice(self) -> str:
        """What to do when nothing was pushed."""
        if self.name.split(" ")[-1] in _ROW_FORMATS or any(f"Scan {f}" in self.name for f in _ROW_FORMATS):
            return "this format reads every row; store the data as parquet, delta or iceberg when only a part is needed"
        return "filter on columns of the source right after the read, without a function or cast around them (a partition column if there is one)"


@dataclass
class Report:
    """The scans of a plan and how many Filter nodes stand above them."""

    scans: list[Scan]
    filters: int

    def lines(self) -> Iterator[str]:
        """The report for the log."""
        for scan in self.scans:
            yield f"scan {scan.name}: {'unknown' if scan.columns is None else scan.columns} columns"
            for label, value in (
                ("PartitionFilters", scan.partition_filters), ("PushedFilters", scan.pushed_filters), ("PushedAggregates", scan.pushed_aggregates),
                ("PushedGroupBy", scan.pushed_group_by), ("RuntimeFilters", scan.runtime_filters),
            ):
                yield f"  {label}: [{value}]"
            if not scan.pushed:
                yield f"  nothing was pushed to {scan.name}: {scan.advice}"
        if not self.scans:
            yield "no scan of a source: the rows are in memory"
        yield f"Filter nodes above the scans: {self.filters}" + (" (rows that were read, then thrown away)" if self.filters else "")


def read(plan: str) -> Report:
    """The report of a formatted plan."""
    scans, filters = [], 0
    for paragraph in re.split(r"\n\s*\n", plan):
        lines = paragraph.strip().splitlines()
        match = _NODE.match(lines[0]) if lines else None
        if match is None:
            continue
        name = match[2].strip()
        if name.startswith("Filter"):
            filters += 1
        elif name.startswith(("Scan", "BatchScan", "FileScan")) and not name.startswith(_IN_MEMORY):
            scans.append(_scan(name, lines[1:]))
    return Report(scans, filters)


def _scan(name: str, lines: list[str]) -> Scan:
    scan = Scan(name)
    for line in lines:
        label, _, value = line.partition(":")
        if match := re.match(r"Output \[(\d+)\]$", label):
            scan.columns = int(match[1])
        elif label in _LABELS:
            text = value.strip()
            setattr(scan, _LABELS[label], (text[1:-1] if text.startswith("[") and text.endswith("]") else text).strip())
        elif match := _ICEBERG.search(line):
            scan.pushed_filters = scan.pushed_filters or match["filters"].strip()
            scan.runtime_filters = scan.runtime_filters or (match["runtime"] or "").strip()
            scan.pushed_group_by = scan.pushed_group_by or (match["group"] or "").strip()
    # Dynamic pruning stands among the partition filters of files, and is a runtime filter.
    dynamic = [part for part in scan.partition_filters.split(", ") if "dynamicpruning" in part]
    scan.runtime_filters = scan.runtime_filters or ", ".join(dynamic)
    return scan
