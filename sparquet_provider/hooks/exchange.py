"""The folders in which request and result of a task's attempts change hands.

Each attempt has a folder of its own, so the late driver of an earlier try can never answer for a later one; and what an
earlier try left behind (its worker died) is found by the next one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.result import FORMAT_VERSION
from .compat import AirflowFailException
from .drivers import LocalDrivers

log = logging.getLogger(__name__)

RESULT = "result.json"
_FINGERPRINT = "fingerprint"

#: Folders that no later try came for are removed after this many days.
KEEP_DAYS = 7


def task_key(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str:
    """A short name for one task instance, the same for all its tries."""
    return hashlib.sha256("\0".join([dag_id, run_id, task_id, str(map_index)]).encode()).hexdigest()[:16]


def private_base() -> Path:
    """The folder of this user for exchanges on this machine, readable by nobody else (mode 0700).

    Raises:
        AirflowFailException: somebody else owns a folder of that name.
    """
    base = Path(tempfile.gettempdir()).resolve() / f"sparquet-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    found = base.lstat()
    if base.is_symlink() or found.st_uid != os.getuid():
        raise AirflowFailException(f"The folder {base} belongs to somebody else. Remove it, or set TMPDIR for the Airflow worker.")
    base.chmod(0o700)
    return base


@dataclass(frozen=True)
class Attempt:
    """One try: its name, its private folder here, and the place of its result.

    ``name`` is a valid YARN tag and Kubernetes label. ``shared`` is the private folder itself when the driver runs on
    this machine. ``result_uri`` is the result's place as the driver writes it.
    """

    name: str
    folder: Path
    shared: Any
    result_uri: str

    @property
    def fingerprint(self) -> str | None:
        """What the attempt was asked to do, as a hash; None when it left no trace."""
        with suppress(OSError):
            return str((self.shared / _FINGERPRINT).read_text())
        return None

    def result(self, patience: float = 0) -> dict[str, Any] | None:
        """The result document; None when there is none of this attempt within ``patience`` seconds.

        Raises:
            ValueError: the document has another format version or is no JSON.
            OSError: the place could not be read.
        """
        limit = time.monotonic() + patience
        while True:
            try:
                text = (self.shared / RESULT).read_text()
            except FileNotFoundError:
                if time.monotonic() >= limit:
                    return None
                time.sleep(0.5)
                continue
            document = json.loads(text)
            if document.get("format_version") != FORMAT_VERSION:
                found = document.get("format_version")
                raise ValueError(f"the result has format version {found!r}, expected {FORMAT_VERSION}; use the same version of sparquet on both sides")
            if document.get("attempt") != self.name:
                log.warning("The result at %s is of the attempt %r, not of %r: it does not count.", self.result_uri, document.get("attempt"), self.name)
                return None
            result: dict[str, Any] = document
            return result

    def remove(self) -> None:
        """Remove the attempt's files, here and at the shared place; a failure only warns."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in (RESULT, _FINGERPRINT):
            with suppress(Exception):
                (self.shared / name).unlink()
        for folder in (self.folder.parent, self.shared, self.shared.parent):
            with suppress(Exception):
                _remove_when_empty(folder)


class Exchange:
    """The attempts of one task instance.

    Args:
        key: see :func:`task_key`.
        shared: a folder that this machine and the cluster's drivers share: a path, or a URI that Airflow's
            ``ObjectStoragePath`` opens (``s3://connection@bucket/exchange``). None when drivers run on this machine.
        uri: the same folder as drivers see it; by default ``shared`` without the connection.
        base: the private folder of this machine.
    """

    def __init__(self, key: str, shared: str | None = None, uri: str | None = None, base: Path | None = None) -> None:
        self.base = base or private_base()
        self.key = key
        self.local = self.base / key
        self.shared: Any = self.local
        self.uri = ""
        if shared:
            self.uri = f"{(uri or re.sub(r'://[^/@]*@', '://', shared)).rstrip('/')}/{key}"
            self.shared = open_place(shared) / key

    def open(self, try_number: int, fingerprint: str) -> Attempt:
        """Make the folder of a new attempt."""
        self._sweep()
        attempt = self._attempt(f"sparquet-{self.key}-{try_number}-{uuid.uuid4().hex[:8]}")
        attempt.folder.mkdir(parents=True, mode=0o700)
        attempt.shared.mkdir(parents=True, exist_ok=True)
        (attempt.shared / _FINGERPRINT).write_text(fingerprint)
        return attempt

    def earlier(self, than: Attempt) -> list[Attempt]:
        """Other attempts that left something behind, the latest first."""
        names: set[str] = set()
        for folder in (self.local, self.shared):
            with suppress(FileNotFoundError, NotADirectoryError):
                names |= {str(child.name) for child in folder.iterdir()}
        found = [n for n in names if n != than.name and re.fullmatch(rf"sparquet-{self.key}-\d+-[0-9a-f]{{8}}", n)]
        return [self._attempt(n) for n in sorted(found, key=lambda n: int(n.split("-")[2]), reverse=True)]

    def _attempt(self, name: str) -> Attempt:
        place = f"{self.uri}/{name}" if self.uri else str(self.local / name)
        return Attempt(name, self.local / name, self.shared / name, f"{place}/{RESULT}")

    def _sweep(self) -> None:
        limit = time.time() - KEEP_DAYS * 86400
        for folder in self.base.iterdir():
            with suppress(OSError):
                if folder.name != self.key and folder.stat().st_mtime < limit and not any(LocalDrivers(folder).alive(a.name) for a in folder.iterdir()):
                    shutil.rmtree(folder, ignore_errors=True)


def _remove_when_empty(folder: Any) -> None:
    if isinstance(folder, Path):
        folder.rmdir()
    else:
        folder.fs.rmdir(folder.path)  # the path's own rmdir removes what is inside, too


def open_place(place: str) -> Any:
    """A folder as a ``Path``, or as an ``ObjectStoragePath`` when it has a scheme."""
    if "://" not in place:
        return Path(place)
    from airflow.sdk import ObjectStoragePath

    return ObjectStoragePath(place)
