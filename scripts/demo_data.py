"""Make the small data set of the example DAGs: orders and customers as CSV, always the same.

One order comes twice, so that the demo's uniqueness rule has something to find.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
from collections.abc import Mapping, Sequence
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
    public = root / "landing" / "public"
    for name, rows in (("events", events()), ("weather", [weather()]), ("earthquakes", [earthquakes()])):
        _write_json(public / name / f"{name}.json", rows)
    for number, sales in enumerate(store_files()):
        _write(public / "store_files" / f"part_{number}.csv", SALE_COLUMNS, sales)


# --- small forms of public data, made up --------------------------------------------------------------------------
SALE_COLUMNS = ("store", "number", "sold_at", "amount", "sequence")


def events() -> list[dict[str, str]]:
    """Two answers of a service as JSON texts: the second repeats one event, newer; one event has no category."""
    fire = {"id": "E1", "title": "  Wildfire   north ", "closed": None, "categories": [{"id": "wildfires", "title": "Wildfires"}]}
    storm = {
        "id": "E2", "title": "Storm", "closed": "2026-01-03T00:00:00Z",
        "categories": [{"id": "severeStorms", "title": "Severe Storms"}, {"id": "floods", "title": "Floods"}],
    }
    ice = {"id": "E3", "title": "Iceberg", "closed": None, "categories": []}
    renamed = {**fire, "title": "Wildfire north, contained"}
    answers = (("2026-01-01T06:00:00Z", [fire, storm, ice]), ("2026-01-02T06:00:00Z", [renamed]))
    return [{"raw_response": json.dumps({"title": "events", "events": found}), "requested_at": at} for at, found in answers]


def weather() -> dict[str, object]:
    """One answer with parallel arrays of 48 hours; the last temperature is missing."""
    hours = [f"2026-01-{1 + hour // 24:02d}T{hour % 24:02d}:00" for hour in range(48)]
    temperatures = [round(18 + 6 * math.sin(hour / 24 * math.tau), 1) for hour in range(47)]
    return {
        "latitude": -23.5, "longitude": -46.6,
        "hourly": {"time": hours, "temperature_2m": temperatures, "relative_humidity_2m": [55 + hour % 40 for hour in range(48)]},
    }


def earthquakes() -> dict[str, object]:
    """A collection of GeoJSON features; one has no magnitude."""
    found = [("q1", 4.56, " 10 km  S of Town ", -70.1, -20.2, 35.0), ("q2", 2.1, "Offshore", 142.3, 38.1, 10.5), ("q3", None, "", 12.0, 43.0, 8.0)]
    return {
        "features": [
            {
                "id": name,
                "properties": {"mag": mag, "place": place, "time": 1767225600000 + 60_000 * i},
                "geometry": {"type": "Point", "coordinates": [x, y, depth]},
            }
            for i, (name, mag, place, x, y, depth) in enumerate(found)
        ]
    }


def store_files() -> list[list[dict[str, str]]]:
    """Two files of sales; the second brings a corrected sale and one that is the same as before."""
    first = [
        ("sp01", "1", "2026-01-01 10:00:00", "10.00", "1"),
        ("sp01", "2", "2026-01-01 11:00:00", "20.50", "2"),
        ("rj02 ", "1", "2026-01-01 12:00:00", "7.25", "1"),
    ]
    second = [("SP01", "2", "2026-01-01 11:00:00", "21.50", "3"), ("rj02", "1", "2026-01-01 12:00:00", "7.25", "1")]
    return [[dict(zip(SALE_COLUMNS, row, strict=True)) for row in rows] for rows in (first, second)]


def _write_json(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


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
