"""Every example DAG does what its page says, on a real Spark and a real Airflow."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scripts import demo_data

pytestmark = pytest.mark.slow

Run = Callable[..., list[dict[str, Any]]]


def states(run: dict[str, Any]) -> dict[str, str]:
    """The state of every task."""
    return {name: task["state"] for name, task in run["tasks"].items()}


def xcom(run: dict[str, Any], task: str, key: str = "return_value") -> Any:
    """What a task pushed."""
    return run["tasks"][task]["xcom"][key]


def confirmed(since: str) -> list[dict[str, str]]:
    return [order for order in demo_data.orders() if order["status"] == "CONFIRMED" and order["ordered_at"] >= since]


def revenue(order: dict[str, str]) -> Decimal:
    return int(order["quantity"]) * Decimal(order["unit_price"])


def rows(folder: Path) -> list[dict[str, str]]:
    found = []
    for file in sorted(folder.rglob("*.csv")):
        with file.open(encoding="utf-8", newline="") as text:
            found += list(csv.DictReader(text))
    return found


def test_customer_revenue(run_dags: Run, data: Path, spark: Any) -> None:
    first, again = run_dags("customer_revenue", "customer_revenue")
    expected = confirmed("2026-01-01")
    by_customer: dict[int, Decimal] = defaultdict(Decimal)
    for order in expected:
        by_customer[int(order["customer_id"])] += revenue(order)
    number = Counter(int(order["customer_id"]) for order in expected)

    assert first["state"] == again["state"] == "success"
    assert states(first) == {
        "load_orders": "success", "customer_revenue": "success", "choose": "success", "announce": "skipped", "review_quality": "success",
    }
    result = xcom(first, "customer_revenue")
    assert [output["rows_written"] for output in result["outputs"]] == [len(expected), len(by_customer)]
    assert {check["rule_type"]: (check["passed"], check["failed_count"]) for check in result["validation_results"]} == {
        "not_null": (True, 0), "unique": (False, 2), "row_count": (True, 0),
    }
    assert len(xcom(first, "review_quality")) == 1
    assert xcom(first, "review_quality")[0].startswith("unique(id)")

    # The merge of the second run updated the same customers and added none.
    written = spark.read.format("delta").load(str(data / "analytics" / "customer_revenue")).collect()
    assert {row.customer_id: (row.revenue, row.orders) for row in written} == {key: (by_customer[key], number[key]) for key in by_customer}
    assert len(written) == len(by_customer)
    orders = spark.read.format("delta").load(str(data / "analytics" / "orders"))
    assert orders.count() == len(expected)
    report = spark.read.format("delta").load(str(data / "quality" / "pipeline_report"))
    assert report.count() == 2 * 3


def test_quality_gate(run_dags: Run, data: Path, spark: Any) -> None:
    (good,) = run_dags("quality_gate")
    assert states(good) == {"wait_for_customers": "success", "check_customers": "success", "publish_customers": "success", "name_broken_rules": "skipped"}
    assert xcom(good, "publish_customers")["rows_written"] == demo_data.CUSTOMERS
    written = spark.read.format("delta").load(str(data / "analytics" / "customers"))
    assert {row.email for row in written.collect()} == {customer["email"].lower() for customer in demo_data.customers()}
    assert [side["rows_written"] for side in xcom(good, "check_customers")["quarantine"]] == [0]

    landing = data / "landing" / "customers" / "customers.csv"
    landing.write_text(landing.read_text(encoding="utf-8") + "1,Again,again@example.com,br,2026-01-01\n", encoding="utf-8")
    (bad,) = run_dags("quality_gate")
    assert bad["state"] == "failed"
    assert states(bad) == {
        "wait_for_customers": "success", "check_customers": "failed", "publish_customers": "upstream_failed", "name_broken_rules": "success",
    }
    verdict = xcom(bad, "check_customers")
    assert {check["rule_type"]: check["failed_count"] for check in verdict["validation_results"] if not check["passed"]} == {"unique": 2, "accepted_values": 1}
    code = next(check["code"] for check in verdict["validation_results"] if check["rule_type"] == "accepted_values")
    assert xcom(bad, "name_broken_rules") == f"one row per customer, {code}"
    assert written.count() == demo_data.CUSTOMERS
    quarantined = spark.read.format("delta").load(str(data / "quarantine" / "customers")).collect()
    assert sorted((row.name, row.broken_rules) for row in quarantined) == [
        ("Again", ["unique(id)", code]), (demo_data.customers()[0]["name"], ["unique(id)"]),
    ]


def test_daily_backfill_may_be_repeated(run_dags: Run, data: Path, spark: Any) -> None:
    runs = run_dags("daily_backfill@2026-01-04", "daily_backfill@2026-01-05", "daily_backfill@2026-01-05")
    assert [run["state"] for run in runs] == ["success"] * 3
    assert [xcom(run, "load_day")["rows_written"] for run in runs] == [demo_data.ORDERS_PER_DAY] * 3
    written = spark.read.format("delta").load(str(data / "analytics" / "daily_orders")).collect()
    expected = [order for order in demo_data.orders() if order["ordered_at"] in ("2026-01-04", "2026-01-05")]
    assert sorted((row.id, str(row.ordered_at), row.unit_price) for row in written) == sorted(
        (int(order["id"]), order["ordered_at"], Decimal(order["unit_price"])) for order in expected
    )


def test_nothing_to_do(run_dags: Run, data: Path) -> None:
    (run,) = run_dags("nothing_to_do")
    assert states(run) == {"large_refunds": "skipped", "send_to_finance": "skipped", "log_outcome": "success"}
    assert xcom(run, "large_refunds")["status"] == "skipped"
    assert xcom(run, "log_outcome") == "skipped (stop_if_empty): No refund above 1000000"
    assert not (data / "exports").exists()


def test_tenants(run_dags: Run, data: Path, spark: Any) -> None:
    (run,) = run_dags("tenants")
    orders = {tenant: [o for o in demo_data.orders() if o["status"] == "CONFIRMED" and o["tenant"] == tenant] for tenant in ("acme", "globex")}
    assert states(run) == {"list_tenants": "success", "tenant_orders[0]": "success", "tenant_orders[1]": "success", "total": "success"}
    assert xcom(run, "total") == sum(map(len, orders.values()))
    for tenant, expected in orders.items():
        written = spark.read.parquet(str(data / "exports" / "tenants" / tenant)).collect()
        assert sorted((row.id, row.revenue) for row in written) == sorted((int(o["id"]), revenue(o)) for o in expected)
    assert not (data / "exports" / "tenants" / "initech").exists()


def test_incremental_orders_reads_on_where_the_run_before_stopped(run_dags: Run, data: Path, spark: Any) -> None:
    landing = data / "landing" / "orders" / "orders.csv"
    orders = {order["id"]: order for order in demo_data.orders()}
    last = max(order["ordered_at"] for order in orders.values())
    first, again = run_dags("incremental_orders@2026-01-12", "incremental_orders@2026-01-13")
    assert [run["state"] for run in (first, again)] == ["success", "success"]
    assert [xcom(run, "load")["rows_written"] for run in (first, again)] == [len(orders), 0]
    assert [xcom(run, "load", "watermark") for run in (first, again)] == [{"ordered_at": last}] * 2

    new = "99,7,acme,2026-02-01, confirmed ,2,1.50"
    late = "98,7,acme,2025-12-30,CONFIRMED,1,1.00"
    landing.write_text(landing.read_text(encoding="utf-8") + f"{new}\n{late}\n", encoding="utf-8")
    (third,) = run_dags("incremental_orders@2026-01-14")
    assert xcom(third, "load")["rows_written"] == 1
    assert xcom(third, "load", "watermark") == {"ordered_at": "2026-02-01"}
    written = spark.read.format("delta").load(str(data / "silver" / "orders"))
    assert written.count() == len(orders) + 1
    (row,) = written.where("id = 99").collect()
    assert (row.status, row.amount) == ("CONFIRMED", Decimal("3.00"))
    assert written.select("__run_id").distinct().count() == 2


def test_public_data(run_dags: Run, data: Path, spark: Any) -> None:
    (run,) = run_dags("public_data")
    assert states(run) == dict.fromkeys(("events", "weather", "earthquakes", "store_files"), "success")
    silver = data / "silver"
    events = spark.read.parquet(str(silver / "natural_events")).orderBy("event_id", "category_id").collect()
    assert [(r.event_id, r.event_title, r.category_id) for r in events] == [
        ("E1", "Wildfire north, contained", "wildfires"), ("E2", "Storm", "floods"), ("E2", "Storm", "severeStorms"), ("E3", "Iceberg", None),
    ]
    weather = spark.read.parquet(str(silver / "hourly_weather")).orderBy("observed_at").collect()
    assert len(weather) == 48
    assert [str(r.observed_on) for r in weather] == ["2026-01-01"] * 24 + ["2026-01-02"] * 24
    assert (weather[-1].temperature_celsius, weather[-1].humidity_percent) == (None, 55 + 47 % 40)
    quakes = spark.read.parquet(str(silver / "earthquakes")).orderBy("quake_id").collect()
    assert [(r.quake_id, r.magnitude, r.place, r.longitude, r.depth_km) for r in quakes] == [
        ("q1", Decimal("4.56"), "10 km S of Town", -70.1, 35.0), ("q2", Decimal("2.10"), "Offshore", 142.3, 10.5),
    ]
    sales = spark.read.parquet(str(silver / "store_sales")).orderBy("sale_key").collect()
    assert [(r.sale_key, r.amount, r.sequence) for r in sales] == [
        ("RJ02|1", Decimal("7.25"), 1), ("SP01|1", Decimal("10.00"), 1), ("SP01|2", Decimal("21.50"), 3),
    ]
    assert xcom(run, "earthquakes")["status"] == "success"
