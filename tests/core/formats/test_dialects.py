"""The statements of every dialect as text; those of PostgreSQL and MariaDB also run against real servers in test_jdbc.py."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from sparquet_provider.core.connections import Connection
from sparquet_provider.core.formats.dialects import DIALECTS, of_url


def merged(dialect: str, *, nulls: bool = False, unique: bool = False, columns: tuple[str, ...] = ("k", "v")) -> list[str]:
    return list(DIALECTS[dialect].merge("t", "s", columns, ["k"], nulls=nulls, unique=unique).values())


def test_merge_statements() -> None:
    insert = "INSERT INTO t (k, v) SELECT k, v FROM s"
    assert merged("postgresql", unique=True) == [f"{insert} ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v"]
    assert merged("postgresql") == ["UPDATE t T SET v = S.v FROM s S WHERE T.k = S.k", f"{insert} S WHERE NOT EXISTS (SELECT 1 FROM t T WHERE T.k = S.k)"]
    assert "T.k IS NOT DISTINCT FROM S.k" in merged("postgresql", nulls=True, unique=True)[0], "ON CONFLICT would add null keys again and again"
    for name in ("mysql", "mariadb"):
        assert merged(name) == ["UPDATE t T JOIN s S ON T.k <=> S.k SET T.v = S.v", f"{insert} S WHERE NOT EXISTS (SELECT 1 FROM t T WHERE T.k <=> S.k)"]
    tail = "WHEN MATCHED THEN UPDATE SET T.v = S.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (S.k, S.v)"
    assert merged("sqlserver") == [f"MERGE INTO t WITH (HOLDLOCK) AS T USING s S ON (T.k = S.k) {tail};"]
    assert merged("sqlserver", nulls=True) == [f"MERGE INTO t WITH (HOLDLOCK) AS T USING s S ON (EXISTS (SELECT T.k INTERSECT SELECT S.k)) {tail};"]
    assert merged("oracle", nulls=True) == [f"MERGE INTO t T USING s S ON ((T.k = S.k OR (T.k IS NULL AND S.k IS NULL))) {tail}"]


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_merge_of_keys_alone_only_inserts(name: str) -> None:
    statements = merged(name, columns=("k",), unique=True)
    assert len(statements) == 1 and "UPDATE" not in statements[0].replace("DO NOTHING", "")


def test_what_makes_removes_and_renames_tables() -> None:
    sqlserver, oracle, mysql = DIALECTS["sqlserver"], DIALECTS["oracle"], DIALECTS["mysql"]
    assert sqlserver.stage("s", "t", ["a", "b"]) == "SELECT a, b INTO s FROM t WHERE 1 = 0 UNION ALL SELECT a, b FROM t WHERE 1 = 0"
    assert sqlserver.rename(("dbo", "s"), "o'k") == "EXEC sp_rename '[dbo].[s]', 'o''k'"
    assert (sqlserver.empty("t", False), sqlserver.empty("t", True)) == ("DELETE FROM t WITH (TABLOCKX)", "TRUNCATE TABLE t")
    assert oracle.rename(("A", "s"), "T") == 'ALTER TABLE "A"."s" RENAME TO "T"'
    assert oracle.lock('"A"."T"') == ['LOCK TABLE "A"."T" IN EXCLUSIVE MODE WAIT 600']
    assert mysql.rename(("d", "s"), "t`t") == "RENAME TABLE `d`.`s` TO `d`.`t``t`"
    assert not (oracle.truncates or mysql.truncates), "their TRUNCATE commits"


@pytest.mark.parametrize(
    ("name", "path", "sql"),
    [
        ("postgresql", "Sales.Orders", '"sales"."orders"'), ("postgresql", 'sales."Big ""One"""', '"sales"."Big ""One"""'), ("oracle", "sales.orders", '"SALES"."ORDERS"'),
        ("sqlserver", "shop.dbo.[Order Lines]", "[shop].[dbo].[Order Lines]"), ("mysql", "Orders", "`Orders`"), ("mariadb", "`a.b`.c", "`a.b`.`c`"),
    ],
)
def test_names(name: str, path: str, sql: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.name_of(dialect.table(path)) == sql


@pytest.mark.parametrize("path", ["a b", "t; DROP TABLE x", 'a"b', "a..b", "", "t --"])
def test_what_is_no_name(path: str) -> None:
    with pytest.raises(ValueError, match="table name"):
        DIALECTS["postgresql"].table(path)


@pytest.mark.parametrize(
    ("name", "fields", "url"),
    [
        ("postgresql", {"schema": "shop"}, "jdbc:postgresql://h:5432/shop"), ("mysql", {"port": 7, "schema": "d"}, "jdbc:mysql://h:7/d"),
        ("sqlserver", {"schema": "shop"}, "jdbc:sqlserver://h:1433;databaseName={shop}"), ("sqlserver", {}, "jdbc:sqlserver://h:1433"),
        ("oracle", {"schema": "svc"}, "jdbc:oracle:thin:@//h:1521/svc"), ("oracle", {"extra": {"sid": "X"}}, "jdbc:oracle:thin:@h:1521:X"),
        ("oracle", {"extra": {"service_name": "S"}}, "jdbc:oracle:thin:@//h:1521/S"),
    ],
)
def test_addresses(name: str, fields: dict[str, Any], url: str) -> None:
    found = DIALECTS[name].url(Connection.of("x", {"host": "h", "login": "me", "password": "never-in-it", **fields}))
    assert found == url
    dialect = of_url(found)
    assert dialect is not None and dialect.name == name


def test_mariadb_is_shown_to_spark_as_mysql() -> None:
    # With jdbc:mariadb Spark quotes by ", and every value read would be the column's own name.
    assert DIALECTS["mariadb"].spark_url("jdbc:mariadb://h:3306/d?a=b") == "jdbc:mysql://h:3306/d?a=b&permitMysqlScheme=true"
    assert of_url("jdbc:mysql://h/d?permitMysqlScheme=true") is DIALECTS["mariadb"] and of_url("jdbc:db2://h/d") is None


def test_types() -> None:
    postgres, oracle, sqlserver = (DIALECTS[n] for n in ("postgresql", "oracle", "sqlserver"))
    assert [d.type_of(T.StringType()) for d in DIALECTS.values()] == ["TEXT", "LONGTEXT", "LONGTEXT", "NVARCHAR(MAX)", "CLOB"]
    assert (postgres.type_of(T.DecimalType(38, 4)), oracle.type_of(T.DecimalType(38, 4))) == ("DECIMAL(38,4)", "NUMBER(38,4)")
    assert (postgres.type_of(T.TimestampType()), sqlserver.type_of(T.TimestampNTZType())) == ("TIMESTAMPTZ", "DATETIME2(6)")
    assert (postgres.type_of(T.ArrayType(T.IntegerType())), sqlserver.type_of(T.ArrayType(T.IntegerType()))) == ("INTEGER[]", None)
    assert all(d.type_of(T.StructType()) is None and d.type_of(T.NullType()) is None for d in DIALECTS.values())
    simple = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.BooleanType, T.BinaryType, T.DateType)
    assert all(d.type_of(kind()) for d in DIALECTS.values() for kind in simple)
