"""Java properties files, read and written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sparquet_provider.hooks.properties import defaults, java_arguments, parse, render, write_private


def test_the_forms_of_a_line() -> None:
    text = "# comment\n! other\n\nspark.a 1\nspark.b=2 = 3\n spark.c :  4 \nspark.d one \\\n   two\nspark.e\nspark.f \\u0041\\tb\nspark.a 9\n"
    assert parse(text) == {"spark.a": "9", "spark.b": "2 = 3", "spark.c": "4", "spark.d": "one two", "spark.e": "", "spark.f": "A\tb"}


@pytest.mark.parametrize("value", ["plain", "a=b:c", "back\\slash", "two\nlines", " leading", "ends with \\", "ünï", "#no comment", ""])
def test_what_is_written_is_read_back(value: str) -> None:
    assert parse(render({"spark.k:1": value, "spark.z": "last"})) == {"spark.k:1": value, "spark.z": "last"}


def test_a_user_file_that_ends_in_a_continuation_does_not_swallow_ours() -> None:
    assert parse(f"spark.a one \\\n\n{render({'spark.b': '2'})}") == {"spark.a": "one", "spark.b": "2"}


def test_the_defaults_of_a_configuration_folder(tmp_path: Path) -> None:
    assert defaults("spark-submit", {"SPARK_CONF_DIR": str(tmp_path)}) == ("", None)
    (tmp_path / "spark-defaults.conf").write_text("spark.a 1\n")
    assert defaults("spark-submit", {"SPARK_CONF_DIR": str(tmp_path)})[0] == "spark.a 1\n"
    assert defaults("no-such-binary", {"PATH": "/nowhere"}) == ("", None)


def test_the_defaults_of_an_installation(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.b 2\n")
    (tmp_path / "bin" / "spark-submit").write_text("")
    (tmp_path / "bin" / "spark-submit").chmod(0o755)
    assert defaults("spark-submit", {"PATH": str(tmp_path / "bin")})[0] == "spark.b 2\n"
    assert defaults("spark-submit", {"SPARK_HOME": str(tmp_path), "PATH": ""})[0] == "spark.b 2\n"


def test_an_argument_file_gives_java_the_same_options(tmp_path: Path) -> None:
    (tmp_path / "options").write_text(java_arguments("""-Dx=1 '-Dp=a "b" \\c d'"""))
    done = subprocess.run(["java", f"@{tmp_path}/options", "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True)
    assert '    p = a "b" \\c d\n' in done.stderr


def test_a_private_file_is_for_its_owner(tmp_path: Path) -> None:
    write_private(tmp_path / "p", "x")
    assert os.stat(tmp_path / "p").st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "p", "y")
