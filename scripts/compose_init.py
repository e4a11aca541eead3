"""The init service of docker-compose.yaml: metadata tables, the admin's password, the data of the examples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts import demo_data


def main() -> None:
    """Do what has to be done once; doing it again changes nothing."""
    subprocess.run(["airflow", "db", "migrate"], check=True)
    passwords = Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    passwords.parent.mkdir(parents=True, exist_ok=True)
    passwords.write_text(json.dumps({"admin": os.environ["AIRFLOW_ADMIN_PASSWORD"]}), encoding="utf-8")
    passwords.chmod(0o600)
    demo_data.make(Path(os.environ["SPARQUET_DEMO_DATA"]))


if __name__ == "__main__":
    main()
