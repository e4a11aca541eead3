"""The driver: a request file in, a result document out. The only place where the core ends a process.

It exits 0 for every end that it could write down, also a failed one: the verdict is in the document. So whoever
submits can tell a failed run from a lost driver.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import sys
import tempfile
import traceback
import uuid
from pathlib import Path
from typing import Any

from .connections import Connection
from .errors import Problem, SparquetError
from .load import Loaded
from .result import PipelineResult, RunRequest, jsonable
from .run import Options
from .secrets import Scrubber, mask, values
from .sparquet import Sparquet, faulty
from .text import plain_tree

log = logging.getLogger("sparquet")


def main(argv: list[str] | None = None) -> None:
    """Run the request whose file is the only argument; end the process."""
    args = sys.argv[1:] if argv is None else argv
    if len(args) != 1:
        sys.exit("usage: sparquet_driver.py REQUEST (the file that the operator wrote)")
    request = RunRequest.read(args[0])
    logins = {secret for name, fields in request.connections.items() for secret in Connection.of(name, fields).secrets}
    hide = Scrubber([*values(request.params), *values(plain_tree(request.tree)), *logins])
    _log_to_stdout(hide)
    try:
        result = answer(request)
    except BaseException as error:  # noqa: BLE001 - whatever happens, the result says it
        log.error("%s", hide(traceback.format_exc()))
        result = faulty(str(request.tree.get("name", "")), [Problem("INTERNAL", "", {"reason": f"{type(error).__name__}: {error}"})], [], Options())
    write_once(hide.tree({**result.to_dict(), "attempt": request.attempt}), request.result_path)
    sys.stdout.flush()
    sys.exit(0)


def answer(request: RunRequest) -> PipelineResult:
    """Run what the request asks for."""
    sparquet = Sparquet()
    options = Options(
        literals=request.literals, input_view=request.input_view, run_id=request.run_id, params=mask(request.params), watermark=request.watermark,
        connections=request.connections,
    )
    try:
        for extension in request.extensions:
            load_extension(extension, sparquet)
    except SparquetError as error:
        return faulty(str(request.tree.get("name", "")), list(error.problems), [], options)
    return sparquet.run_loaded(Loaded(request.tree, files=request.files), options, strict=request.strict, check=request.task == "check")


def load_extension(name: str, sparquet: Sparquet) -> None:
    """Import a module (or a ``.py`` file) and let its ``register(sparquet)`` add custom types.

    Raises:
        SparquetError: EXTENSION_NOT_FOUND or EXTENSION_FAILED.
    """
    try:
        if name.endswith(".py"):
            found = importlib.util.spec_from_file_location(Path(name).stem, name)
            if found is None or found.loader is None or not Path(name).exists():
                raise ModuleNotFoundError(f"no file {name}")
            module = importlib.util.module_from_spec(found)
            sys.modules.setdefault(Path(name).stem, module)
            found.loader.exec_module(module)
        else:
            module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SparquetError("EXTENSION_NOT_FOUND", found=name, reason=str(error), cause=error) from error
    except (Exception, SystemExit) as error:
        raise SparquetError("EXTENSION_FAILED", found=name, reason=f"{type(error).__name__}: {error}", cause=error) from error
    register = getattr(module, "register", None)
    if not callable(register):
        raise SparquetError("EXTENSION_FAILED", found=name, reason="it has no function register(sparquet)")
    try:
        register(sparquet)
    except SparquetError:
        raise
    except (Exception, SystemExit) as error:
        raise SparquetError("EXTENSION_FAILED", found=name, reason=f"{type(error).__name__}: {error}", cause=error) from error


def write_once(document: dict[str, Any], path: str) -> None:
    """Write the result document so that a reader sees all of it or nothing.

    A path with a scheme (``s3a://…``, ``hdfs://…``) goes through Hadoop's file system of the running session.
    """
    text = json.dumps(jsonable(document), ensure_ascii=False, allow_nan=False)
    if "://" in path and not path.startswith("file://"):
        _write_hadoop(text, path)
        return
    target = Path(path.removeprefix("file://"))
    target.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=".result-")
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)


def _write_hadoop(text: str, path: str) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    jvm: Any = spark._jvm
    target = jvm.org.apache.hadoop.fs.Path(path)
    part = jvm.org.apache.hadoop.fs.Path(f"{path}.{uuid.uuid4().hex}.part")
    files = target.getFileSystem(spark._jsc.hadoopConfiguration())
    stream = files.create(part)
    try:
        stream.write(bytearray(text.encode("utf-8")))
    finally:
        stream.close()
    if not files.rename(part, target):
        raise OSError(f"the result could not be put at {path}")


def _log_to_stdout(hide: Scrubber) -> None:
    class Hidden(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return hide(super().format(record))

    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(Hidden("sparquet %(levelname)s %(message)s"))
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    main()
