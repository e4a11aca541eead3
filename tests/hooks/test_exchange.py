"""Request and result change hands in folders that belong to one attempt."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException

from sparquet_provider.hooks import exchange as module
from sparquet_provider.hooks.exchange import Exchange, private_base, task_key

KEY = task_key("dag", "run", "task")


def write(attempt: module.Attempt, changes: dict[str, object] | None = None) -> None:
    (attempt.shared / "result.json").write_text(json.dumps({"format_version": 1, "attempt": attempt.name} | (changes or {})))


def test_the_key_is_of_the_task_instance() -> None:
    keys = {task_key("d", "r", "t"), task_key("d", "r", "t", 0), task_key("d", "r", "t", 1), task_key("d", "r2", "t"), task_key("dr", "", "t")}
    assert len(keys) == 5
    assert task_key("d", "r", "t", 0) == task_key("d", "r", "t", 0)


def test_the_private_folder_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert os.stat(private_base()).st_mode & 0o777 == 0o700
    attempt = Exchange(KEY).open(1, "f")
    assert os.stat(attempt.folder).st_mode & 0o777 == 0o700


def test_a_folder_that_is_no_folder_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"sparquet-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AirflowFailException, match="belongs to somebody else"):
        private_base()


def test_every_attempt_has_its_own_result(tmp_path: Path) -> None:
    exchange = Exchange(KEY, base=tmp_path)
    first, second = exchange.open(1, "f"), exchange.open(1, "f")
    assert first.name != second.name
    write(first)
    assert first.result() == {"format_version": 1, "attempt": first.name}
    assert second.result() is None
    write(second, {"attempt": first.name})
    assert second.result() is None, "a result that names another attempt is nobody's"


def test_a_name_is_a_valid_label_and_tag(tmp_path: Path) -> None:
    name = Exchange(KEY, base=tmp_path).open(12, "f").name
    assert name == name.lower()
    assert len(name) <= 63


def test_a_result_of_another_version_is_refused(tmp_path: Path) -> None:
    attempt = Exchange(KEY, base=tmp_path).open(1, "f")
    write(attempt, {"format_version": 2})
    with pytest.raises(ValueError, match="format version 2, expected 1"):
        attempt.result()


def test_earlier_attempts_the_latest_first(tmp_path: Path) -> None:
    exchange = Exchange(KEY, base=tmp_path)
    tries = [exchange.open(n, f"print {n}") for n in (1, 2, 10)]
    (tmp_path / KEY / "something else").mkdir()
    other = Exchange(task_key("dag", "run", "other"), base=tmp_path).open(1, "f")
    assert [a.name for a in exchange.earlier(tries[2])] == [tries[1].name, tries[0].name]
    assert exchange.earlier(tries[2])[0].fingerprint == "print 2"
    assert Exchange(other.folder.parent.name, base=tmp_path).earlier(other) == []


def test_removal_leaves_nothing(tmp_path: Path) -> None:
    exchange = Exchange(KEY, base=tmp_path)
    first, second = exchange.open(1, "f"), exchange.open(2, "f")
    write(first)
    first.remove()
    assert [p.name for p in (tmp_path / KEY).iterdir()] == [second.name]
    second.remove()
    second.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_shared_folder_holds_the_result_and_nothing_private(tmp_path: Path, scheme: str) -> None:
    exchange = Exchange(KEY, f"{scheme}{tmp_path}/shared", base=tmp_path / "private")
    (tmp_path / "private").mkdir()
    attempt = exchange.open(1, "f")
    assert attempt.result_uri == f"{scheme}{tmp_path}/shared/{KEY}/{attempt.name}/result.json"
    assert attempt.folder == tmp_path / "private" / KEY / attempt.name
    assert attempt.result() is None
    write(attempt)
    assert attempt.result() is not None
    later = exchange.open(2, "f")
    assert [a.name for a in exchange.earlier(later)] == [attempt.name]
    write(later)
    attempt.remove()
    assert later.result() is not None, "only its own files go"
    later.remove()
    assert list((tmp_path / "shared").rglob("*")) == []
    assert (tmp_path / "shared").is_dir(), "the folder itself is the user's"


@pytest.mark.parametrize(("shared", "uri", "seen"), [
    ("s3://aws_default@bucket/x/", None, "s3://bucket/x"), ("s3://aws@bucket/x", "s3a://bucket/x", "s3a://bucket/x"), ("/nfs/x", None, "/nfs/x"),
])
def test_the_driver_sees_no_connection_in_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared: str, uri: str | None, seen: str) -> None:
    monkeypatch.setattr(module, "open_place", lambda place: tmp_path)
    assert Exchange(KEY, shared, uri, base=tmp_path).uri == f"{seen}/{KEY}"


def test_what_nobody_came_for_is_swept(tmp_path: Path) -> None:
    old = tmp_path / "0123456789abcdef"
    (old / "x").mkdir(parents=True)
    os.utime(old, (0, 0))
    Exchange(KEY, base=tmp_path).open(1, "f")
    assert not old.exists()
