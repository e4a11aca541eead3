"""The error catalogue: every fault has a code, a place, the facts and a remedy.

A fault is a :class:`Problem` (a value). :class:`SparquetError` carries one or more of them. The words live here
only; the code that finds a fault supplies the facts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Category = Literal["document", "data", "quality", "infrastructure", "internal"]
Severity = Literal["error", "warning"]


class Entry(NamedTuple):
    """One line of the catalogue: who must act, what happened (a format string over the facts), what to do."""

    category: Category
    message: str
    remedy: str


CATALOGUE: Mapping[str, Entry] = {
    # --- text, parameters, includes -------------------------------------------------------------------------
    "DOCUMENT_NOT_FOUND": Entry("document", "there is no document at {found}", "Check the path; a relative one is looked up in {expected}."),
    "DOCUMENT_NOT_READABLE": Entry("document", "{found} could not be read: {reason}", "Give the process the right to read a UTF-8 file."),
    "INVALID_JSON": Entry("document", "the text is not valid JSON: {reason} (line {line}, column {column})", "Mend the text at that place."),
    "INVALID_YAML": Entry("document", "the text is not valid YAML: {reason}", "Mend the text at that place."),
    "YAML_NOT_INSTALLED": Entry("document", "{found} is YAML, and PyYAML is not installed", "Install PyYAML or write the document as JSON."),
    "DUPLICATE_KEY": Entry("document", "the key {found!r} stands twice in one object; only the last would count", "Remove one of them."),
    "PARAMETER_WITHOUT_VALUE": Entry("document", "the placeholder {found} has no value{nearest}", "Pass the parameter (pipeline_params, --param NAME=VALUE, params=), or write the text without braces."),
    "PARAMETER_NOT_USED": Entry("document", "nothing uses the parameter {found!r}{nearest}", "Remove it, or use it as {{{found}}} in the document."),
    "PARAMETER_TYPE": Entry("document", "the parameter {found!r} is a {type}, which has no text form", "Pass text, a number, a boolean, a date, or a flat list of them."),
    "PARAMETER_NAME": Entry("document", "{found!r} cannot be a parameter's name", "Use letters, digits and _, not starting with a digit."),
    "VARIABLE_NOT_COLLECTED": Entry("document", "no earlier step collects the variable {found}{nearest}", "Add a collect step before this one; for a run parameter write single braces."),
    "INCLUDE_NOT_FOUND": Entry("document", "the included file {found} does not exist", "The path is relative to the including file, {expected}."),
    "INCLUDE_CYCLE": Entry("document", "files include each other in a circle: {found}", "Break the circle."),
    "INCLUDE_OUTSIDE_ROOT": Entry("document", "the included file {found} lies outside {expected}", "Keep fragments inside that folder."),
    "INCLUDE_MISPLACED": Entry("document", "$include has neighbours ({found}); the fragment replaces the whole object", "Write the object with $include alone."),
    "INCLUDE_NOT_STEPS": Entry("document", "the included file {found} holds {type}", "A fragment is one transformation or a list of them."),
    "RESERVED_CHARACTER": Entry("document", "the text holds the reserved character {found}", "Remove it; U+FDD0 to U+FDD3 and halves of a character (U+D800 to U+DFFF) cannot stand in a document."),
    # --- form -----------------------------------------------------------------------------------------------
    "WRONG_TYPE": Entry("document", "found {found}, expected {expected}", "Change the value{hint}."),
    "MISSING_KEY": Entry("document", "the key {expected!r} is missing{nearest}", "Add it{hint}."),
    "UNKNOWN_KEY": Entry("document", "the key {found!r} is not known here{nearest}", "Correct or remove it; known keys: {expected}."),
    "MISSPELT_KEY": Entry("document", "the key {found!r} is not known here{nearest}", "Write the key as shown; known keys: {expected}."),
    "UNKNOWN_TYPE": Entry("document", "there is no {kind} of type {found!r}{nearest}", "Use one of: {expected}; or register your own."),
    "WRONG_CHOICE": Entry("document", "found {found!r}, expected one of {expected}{nearest}", "Use one of the listed values."),
    "TOO_SMALL": Entry("document", "found {found}, expected at least {expected}", "Use a larger number."),
    "EMPTY_VALUE": Entry("document", "the value is empty, expected {expected}", "Give a value{hint}."),
    "KEYS_EXCLUDE": Entry("document", "{found} cannot stand together: {reason}", "Keep one of them."),
    "INVALID_COMBINATION": Entry("document", "{reason}", "{remedy}"),
    "OUTPUTS_WIN": Entry("document", "output and outputs are both given; output is ignored", "Remove one of them."),
    "THRESHOLD_INVALID": Entry("document", "{found!r} is no condition for this rule: {reason}", "Write a condition such as {expected}."),
    "PACKAGE_VERSION": Entry("document", "the package {found} is built for another Spark or Scala line", "Use {expected}."),
    "MODE_NOT_SUPPORTED": Entry("document", "the format {format!r} cannot write with mode {found!r}", "Use one of: {expected}."),
    "MERGE_KEYS_MISSING": Entry("document", "mode {found} needs options.merge_keys", "Name the columns that identify a row, such as [\"id\"]."),
    "FORMAT_NOT_WRITABLE": Entry("document", "the format {found!r} can only be read", "Use one of: {expected}."),
    "FORMAT_NOT_READABLE": Entry("document", "the format {found!r} can only be written", "Use one of: {expected}."),
    "RESERVED_NAME": Entry("document", "the name {found!r} is reserved", "Choose another name."),
    "SOURCE_OVERWRITTEN": Entry("document", "this overwrites {found}, which the same run reads; the source would be lost", "Write to another path, or use a table format (delta, iceberg)."),
    "OUTPUTS_COLLIDE": Entry("document", "two destinations write to {found}; the later would overwrite the earlier", "Give each its own path, or append."),
    "KEY_MISPLACED": Entry("document", "the key {found!r} has no place here", "Move it to {expected}."),
    "RESERVED_COLUMN": Entry("document", "{found!r} is the name of a control column that the run makes", "Choose another name; reserved: {expected}."),
    "PATH_INVALID": Entry("document", "the path {found} cannot be followed: {reason}", "{remedy}"),
    "SCHEMA_INVALID": Entry("document", "{found!r} is no schema: {reason}", "Write it as Spark DDL, such as STRUCT<id:STRING,tags:ARRAY<STRING>>."),
    "BRONZE_CARDINALITY": Entry("document", "{found} changes the number of rows, and the layer bronze keeps the records of the source", "Do it in silver, or set allow_cardinality_change_on_bronze in shape."),
    "CARTESIAN_EXPLODE": Entry("document", "{found} and {expected} are arrays of one parent ({parent}); exploding both pairs every item of one with every item of the other", "Use zip_arrays when they belong together, keep one of them as an array, or set allow_cartesian."),
    # --- found with a schema or while running ---------------------------------------------------------------
    "COLUMN_NOT_FOUND": Entry("data", "there is no column {found!r}{nearest}", "Correct the name; columns here: {expected}."),
    "COLUMN_AMBIGUOUS": Entry("data", "the column {found!r} stands twice: {reason}", "Rename or drop one of them; in a join, address it through l or r."),
    "COLUMN_COLLISION": Entry("data", "the result would hold the column {found!r} twice", "Choose another name."),
    "COLUMN_TYPE": Entry("data", "{found!r} is {type}, expected {expected}", "{remedy}"),
    "FLATTEN_COLLISION": Entry("data", "flattening gives the name {found!r} to both {expected}", "Choose another separator, or exclude one of them."),
    "WATERMARK_INVALID": Entry("document", "the watermark {found} does not fit: {reason}", "Pass the mark that an earlier run of this document returned, or none for a full run."),
    "CAST_IMPOSSIBLE": Entry("data", "the column {found!r} is {type} and can never become {expected}", "Convert through another type, or use an expression in with_column."),
    "TYPE_INVALID": Entry("document", "{found!r} is not a Spark type{nearest}", "Use a Spark SQL type such as int, decimal(18,2), date or array<string>."),
    "SQL_INVALID": Entry("document", "the SQL text is not valid: {reason}", "Correct the expression."),
    "EXPRESSION_FAILED": Entry("data", "{reason}", "Correct the expression, or filter the rows that break it; try_cast and try_divide give null instead."),
    "VALUE_FAILED": Entry("data", "a value broke the computation: {reason}", "Filter or repair such rows, or use a try_ function, which gives null instead."),
    "STRUCT_CONFLICT": Entry("document", "the field {found!r} is both a value and a parent of other fields", "Rename one of them."),
    "STRUCT_DUPLICATE": Entry("document", "the field {found!r} is given twice", "Remove one of them."),
    "UNION_MISMATCH": Entry("data", "the two sides do not fit: left ({left}), right ({right})", "Select the same columns on both sides, or set allow_missing_columns."),
    "TOO_MANY_VALUES": Entry("data", "the column {found!r} has more than {expected} distinct values", "Use a join with how=leftsemi (or leftanti) against the list, or raise max_values."),
    "SOURCE_NOT_FOUND": Entry("data", "the {format} source {found} does not exist", "Check the path or table name, and the rights of the driver."),
    "SOURCE_EMPTY": Entry("data", "the {format} source {found} holds no file with data (hidden ones do not count), so it has no columns", "Give a schema in the block, or wait for the data."),
    "SOURCE_NOT_READABLE": Entry("data", "the {format} source {found} could not be read: {reason}", "Check that the data has this format."),
    "SOURCE_VERSION_NOT_FOUND": Entry("data", "the {format} table {found} has no such version: {reason}", "Use a version that the table's history holds."),
    "CONNECTOR_MISSING": Entry("document", "the connector for {found!r} is not on the class path", "Add the package {expected} (spark.jars.packages), or its jars."),
    "CONNECTION_NOT_FOUND": Entry("document", "there is no connection {found!r}{nearest}", "Create it in Airflow (airflow connections add), pass it by connections={{…}}, or set the variable {expected} to its JSON or URI."),
    "CONNECTION_INVALID": Entry("document", "the connection {found!r} could not be read: {reason}", "Give its fields as Airflow names them (conn_type, host, port, schema, login, password, extra), or a URI."),
    "CONNECTION_TYPE": Entry("document", "the connection {found!r} has the type {type!r}, which the format {format} cannot use", "Name a connection of type {expected}."),
    "CONNECTION_INCOMPLETE": Entry("document", "the connection {found!r} lacks {reason}", "Fill in that field, or give it in options."),
    "LOGIN_REFUSED": Entry("document", "{found} refused the login: {reason}", "Correct login and password of the connection, or the user's rights."),
    "SERVER_UNREACHABLE": Entry("infrastructure", "{found} could not be reached: {reason}", "Check host and port, and that the driver's machine may connect to it; the run may be tried again."),
    "DATABASE_REFUSED": Entry("data", "{found} refused the rows: {reason}", "Make the rows fit the table (types, lengths, keys); nothing of this write was kept."),
    "CATALOG_NEEDED": Entry("document", "{reason}", "Use a catalog table name such as lake.db.orders, and configure the catalog in spark.configs."),
    "DUPLICATE_MERGE_KEYS": Entry("data", "{found} rows of the source share a merge key with another ({keys} keys); one target row would match many", "Deduplicate on {expected} before the merge.{sample}"),
    "START_MISSING": Entry("data", "{count} rows have no value in {found!r}, where their version starts", "Fill the column, or filter such rows."),
    "EMPTY_SNAPSHOT": Entry("data", "the snapshot is empty; all {count} rows of {found} that are not deleted yet would be marked as deleted", "Check the source; when that is meant, set options.allow_empty_snapshot to true."),
    "MERGE_TARGET_COLUMN": Entry("data", "the target has no column {found!r}", "{remedy}"),
    "TARGET_EXISTS": Entry("data", "mode error: {found} exists already", "Use another mode or another path."),
    "TYPE_NOT_STORABLE": Entry("data", "the column {found!r} is {type}, which {format} cannot hold", "Turn it into text first (to_json, hex), flatten it, or leave it out by columns."),
    "SCHEMA_MISMATCH": Entry("data", "the frame does not fit the table {found}: {reason}", "Select and cast the columns that the table has; options.mergeSchema adds columns, options.overwriteSchema replaces schema and partitioning."),
    "WRITE_CONFLICT": Entry("infrastructure", "another writer changed {found} at the same time", "Run again; the transaction left nothing behind."),
    "NEEDS_CHECKPOINT_DIR": Entry("document", "method checkpoint needs spark.checkpoint.dir", "Set it in spark.configs, or use localCheckpoint."),
    "QUALITY_FAILED": Entry("quality", "{count} of {total} rules failed: {found}", "See the result of each rule; nothing is written to outputs before the rules hold."),
    "EXTENSION_FAILED": Entry("document", "the extension {found} failed: {reason}", "Correct the extension's code."),
    "EXTENSION_NOT_FOUND": Entry("document", "the extension {found} could not be imported: {reason}", "Ship the module with the run (extensions=[…]) or install it on the cluster."),
    "PYSPARK_MISMATCH": Entry("infrastructure", "pyspark {found} and pyspark-client {expected} are both installed and share one folder", "Install the same version of both: pip install 'pyspark=={found}' 'pyspark-client=={found}'."),
    "PYSPARK_MISSING": Entry("infrastructure", "pyspark is not installed where the run takes place", "Run: pip install 'airflow-provider-sparquet[spark]'."),
    "SESSION_FAILED": Entry("infrastructure", "the Spark session could not be started: {reason}", "Check Java 17 (apt-get install openjdk-17-jre-headless), the master and the connection."),
    "ENGINE_FAILED": Entry("infrastructure", "Spark failed: {reason}", "See the task log; the run may be tried again."),
    "RESULT_MISSING": Entry("infrastructure", "the driver ended without a result: {reason}", "See the driver's log; it was probably killed (memory, preemption)."),
    "INTERNAL": Entry("internal", "{reason}", "This is a fault of sparquet itself; please report it with the trace in the log."),
    # --- warnings -------------------------------------------------------------------------------------------
    "SECRET_IN_DOCUMENT": Entry("document", "the option {found!r} is written in the document in plain text", "Put it into an Airflow connection and name that: \"connection\": \"my_connection\"."),
    "THRESHOLD_IDLE": Entry("document", "the condition {found!r} decides nothing: {reason}", "Correct its number or its operator, or remove it."),
    "NOTHING_CHANGED": Entry("data", "{reason}", "Remove the entry, or correct it."),
    "VALUES_LOST": Entry("data", "{count} of the values in {found!r} could not become {expected}: null now", "Clean the values before the cast if that is not wanted."),
    "VALUES_LOST_UNKNOWN": Entry("data", "values that {found} lost were not counted: {reason}", "Put the cast after the filters, or look for nulls with a rule."),
    "ROWS_MALFORMED": Entry("data", "{count} of the rows in {found} did not fit the columns: cut or filled", "Set mode=FAILFAST in options to refuse them, or give the right schema."),
    "JSON_NOT_PARSED": Entry("data", "{count} of the texts in {found!r} could not be read as JSON of the type {expected}: null now", "Correct the schema, or look at those texts at the source."),
    "LATE_ROWS": Entry("data", "{count} rows start no later than the current version of their key and differ from the history of {found}; they were not applied", "History is never rewritten: send the versions of a key in their order, or correct the table by hand."),
    "WATERMARK_KEPT": Entry("data", "the mark of the previous run stays: {reason}", "Nothing to do; the next run reads the same rows again."),
    "METHOD_UNKNOWN": Entry("document", "checkpoint method {found!r} is not known{nearest}; the step was skipped", "Use localCheckpoint or checkpoint."),
    "MANY_VALUES": Entry("data", "the variable {found!r} holds {count} values; such a list slows planning and pushdown", "Consider a leftsemi join."),
    "COLUMN_REPLACED": Entry("data", "the source's own column {found!r} was replaced", "Rename it at the source to keep it."),
    "SAME_NAMES_OTHER_ORDER": Entry("data", "both sides have the same column names in another order; they are matched by position", "Set allow_missing_columns to match by name."),
    "ENGINE_WITHOUT": Entry("infrastructure", "this engine has no {found}; {expected}", "Nothing to do, unless the figures or the speed matter."),
    "BUILT_IN_REPLACED": Entry("document", "the built-in {kind} {found!r} was replaced", "Choose another name unless that is meant."),
    "RULE_FAILED": Entry("quality", "{reason}", "Look at the rows that the rule names."),
    "SESSION_REUSED": Entry("infrastructure", "a session runs already; these settings could not be applied: {found}", "Set them when the session is created (the cluster, spark-submit)."),
    "RESULT_TRIMMED": Entry("infrastructure", "the result is larger than {expected} bytes; left out of XCom: {found}", "The full result is at {place}."),
    "CANCELLED": Entry("infrastructure", "the run was ended: {reason}", "Run it again."),
}


@dataclass(frozen=True)
class Problem:
    """One fault: code, place (JSON Pointer), facts; its words come from the catalogue.

    ``at`` is ``""`` for the document as a whole. ``file`` names the included fragment the place came from.
    """

    code: str
    at: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"
    file: str | None = None

    @property
    def category(self) -> Category:
        """Who must act: the author (document, data, quality) or the operator of the platform."""
        return CATALOGUE[self.code].category

    @property
    def message(self) -> str:
        """What was found and what was expected, one sentence without the place."""
        return _fill(CATALOGUE[self.code].message, self.facts)

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _fill(CATALOGUE[self.code].remedy, self.facts)

    def __str__(self) -> str:
        place = self.at or "/"
        origin = f" (in {self.file})" if self.file else ""
        return f"[{self.code}] {place}{origin}: {self.message}. {self.remedy}"

    def to_dict(self) -> dict[str, Any]:
        """The fault as strict JSON."""
        return {
            "code": self.code, "at": self.at, "file": self.file, "severity": self.severity, "category": self.category,
            "message": self.message, "remedy": self.remedy,
        }


class SparquetError(Exception):
    """A user-facing fault; ``problems`` holds every one that was found.

    Raised inside the core and by ``result.raise_for_status()``. ``retryable`` is true when only the infrastructure
    is to blame, so that a scheduler may try again.
    """

    def __init__(self, code: str, at: str = "", *, cause: BaseException | None = None, **facts: Any) -> None:
        self.problems: tuple[Problem, ...] = (Problem(code, at, facts),)
        super().__init__(str(self.problems[0]))
        self.__cause__ = cause

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> SparquetError:
        """One error for many faults."""
        items = tuple(problems)
        error = cls.__new__(cls)
        Exception.__init__(error, "\n".join(map(str, items)))
        error.problems = items
        return error

    @property
    def code(self) -> str:
        """The code of the first fault."""
        return self.problems[0].code

    @property
    def retryable(self) -> bool:
        """True when every fault lies with the infrastructure."""
        return all(p.category == "infrastructure" for p in self.problems)

    def below(self, at: str) -> SparquetError:
        """The same error, its places read as relative to ``at``; places that begin with it stay."""
        return SparquetError.of(
            Problem(p.code, p.at if p.at == at or p.at.startswith(at + "/") else at + p.at, p.facts, p.severity, p.file) for p in self.problems
        )

    def located(self, at: str) -> SparquetError:
        """The same error, with ``at`` put in front of places that are relative."""
        return SparquetError.of(Problem(p.code, p.at or at, p.facts, p.severity, p.file) for p in self.problems)


class _Facts(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


#: Facts that tell more than a name or a value may be longer.
_LONG = {"reason": 1000, "remedy": 1000, "sample": 1000, "left": 1000, "right": 1000, "hint": 1000}


def _short(value: Any, most: int) -> Any:
    """The value itself, or the beginning of its text when that is long."""
    if isinstance(value, bool | float | None):
        return value
    text = str(value)
    return value if len(text) <= most else text[: most - 1] + "…"


def _fill(template: str, facts: Mapping[str, Any]) -> str:
    values = _Facts({name: _short(value, _LONG.get(name, 200)) for name, value in facts.items() if name != "expected"})
    if isinstance(expected := facts.get("expected"), list | tuple | set | frozenset):
        names = [str(_short(str(name), 200)) for name in expected]
        values["expected"] = ", ".join(names[:60]) + (f" and {len(names) - 60} more" if len(names) > 60 else "")
    elif "expected" in facts:
        values["expected"] = _short(expected, 200)
    if isinstance(values.get("nearest"), str) and values["nearest"]:
        values["nearest"] = f"; nearest: {values['nearest']!r}"
    return template.format_map(values)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like ``name``, or an empty text when none is near."""
    names = [str(k) for k in known]
    folded = {k.casefold(): k for k in reversed(names)}
    found = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def is_near_miss(name: str, known: Iterable[str]) -> bool:
    """True when ``name`` is very probably a misspelling of a known name (``transformatons``)."""
    return bool(difflib.get_close_matches(name.casefold(), [str(k).casefold() for k in known], n=1, cutoff=0.8))


def pointer(*parts: str | int) -> str:
    """A JSON Pointer (RFC 6901) from its parts: ``pointer("columns", "a/b")`` is ``/columns/a~1b``."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in parts)
