"""Make the small data set of the example DAGs: orders and customers as CSV, always the same.

One order comes twice, so that the demo's uniqueness rule has something to find.
"""

from __future__ import annotations

import argparse
import csv
import random
from datetime import date, timedelta
from pathlib import Path

FIRST_DAY = date(2025, 12, 22)
DAYS = 21
ORDERS_PER_DAY = 60
CUSTOMERS = 40
TENANTS = ("acme", "globex", "initech")
ORDER_COLUMNS = ("id", "customer_id", "tenant", "ordered_at", "status", "quantity", "unit_price")
CUSTOMER_COLUMNS = ("id", "name", "email", "country", "signed_up")


def orders() -> list[dict[str, str]]:
    """Every order, by day; the last confirmed one comes twice."""
    dice = random.Random(20260101)
    rows = []
    for number in range(DAYS * ORDERS_PER_DAY):
        status = dice.choices(("CONFIRMED", "PENDING", "CANCELLED", "REFUNDED"), (80, 10, 6, 4))[0]
        rows.append(
            {
                "id": str(10_000 + number),
                "customer_id": str(dice.randrange(1, CUSTOMERS + 1)),
                "tenant": dice.choice(TENANTS),
                "ordered_at": (FIRST_DAY + timedelta(days=number // ORDERS_PER_DAY)).isoformat(),
                "status": status,
                "quantity": str(dice.randrange(1, 6)),
                "unit_price": f"{dice.randrange(199, 29_999) / 100:.2f}",
            }
        )
    rows.append(next(row for row in reversed(rows) if row["status"] == "CONFIRMED"))
    return rows


def customers() -> list[dict[str, str]]:
    """Every customer, clean."""
    dice = random.Random(20260102)
    names = ("Ana", "Bruno", "Carla", "Davi", "Elena", "Fábio", "Greta", "Hugo")
    return [
        {
            "id": str(number),
            "name": f"{dice.choice(names)} {number}",
            "email": f"Customer.{number}@example.com",
            "country": dice.choice(("BR", "PT", "DE", "US")),
            "signed_up": (FIRST_DAY - timedelta(days=dice.randrange(1, 900))).isoformat(),
        }
        for number in range(1, CUSTOMERS + 1)
    ]


def make(root: Path) -> None:
    """Write the landing files under ``root``; files that are there are replaced."""
    _write(root / "landing" / "orders" / "orders.csv", ORDER_COLUMNS, orders())
    _write(root / "landing" / "customers" / "customers.csv", CUSTOMER_COLUMNS, customers())


def _write(path: Path, columns: tuple[str, ...], rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the data of the example DAGs.")
    parser.add_argument("root", type=Path, help="the folder to make it in")
    make(parser.parse_args().root)
