"""The command ``sparquet``: it parses arguments, calls the core and prints; no rule of its own.

Exit codes: 0 success or skipped, 1 the run failed, 2 wrong usage or a document with errors, 3 quality failed.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import __version__
from .core import bundle
from .core.__main__ import load_extension
from .core.connections import Connections
from .core.errors import Problem, SparquetError
from .core.gates import as_check, kind_of, validations_of
from .core.jars import resolve
from .core.lint import lint, lint_check
from .core.load import Loaded, load
from .core.page import page
from .core.plan import explain
from .core.registry import Registry
from .core.result import PipelineResult
from .core.run import Options
from .core.schema import pipeline_schema
from .core.secrets import mask, values
from .core.sparquet import Sparquet
from .hooks.settings import is_local, settle

SUCCESS, RUN_FAILED, USAGE, QUALITY_FAILED = 0, 1, 2, 3


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = command_line()
    args = parser.parse_args(argv)
    try:
        handler: Callable[[argparse.Namespace], int] = args.handler
        return handler(args)
    except SparquetError as error:
        _print_problems(list(error.problems), args)
        return USAGE
    except OSError as error:  # a path that was given cannot be read or written
        reason = f"{error.filename or 'a path'} cannot be used ({error.strerror or error})"
        _print_problems([Problem("INVALID_COMBINATION", "", {"reason": reason, "remedy": "Name another path, or mend that one."})], args)
        return USAGE


def command_line() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    parser = argparse.ArgumentParser(
        prog="sparquet", description="Declarative Spark pipelines.",
        epilog="Exit codes: 0 success or skipped, 1 the run failed, 2 wrong usage or a document with errors, 3 quality rules failed.",
    )
    parser.add_argument("--version", action="version", version=f"sparquet {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, handler: Callable[[argparse.Namespace], int], text: str, *, document: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(handler=handler)
        sub.add_argument("--json", action="store_true", help="print JSON for machines")
        if document:
            sub.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="the text value of a {NAME} placeholder")
            sub.add_argument("--param-json", action="append", default=[], metavar="NAME=JSON", help="its value as JSON: a number, a list, true, null")
            sub.add_argument(
                "--extension", action="append", default=[], metavar="MODULE", help="a module or .py file whose register(sparquet) adds custom types"
            )
            sub.add_argument("--no-strict", dest="strict", action="store_false", help="misspelt keys and placeholders without a value are only warnings")
        return sub

    run = command("run", _run, "Run a pipeline document on this machine or a given master.", document=True)
    run.add_argument("file", help="a .json, .yaml or .yml document")
    run.add_argument("--watermark", metavar="JSON", help="the mark that an earlier run returned, for a document with watermark_columns")
    check = command("check", _check, "Check data by rules. Of a pipeline document input, steps and rules are checked, and nothing is written.", document=True)
    check.add_argument("file", nargs="?", help="a check document, or a pipeline document; otherwise --source and --rules")
    check.add_argument("--source", metavar="PATH", help="what is checked: a path or a table name")
    check.add_argument("--format", metavar="FORMAT", help="the format of --source (parquet by default)")
    check.add_argument("--rules", metavar="FILE", help="a .json or .yaml file with a list of rules, or a validations block")
    check.add_argument("--html", metavar="FILE", help="write the report as a page")
    for sub in (run, check):
        sub.add_argument("--master", help="the Spark master (local[*] by default)")
        sub.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a spark.* setting; wins over the document's")
    defects = command("lint", _lint, "Report every defect of documents (pipelines and checks) without starting Spark.", document=True)
    defects.add_argument("file", nargs="+", help="documents")
    plan = command("explain", _explain, "Print the plan of a document without starting Spark.", document=True)
    plan.add_argument("file", help="a document")
    command("schema", _schema, "Print the JSON Schema of pipeline documents.")
    able = command("capabilities", _capabilities, "Print the transformations, readers, writers and validators.")
    able.add_argument("--extension", action="append", default=[], metavar="MODULE", help="a module or .py file whose register(sparquet) adds custom types")
    zipped = command("bundle", _bundle, "Write the core as a zip for --py-files, notebooks and other clusters.")
    zipped.add_argument("folder", nargs="?", default=".", help="where to write it (here by default)")
    return parser


# --- commands ------------------------------------------------------------------------------------------------------
def _run(args: argparse.Namespace) -> int:
    return _finish(_start(args, load(args.file, _params(args), strict=args.strict)), args, _summary)


def _check(args: argparse.Namespace) -> int:
    if args.html and (Path(args.html).is_dir() or not Path(args.html).absolute().parent.is_dir()):
        raise SparquetError("INVALID_COMBINATION", reason=f"--html {args.html} is no file in a folder", remedy="Name a file; make its folder first.")
    result = _start(args, _check_document(args), check=True)
    if args.html:
        Path(args.html).write_text(page(result.to_dict()), encoding="utf-8")
    return _finish(result, args, _verdict)


def _check_document(args: argparse.Namespace) -> Loaded:
    """The document of ``check``: that of the file, or one made of ``--source`` and ``--rules``."""
    if args.file and not (args.source or args.rules or args.format):
        loaded = load(args.file, _params(args), strict=args.strict)
        return Loaded(as_check(loaded.tree), loaded.problems, loaded.files)
    if args.file or not (args.source and args.rules):
        raise SparquetError("INVALID_COMBINATION", reason="check takes a FILE, or --source and --rules", remedy="See: sparquet check --help.")
    rules = load(args.rules, _params(args), strict=args.strict)
    if rules.tree is None:
        return rules
    tree = {
        "name": Path(args.rules).stem, "input": {"format": args.format or "parquet", "path": args.source}, "validations": validations_of(rules.tree),
    }
    return Loaded(tree, rules.problems, {"/validations": args.rules})


def _start(args: argparse.Namespace, loaded: Loaded, *, check: bool = False) -> PipelineResult:
    """Run a document on the master that the arguments name."""
    watermark = _json(args.watermark, "--watermark") if getattr(args, "watermark", None) else None
    if watermark is not None and not isinstance(watermark, dict):
        raise SparquetError("WRONG_TYPE", found=repr(args.watermark), expected='an object after --watermark, such as {"updated_at": "2026-01-31"}', hint="")
    _log_to_stderr()
    master = args.master or "local[*]"
    configs: dict[str, str] = {}
    if isinstance(loaded.tree, dict):
        configs = _settings(loaded.tree, master, _pairs(args.conf, "--conf"))
    sparquet = Sparquet({"master": master, "configs": configs})
    for extension in args.extension:
        load_extension(extension, sparquet)
    params = _params(args)
    return sparquet.run_loaded(loaded, Options(params=mask(params), watermark=watermark, hidden=tuple(values(params))), strict=args.strict, check=check)


def _finish(result: PipelineResult, args: argparse.Namespace, words: Callable[[PipelineResult], str]) -> int:
    """Print a result; the exit code that it deserves."""
    print(json.dumps(result.to_dict(), ensure_ascii=False, indent=2) if args.json else words(result))
    if result.success:
        return SUCCESS
    return {"quality": QUALITY_FAILED, "document": USAGE}.get(result.reason, RUN_FAILED)


def _settings(tree: dict[str, Any], master: str, conf: dict[str, Any]) -> dict[str, str]:
    """The session's settings, as an operator would submit them; connector jars come from the cache on a local master."""
    chosen = settle(tree, master=master, conf=conf, kind_of=Connections().kind)
    if not chosen.packages:
        return chosen.conf
    if is_local(master):
        return {**chosen.conf, "spark.jars": ",".join(filter(None, [chosen.conf.get("spark.jars"), *resolve(chosen.packages)]))}
    return {**chosen.conf, "spark.jars.packages": ",".join(chosen.packages)}


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def _lint(args: argparse.Namespace) -> int:
    types = _types(args)
    found: dict[str, list[Problem]] = {}
    kinds: dict[str, str] = {}
    for file in args.file:
        loaded = load(file, _params(args), strict=args.strict)
        found[file] = [*loaded.problems, *_linted(loaded, types, args)[1]]
        kinds[file] = kind_of(loaded.tree)
    if args.json:
        print(json.dumps({f: [p.to_dict() for p in ps] for f, ps in found.items()}, ensure_ascii=False, indent=2))
    else:
        for file, problems in found.items():
            for problem in problems:
                print(f"{file}: {problem.severity}: {problem}")
            if not problems:
                print(f"{file}: ok" + (" (a check: it has rules and no output)" if kinds[file] == "check" else ""))
    return USAGE if any(p.severity == "error" for ps in found.values() for p in ps) else SUCCESS


def _linted(loaded: Loaded, types: Registry, args: argparse.Namespace) -> tuple[Any, list[Problem]]:
    """The document (None when it has errors) and its problems; a check document is read as one."""
    if loaded.tree is None:
        return None, []
    return (lint_check if kind_of(loaded.tree) == "check" else lint)(loaded.tree, types, strict=args.strict, files=loaded.files)


def _explain(args: argparse.Namespace) -> int:
    loaded = load(args.file, _params(args), strict=args.strict)
    document, problems = _linted(loaded, _types(args), args)
    problems = [*loaded.problems, *problems]
    if document is None or any(p.severity == "error" for p in problems):
        _print_problems(problems, args)
        return USAGE
    lines = explain(document)
    print(json.dumps({"plan": lines, "warnings": [p.to_dict() for p in problems]}, ensure_ascii=False, indent=2) if args.json else "\n".join(lines))
    return SUCCESS


def _schema(args: argparse.Namespace) -> int:
    print(json.dumps(pipeline_schema(), ensure_ascii=False, indent=2))
    return SUCCESS


def _capabilities(args: argparse.Namespace) -> int:
    print(json.dumps(_types(args).capabilities(), ensure_ascii=False, indent=2))
    return SUCCESS


def _bundle(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = bundle.build(folder)
    print(json.dumps({"path": str(path), "bytes": path.stat().st_size}) if args.json else path)
    return SUCCESS


# --- arguments -----------------------------------------------------------------------------------------------------
def _types(args: argparse.Namespace) -> Registry:
    sparquet = Sparquet()
    for extension in args.extension:
        load_extension(extension, sparquet)
    return sparquet.registry


def _params(args: argparse.Namespace) -> dict[str, Any]:
    params: dict[str, Any] = _pairs(args.param, "--param")
    for name, text in _pairs(args.param_json, "--param-json").items():
        params[name] = _json(text, f"--param-json {name}=")
    return params


def _json(text: str, option: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    def number(digits: str) -> float:
        return refuse(digits) if math.isinf(float(digits)) else float(digits)  # type: ignore[return-value]

    try:
        return json.loads(text, parse_constant=refuse, parse_float=number)
    except (ValueError, RecursionError) as error:
        raise SparquetError("WRONG_TYPE", found=repr(text[:80]), expected=f"JSON after {option}", hint="") from error


def _pairs(items: list[str], option: str) -> dict[str, Any]:
    for item in items:
        if "=" not in item:
            raise SparquetError("WRONG_TYPE", found=repr(item), expected=f"NAME=VALUE after {option}", hint="")
    return {k: v for k, _, v in (item.partition("=") for item in items)}


# --- words ---------------------------------------------------------------------------------------------------------
def _print_problems(problems: list[Problem], args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps({"problems": [p.to_dict() for p in problems]}, ensure_ascii=False, indent=2))
    else:
        for problem in problems:
            print(f"{problem.severity}: {problem}", file=sys.stderr)


def _summary(result: PipelineResult) -> str:
    lines = [f"{result.pipeline_name or 'document'}: {result.status}" + (f" ({result.reason})" if result.status != "success" else "")]
    lines += [f"  {problem}" for problem in result.problems]
    if result.skipped:
        lines.append(f"  {result.message}")
    lines.append(f"  rows read: {_count(result.rows_read)}, rows written: {_count(result.rows_written)}, {result.seconds} s")
    lines += [f"  {o.at}: {o.format} {o.path or ''} {o.mode}: {o.status}, {_count(o.rows_written)} rows" for o in [*result.outputs, *result.quarantine]]
    lines += [f"  rule {check}" for check in result.validation_results]
    lines += [f"  variable {name} = {value!r}"[:120] for name, value in result.variables.items()]
    if result.watermark:
        lines.append(f"  watermark: {json.dumps(result.watermark)}")
    lines += [f"  warning: {problem}" for problem in result.warnings]
    return "\n".join(lines)


def _verdict(result: PipelineResult) -> str:
    score = "" if result.score is None else f", score {result.score:.0%}"
    lines = [f"{result.pipeline_name or 'document'}: {result.status}" + (f" ({result.reason})" if result.status != "success" else "") + score]
    for rule in result.validation_results:
        name = f" ({rule.check_name})" if rule.check_name else ""
        lines.append(f"  {rule.severity.upper():<4} {rule.code or rule.rule_type}{name}: {' '.join(rule.message.split())}")
    lines += [f"  {problem}" for problem in result.problems if problem.code != "QUALITY_FAILED"]
    if result.skipped:
        lines.append(f"  {result.message}")
    written = [*result.quarantine, *([result.report] if result.report else [])]
    lines += [f"  {o.at}: {o.format} {o.path or ''}: {o.status}, {_count(o.rows_written)} rows" for o in written]
    lines += [f"  warning: {problem}" for problem in result.warnings]
    return "\n".join(lines)


def _count(count: int | None) -> str:
    return "unknown" if count is None else str(count)


if __name__ == "__main__":
    sys.exit(main())
