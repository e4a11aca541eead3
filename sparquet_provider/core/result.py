"""What goes to the driver and what comes back: the request and the result, as versioned strict JSON."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from .errors import Problem, SparquetError

#: Version of both formats; a reader refuses a higher major number.
FORMAT_VERSION = 1

Status = Literal["success", "skipped", "failed"]


@dataclass
class CheckResult:
    """The outcome of one rule.

    ``severity`` is pass, warn or fail; ``failed_count`` counts rows; ``error`` is set when the rule could not run.
    The first four may be given by position.
    """

    rule_type: str
    passed: bool
    message: str = ""
    failed_count: int = 0
    metric_value: Any = None
    check_name: str | None = None
    severity: str = ""
    code: str = ""
    rule_uid: str = ""
    dimension: str = ""
    target: str | None = None
    rule_params: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    rows: int | None = None
    samples: list[dict[str, Any]] | None = None
    tags: list[str] = field(default_factory=list)
    weight: float = 1
    previous_name: str | None = None

    def __post_init__(self) -> None:
        if not self.severity:
            self.severity = "pass" if self.passed else "fail"

    def __str__(self) -> str:
        return f"[{self.severity.upper()}] {self.check_name or self.code or self.rule_type}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The result as strict JSON."""
        return {f.name: jsonable(getattr(self, f.name)) for f in dataclasses.fields(self)}


@dataclass
class OutputResult:
    """What was written to one destination. ``rows_written`` is None, with ``reason``, when the engine can't tell.

    ``columns`` are those of the rows that were written, with their types.
    """

    at: str
    format: str
    path: str | None
    mode: str
    status: Literal["written", "failed", "skipped", "kept"]
    rows_written: int | None = None
    reason: str | None = None
    version: int | str | None = None
    files: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


@dataclass
class StepResult:
    """What one step did. ``seconds`` is the driver's time; ``action`` tells whether it ran a job."""

    at: str
    type: str
    seconds: float
    skipped: bool = False
    note: str | None = None


@dataclass
class PipelineResult:
    """The outcome of a run. It never raises by itself; see :meth:`raise_for_status`.

    ``status``: success, skipped (nothing to do) or failed. ``reason`` says which end it was: ``done``,
    ``stop_if_empty``, ``quality``, ``document``, ``data``, ``infrastructure`` or ``internal``.
    ``rows_read`` is what the input's scan returned, ``rows_written`` the sum over the outputs; None when unknown
    (``unknown`` says why). ``variables`` are the collected runtime values. ``watermark`` is the mark for the next run, by
    column; empty without ``watermark_columns`` and after a failure. ``quarantine`` has the sides of a split: their
    rows are not counted in ``rows_written``.
    """

    pipeline_name: str
    status: Status = "success"
    reason: str = "done"
    message: str = ""
    rows_read: int | None = None
    rows_written: int | None = None
    unknown: dict[str, str] = field(default_factory=dict)
    validation_results: list[CheckResult] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    watermark: dict[str, Any] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    outputs: list[OutputResult] = field(default_factory=list)
    report: OutputResult | None = None
    quarantine: list[OutputResult] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    started_at: str = ""
    seconds: float = 0.0
    score: float | None = None
    output_df: Any = None

    @property
    def success(self) -> bool:
        """True for success and for skipped."""
        return self.status != "failed"

    @property
    def skipped(self) -> bool:
        """True when a stop_if_empty step ended the run."""
        return self.status == "skipped"

    @property
    def error(self) -> SparquetError | None:
        """The faults of a failed run as one error, None otherwise."""
        return SparquetError.of(self.problems) if self.status == "failed" and self.problems else None

    def raise_for_status(self) -> PipelineResult:
        """Raise :class:`SparquetError` when the run failed; return the result otherwise."""
        if (error := self.error) is not None:
            raise error
        return self

    def to_dict(self) -> dict[str, Any]:
        """The result document: strict JSON, no data beyond collected variables and asked samples."""
        out: dict[str, Any] = {"format_version": FORMAT_VERSION}
        for f in dataclasses.fields(self):
            if f.name == "output_df":
                continue
            value = getattr(self, f.name)
            if f.name in ("warnings", "problems"):
                value = [p.to_dict() for p in value]
            elif f.name == "validation_results":
                value = [c.to_dict() for c in value]
            out[f.name] = jsonable(value)
        out["success"], out["skipped"] = self.success, self.skipped
        out["error"] = str(self.error) if self.error else None
        return out


@dataclass
class RunRequest:
    """What the driver is asked to do.

    Args:
        task: ``run`` a pipeline or ``check`` a source (input block and rules only).
        tree: the document with parameters bound and fragments included, as :func:`load.load` gives it.
        result_path: where the driver writes the result document: a local path or a URI that Hadoop can write.
        attempt: names this try; it stands in the result, so a late driver of another try can't answer for it.
        params: the effective parameters, for the record.
        literals: constant columns added to the input.
        input_view: ``{"name": …, "type": "session"|"global"}`` publishes the input as a view.
        watermark: the mark of the previous run.
        extensions: modules whose ``register(sparquet)`` adds custom types.
        connections: the servers and logins that the document names, by name; they stand nowhere else.
    """

    task: Literal["run", "check"]
    tree: dict[str, Any]
    result_path: str
    attempt: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    literals: dict[str, Any] = field(default_factory=dict)
    input_view: dict[str, str] | None = None
    watermark: dict[str, Any] | None = None
    extensions: list[str] = field(default_factory=list)
    strict: bool = True
    files: dict[str, str] = field(default_factory=dict)
    run_id: str = ""
    connections: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    format_version: int = FORMAT_VERSION

    def write(self, path: str | Path) -> None:
        """Write the request as a file that only its owner can read (mode 0600)."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(jsonable(dataclasses.asdict(self)), file, allow_nan=False)

    @classmethod
    def read(cls, path: str | Path) -> RunRequest:
        """Read a request; raises ValueError, with expected and got, when its version is another."""
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        if raw.get("format_version") != FORMAT_VERSION:
            raise ValueError(
                f"the request has format version {raw.get('format_version')!r}, this driver reads {FORMAT_VERSION}; submit with the same version of sparquet"
            )
        return cls(**raw)


def jsonable(value: Any) -> Any:
    """A value as strict JSON: decimals and integers beyond 2^53 as text, dates ISO, NaN and infinity null, bytes base64."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(bytes(value)).decode("ascii")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "asDict"):
        return jsonable(value.asDict(recursive=False))
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else _key(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    return str(value)


def _key(key: Any) -> str:
    plain = jsonable(key)
    return plain if isinstance(plain, str) else json.dumps(plain)
