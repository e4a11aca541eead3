"""From what a DAG author writes to a checked document: find it, bind parameters, lint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..core.errors import Problem
from ..core.lint import lint, lint_check
from ..core.load import Loaded, load
from ..hooks.compat import AirflowFailException


@dataclass(frozen=True)
class Home:
    """The folders that relative paths are looked up in: the DAG file's own, then the root of its bundle."""

    folder: Path
    root: Path

    @classmethod
    def of(cls, dag: Any, ti: Any) -> Home:
        """The home of a task; the working directory when it belongs to no DAG."""
        fileloc = getattr(dag, "fileloc", None)
        folder = Path(fileloc).resolve().parent if fileloc else Path.cwd()
        bundle = getattr(getattr(ti, "bundle_instance", None), "path", None)
        relative = getattr(dag, "relative_fileloc", None)
        if bundle and folder.is_relative_to(Path(bundle).resolve()):
            return cls(folder, Path(bundle).resolve())
        if fileloc and relative and str(fileloc).endswith(f"/{relative}"):
            return cls(folder, Path(str(fileloc)[: -len(relative)]).resolve())
        return cls(folder, folder)

    def find(self, path: str | Path) -> Path:
        """The file of a path; the place beside the DAG file when there is none."""
        candidates = [folder / path for folder in (self.folder, self.root)]
        return next((c for c in candidates if c.exists()), candidates[0])

    def root_for(self, file: Path) -> Path:
        """The folder that included files must not leave: the bundle, or the document's own folder outside of it."""
        return self.root if file.resolve().is_relative_to(self.root) else file.resolve().parent


def read(document: Mapping[str, Any] | str | Path, params: Mapping[str, Any], home: Home, *, strict: bool) -> Loaded:
    """A document with parameters bound and fragments included, and every defect found so far."""
    if isinstance(document, Mapping):
        return load(document, params, root=home.root, base=home.folder, strict=strict)
    file = home.find(document)
    return load(file, params, root=home.root_for(file), strict=strict)


def checked(loaded: Loaded, task: Literal["run", "check"], *, strict: bool, extensions: Sequence[str], scrub: Callable[[str], str] = str) -> list[Problem]:
    """The warnings of a document without errors.

    Types that are not known are left to the driver when there are extensions: only there they register theirs.
    ``scrub`` takes secrets out of the text of the error.

    Raises:
        AirflowFailException: the document has defects; all of them are in the text, and another try would not help.
    """
    problems = list(loaded.problems)
    if loaded.tree is not None:
        problems += (lint if task == "run" else lint_check)(loaded.tree, strict=strict, unknown_types=bool(extensions), files=loaded.files)[1]
    problems = list({str(p): p for p in problems}.values())
    errors = [p for p in problems if p.severity == "error"]
    if errors:
        head = "The document has a defect" if len(errors) == 1 else f"The document has {len(errors)} defects"
        raise AirflowFailException(f"{head}; nothing was submitted.\n" + "\n".join(f"- {scrub(str(p))}" for p in errors))
    return [p for p in problems if p.severity == "warning"]
