#!/usr/bin/env bash
# Make a virtual environment with this project in it: setup.sh VENV EXTRAS
# Says which package to install when something of the system is missing. Everything else comes through pip.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1 extras=$2 python=${PYTHON:-python3}

missing() {
    printf '%s\n  install it with: %s\n' "$1" "$2" >&2
    exit 1
}

command -v "$python" >/dev/null || missing "$python was not found." "apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || missing "$("$python" --version) is too old; 3.11 or later is needed." "apt-get install python3 python3-venv"
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing "$python has no module venv or ensurepip." "apt-get install python3-venv"
bash scripts/need_java.sh

echo "installing into $venv (a minute or two the first time)"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip --upgrade >/dev/null
if "$venv/bin/python" -m uv --version >/dev/null 2>&1 || "$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv; then
    "$venv/bin/python" -m uv pip install --quiet --python "$venv/bin/python" --constraints constraints/tested.txt --editable ".[$extras]"
else
    echo "uv could not be installed; pip does the same, more slowly" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints/tested.txt --editable ".[$extras]"
fi
