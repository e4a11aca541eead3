"""JDBC against real servers: PostgreSQL and MariaDB, started by the fixtures."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest

from sparquet_provider.core import Sparquet
from tests.servers import PASSWORD, Server

pytestmark = [pytest.mark.slow, pytest.mark.classic_only("statements run on the driver")]


class Shop:
    """One database and the document door into it."""

    def __init__(self, house: Any, server: Server, kind: str) -> None:
        self.house, self.server, self.kind, self.query = house, server, kind, server.query
        self.sparquet = Sparquet(house.spark, connections={"shop": server.connection})

    def table(self, ddl: str = "", *rows: str) -> str:
        name = f"t{uuid.uuid4().hex[:10]}"
        if ddl:
            self.query(f"CREATE TABLE {name} ({ddl})")
            for row in rows:
                self.query(f"INSERT INTO {name} VALUES {row}")
        return name

    def write(self, rows: list[tuple[Any, ...]], schema: str, path: str, mode: str, steps: Any = (), **options: Any) -> Any:
        output = {"format": "jdbc", "path": path, "mode": mode, "connection": "shop", "options": options, "transformations": list(steps)}
        frame = self.house.spark.createDataFrame(rows, schema)
        return self.sparquet.run_from_dict({"name": "w", "input": {"format": "view", "path": "x"}, "output": output}, input_df=frame)

    def read(self, source: dict[str, Any], steps: Any = ()) -> tuple[Any, list[tuple[Any, ...]]]:
        view = f"v{uuid.uuid4().hex}"
        source = {"format": "jdbc", "connection": "shop", **source}
        drop = [{"type": "drop", "columns": ["ingestion_ts"]}]
        document = {"name": "r", "input": source, "transformations": [*drop, *steps], "output": {"format": "view", "path": view}}
        result = self.sparquet.run_from_dict(document)
        return result, sorted(tuple(r) for r in self.house.spark.table(view).collect()) if result.success else []

    def all(self, table: str, columns: str = "id, name") -> list[tuple[Any, ...]]:
        found = self.query(f"SELECT {columns} FROM {table} ORDER BY 1, 2")
        return [tuple(None if v is None else str(v) for v in row) for row in found]

    def stages(self) -> int:
        where = "table_schema = 'public'" if self.kind == "postgres" else "table_schema = 'shop'"
        return int(self.query(f"SELECT COUNT(*) FROM information_schema.tables WHERE {where} AND table_name LIKE 'sparquet%'")[0][0])


@pytest.fixture(params=["postgres", "mariadb"])
def shop(request: pytest.FixtureRequest, house: Any) -> Shop:
    made = Shop(house, request.getfixturevalue(request.param), request.param)
    yield made
    assert made.stages() == 0, "a staging table was left behind"


def codes(result: Any) -> list[tuple[str, str]]:
    return [(p.code, p.at) for p in result.problems]


SCHEMA = "id INT, name STRING"
DDL = "id INT PRIMARY KEY, name VARCHAR(40)"


# --- reading -------------------------------------------------------------------------------------------------------
def test_a_table_is_read_with_its_count(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')", "(2, NULL)")
    result, rows = shop.read({"path": table}, [{"type": "collect", "column": "id", "as": "ids"}])
    assert rows == [(1, "a"), (2, None)], "the values, not the names of the columns"
    assert (result.rows_read, result.variables["ids"]) == (2, [1, 2])


def test_a_query_and_a_filter_that_the_database_does(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')", "(2, 'b')", "(3, 'c')")
    steps = [{"type": "filter", "condition": "id > 1"}, {"type": "collect", "column": "id", "as": "ids"}]
    result, rows = shop.read({"path": table}, steps)
    assert (rows, result.rows_read) == ([(2, "b"), (3, "c")], 2), "the filter was pushed down"
    _, rows = shop.read({"options": {"query": f"SELECT MAX(id) AS most FROM {table};"}})
    assert rows == [(3,)]


@pytest.mark.parametrize("column", ["id", "day"])
def test_parallel_reads_ask_for_the_bounds(shop: Shop, column: str) -> None:
    table = shop.table("id INT, day DATE", *(f"({i}, '2026-01-{i:02}')" for i in range(1, 21)))
    source = {"path": table, "options": {"partition_column": column.upper() if column == "id" else column, "num_partitions": 4}}
    result, rows = shop.read(source, [{"type": "collect", "column": "id", "as": "ids", "max_values": 100}])
    assert (len(rows), rows[0], result.rows_read) == (20, (1, dt.date(2026, 1, 1)), 20)
    view = shop.house.spark.createDataFrame(rows, "id INT, day DATE")
    assert view.count() == 20
    from sparquet_provider.core.connections import Connections
    from sparquet_provider.core.context import Run
    from sparquet_provider.core.document import Source
    from sparquet_provider.core.engine import Engine
    from sparquet_provider.core.formats.jdbc import Jdbc

    nothing: Any = None
    run = Run(shop.house.spark, Engine(shop.house.spark), dt.datetime.now(), nothing, nothing, connections=Connections({"shop": shop.server.connection}))
    frame = Jdbc().read(Source(format="jdbc", connection="shop", **source), run)
    assert frame.rdd.getNumPartitions() == 4
    assert max(len(part) for part in frame.rdd.glom().collect()) < 10


def test_an_empty_table_is_read_in_parallel(shop: Shop) -> None:
    result, rows = shop.read({"path": shop.table(DDL), "options": {"partitionColumn": "id", "numPartitions": "3"}})
    assert result.success and rows == []


def test_faults_of_reading_name_the_place(shop: Shop) -> None:
    assert codes(shop.read({"path": "nowhere"})[0]) == [("SOURCE_NOT_FOUND", "/input/path")]
    table = shop.table(DDL, "(1, 'a')")
    result, _ = shop.read({"path": table, "options": {"partition_column": "idd", "num_partitions": 2}})
    assert codes(result) == [("COLUMN_NOT_FOUND", "/input/options/partition_column")] and "'id'" in result.message
    assert codes(shop.read({"path": table, "connection": "shopp"})[0]) == [("CONNECTION_NOT_FOUND", "/input/connection")]


@pytest.mark.parametrize("change", [{"password": "wrong-password"}, {"port": 1}])
def test_a_login_that_is_refused_and_a_server_that_is_not_there(shop: Shop, change: dict[str, Any]) -> None:
    shop.sparquet = Sparquet(shop.house.spark, connections={"shop": {**shop.server.connection, **change}})
    result, _ = shop.read({"path": "t"})
    written = shop.write([(1, "a")], SCHEMA, "t", "append")
    code = "LOGIN_REFUSED" if "password" in change else "SERVER_UNREACHABLE"
    assert codes(result) == [(code, "/input/connection")] and codes(written) == [(code, "/output/connection")]
    assert "wrong-password" not in str(result.to_dict()) and written.error.retryable is (code == "SERVER_UNREACHABLE")


# --- writing -------------------------------------------------------------------------------------------------------
DROP = [{"type": "drop", "columns": ["ingestion_ts"]}]
ALL_TYPES = (
    "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f DOUBLE, d DECIMAL(30,4), s STRING, bin BINARY, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ"
)


def test_a_missing_table_is_made_and_keeps_every_type(shop: Shop) -> None:
    moment = dt.datetime(2026, 3, 1, 12, 30, 15, 123456)
    row = (True, 7, 300, 70000, 2**60, 1.5, Decimal("12345678901234567890.1234"), "é'\"\\ \N{GRINNING FACE}" * 200, b"\x00\xff", dt.date(2026, 1, 2), moment, moment)
    table = shop.table()
    result = shop.write([row, (None,) * 12], ALL_TYPES, table, "overwrite")
    assert (result.rows_written, result.outputs[0].details) == (2, {"table": "made"}), result.message
    _, rows = shop.read({"path": table}, [{"type": "filter", "condition": "i is not null"}])
    found = dict(zip("b i8 i16 i l f d s bin day at local".split(), rows[0], strict=True))
    assert [found[n] for n in "i l f d s day at local".split()] == [row[n] for n in (3, 4, 5, 6, 7, 9, 10, 11)]
    assert (bool(found["b"]), int(found["i8"]), int(found["i16"]), bytes(found["bin"])) == (True, 7, 300, b"\x00\xff")


def test_what_a_table_cannot_hold_is_named_before_anything_is_written(shop: Shop) -> None:
    table = shop.table()
    result = shop.write([(1, {"a": 1}, None)], "id INT, m MAP<STRING,INT>, n STRUCT<x: INT>", table, "append")
    assert [p.facts["found"] for p in result.problems] == ["m", "n"] and {p.code for p in result.problems} == {"TYPE_NOT_STORABLE"}
    assert codes(shop.read({"path": table})[0])[0][0] == "SOURCE_NOT_FOUND"


def test_append_adds_and_reports(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')")
    result = shop.write([(2, "b"), (3, None)], SCHEMA, table, "append", DROP)
    assert (result.rows_written, shop.all(table)) == (2, [("1", "a"), ("2", "b"), ("3", None)]), result.message


def test_the_staged_rows_are_compared_with_what_the_engine_saw(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparquet_provider.core.formats import staging

    seen: list[Any] = []

    def fewer(observation: Any, engine: Any) -> Any:
        seen.append(observed(observation, engine))
        return {"rows": 1}

    observed = staging.observed
    monkeypatch.setattr(staging, "observed", fewer)
    table = shop.table(DDL, "(1, 'a')")
    result = shop.write([(2, "b"), (3, "c")], SCHEMA, table, "append", DROP)
    assert seen == [{"rows": 2}], "the engine counts the rows of this write"
    assert codes(result) == [("WRITE_CONFLICT", "/output/path")] and result.error.retryable
    assert shop.all(table) == [("1", "a")]


def test_an_append_that_fails_leaves_nothing(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'old')")
    result = shop.write([(5, "new"), (1, "secret value")], SCHEMA, table, "append", DROP)
    assert codes(result) == [("DATABASE_REFUSED", "/output/path")], result.message
    assert "secret value" not in str(result.to_dict()) and "(1)" not in result.message
    assert shop.all(table) == [("1", "old")], "not even the row that fitted"


def test_overwrite_keeps_keys_and_replaces_all(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')", "(9, 'z')")
    result = shop.write([(1, "n")], SCHEMA, table, "overwrite", DROP, truncate=shop.kind == "postgres")
    assert (result.rows_written, shop.all(table)) == (1, [("1", "n")]), result.message
    assert codes(shop.write([(1, "x"), (1, "y")], SCHEMA, table, "overwrite", DROP))[0][0] == "DATABASE_REFUSED", "the key is still there"


@pytest.mark.parametrize("truncate", [False, True])
def test_a_failed_overwrite_leaves_the_old_rows(shop: Shop, truncate: bool) -> None:
    table = shop.table("id INT PRIMARY KEY, name VARCHAR(40) NOT NULL", "(1, 'old')", "(2, 'old')")
    twice = shop.write([(7, "x"), (7, "y")], SCHEMA, table, "overwrite", DROP, truncate=truncate)
    null = shop.write([(8, "x"), (9, None)], SCHEMA, table, "overwrite", DROP, truncate=truncate)
    assert codes(twice) == codes(null) == [("DATABASE_REFUSED", "/output/path")]
    assert shop.all(table) == [("1", "old"), ("2", "old")]


def test_an_overwrite_from_the_table_itself(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')", "(2, 'b')")
    document = {
        "name": "self", "input": {"format": "jdbc", "path": table, "connection": "shop"},
        "transformations": [*DROP, {"type": "filter", "condition": "id = 2"}],
        "output": {"format": "jdbc", "path": table, "connection": "shop", "mode": "overwrite"},
    }
    result = shop.sparquet.run_from_dict(document)
    assert (result.rows_read, result.rows_written, shop.all(table)) == (1, 1, [("2", "b")]), result.message


@pytest.mark.parametrize("ddl", [DDL, "id INT, name VARCHAR(40)"], ids=["with a key", "without an index"])
def test_merge_updates_and_inserts(shop: Shop, ddl: str) -> None:
    table = shop.table(ddl, "(1, 'a')", "(2, 'b')")
    for _ in range(2):
        result = shop.write([(2, "B"), (3, "c")], SCHEMA, table, "merge", DROP, merge_keys=["id"])
        assert result.success and shop.all(table) == [("1", "a"), ("2", "B"), ("3", "c")], result.message
    assert result.rows_written == 2 or shop.kind == "mariadb"
    assert sum(result.outputs[0].details.values()) == result.rows_written


def test_null_keys_meet_null_keys(shop: Shop) -> None:
    table = shop.table("id INT, name VARCHAR(40), UNIQUE (id)", "(NULL, 'a')", "(1, 'b')")
    for _ in range(2):
        assert shop.write([(None, "A"), (1, "B")], SCHEMA, table, "merge", DROP, merge_keys="id").success
    assert sorted(shop.all(table), key=str) == sorted([(None, "A"), ("1", "B")], key=str)


def test_a_merge_over_an_unusual_name_and_two_keys(shop: Shop) -> None:
    mark = '"' if shop.kind == "postgres" else "`"
    table = shop.table(f"{mark}order id{mark} INT, {mark}select{mark} VARCHAR(9), n INT, PRIMARY KEY ({mark}order id{mark}, {mark}select{mark})", "(1, 'x', 1)")
    schema = "`order id` INT, `select` STRING, n INT"
    result = shop.write([(1, "x", 5), (1, "y", 6)], schema, table, "merge", DROP, merge_keys=["order id", "select"])
    assert result.success and shop.all(table, f"{mark}order id{mark}, {mark}select{mark}, n") == [("1", "x", "5"), ("1", "y", "6")], result.message


def test_repeated_merge_keys_are_refused_before_anything_is_written(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')")
    result = shop.write([(1, "x"), (1, "y"), (2, "z")], SCHEMA, table, "merge", DROP, merge_keys=["id"])
    assert codes(result) == [("DUPLICATE_MERGE_KEYS", "/output/options/merge_keys")] and shop.all(table) == [("1", "a")]


def test_ignore_and_error(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')")
    kept = shop.write([(2, "b")], SCHEMA, table, "ignore", DROP)
    assert (kept.outputs[0].status, kept.rows_written) == ("kept", 0)
    assert codes(shop.write([(2, "b")], SCHEMA, table, "error", DROP)) == [("TARGET_EXISTS", "/output/path")]
    new = shop.table()
    assert shop.write([(2, "b")], SCHEMA, new, "error", DROP).rows_written == 1
    assert shop.all(new) == [("2", "b")]


def test_columns_that_the_table_lacks(shop: Shop) -> None:
    table = shop.table(DDL)
    result = shop.sparquet.run_from_dict({
        "name": "x", "input": {"format": "jdbc", "path": shop.table("id INT, nmae INT"), "connection": "shop"},
        "output": {"format": "jdbc", "path": table, "connection": "shop", "mode": "append"},
    })
    assert [(p.code, p.facts["found"]) for p in result.problems] == [("MERGE_TARGET_COLUMN", "nmae"), ("MERGE_TARGET_COLUMN", "ingestion_ts")]
    assert "'name'" in result.message and '"drop"' in result.message


def test_an_empty_frame_makes_the_table(shop: Shop) -> None:
    table = shop.table()
    assert shop.write([], SCHEMA, table, "overwrite", DROP).rows_written == 0
    assert shop.all(table) == []


def test_columns_in_another_case_and_order_fit_by_name(shop: Shop) -> None:
    table = shop.table(DDL)
    assert shop.write([("a", 1)], "NAME STRING, ID INT", table, "append", DROP).success
    assert shop.all(table) == [("1", "a")]


def test_an_engine_without_transactions_is_refused(house: Any, mariadb: Server) -> None:
    shop = Shop(house, mariadb, "mariadb")
    table = shop.table()
    shop.query(f"CREATE TABLE {table} (id INT, name VARCHAR(9)) ENGINE=Aria TRANSACTIONAL=0")
    result = shop.write([(1, "a")], SCHEMA, table, "append", DROP)
    assert codes(result) == [("INVALID_COMBINATION", "/output/path")] and "InnoDB" in result.message


def test_types_of_the_database_take_text(house: Any, postgres: Server) -> None:
    shop = Shop(house, postgres, "postgres")
    table = shop.table("id UUID, name JSONB")
    value = str(uuid.uuid4())
    assert shop.write([(value, '{"a": 1}')], "id STRING, name STRING", table, "append", DROP).success
    assert shop.all(table, "id, name->>'a'") == [(value, "1")]


def test_a_table_in_another_schema_and_in_quotes(house: Any, postgres: Server) -> None:
    shop = Shop(house, postgres, "postgres")
    shop.query('CREATE SCHEMA IF NOT EXISTS "Big Sales"')
    name = f'"Big Sales".Orders{uuid.uuid4().hex[:6]}'
    assert shop.write([(1, "a")], SCHEMA, name, "append", DROP).success
    assert shop.all(name) == [("1", "a")] and shop.read({"path": name})[1] == [(1, "a")]


def test_a_driver_side_commit_that_never_comes_leaves_all_as_it_was(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparquet_provider.core.formats.database import Database

    table = shop.table(DDL, "(1, 'old')")
    commits = []

    def dies(self: Database) -> None:
        commits.append(1)
        if len(commits) > 1:  # the first one makes the staging table
            raise KeyboardInterrupt
        self._connection.commit()

    monkeypatch.setattr(Database, "commit", dies)
    with pytest.raises(KeyboardInterrupt):
        shop.write([(2, "new")], SCHEMA, table, "overwrite", DROP)
    monkeypatch.undo()
    assert shop.all(table) == [("1", "old")]
    left = [r[0] for r in shop.query("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sparquet%'")]
    for stage in left:  # with PostgreSQL the drop is undone, too, since its commit never came
        shop.query(f"DROP TABLE {stage}")


def test_two_merges_at_once_lose_nothing(shop: Shop) -> None:
    import threading

    table = shop.table("id INT, name VARCHAR(40)")
    results: list[Any] = []

    def merge(number: int) -> None:
        for _ in range(3):
            results.append(shop.write([(i, f"w{number}") for i in range(50)], SCHEMA, table, "merge", DROP, merge_keys=["id"]))
            if results[-1].success:
                break

    threads = [threading.Thread(target=merge, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert all(r.success or r.error.retryable for r in results), [r.message for r in results]
    assert [r[0] for r in shop.all(table)] == sorted(map(str, range(50))) or len(shop.all(table)) == 50, "each key once"


# --- credentials ---------------------------------------------------------------------------------------------------
def test_the_password_is_in_no_result_message_or_log(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "sparquet")
    table = shop.table(DDL, "(1, 'a')")
    results = [shop.read({"path": table})[0], shop.read({"path": "nowhere"})[0], shop.write([(1, "x")], SCHEMA, table, "append", DROP)]
    text = caplog.text + "".join(str(r.to_dict()) for r in results) + "".join(r.message for r in results)
    assert PASSWORD not in text and PASSWORD[:6] not in text
    assert not any(PASSWORD in str(v) for _, v in shop.house.spark.sparkContext.getConf().getAll())


def test_the_environment_holds_a_connection_as_airflow_does(house: Any, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import quote

    fields = postgres.connection
    monkeypatch.setenv("AIRFLOW_CONN_MY_SHOP", f"postgresql://tester:{quote(PASSWORD, safe='')}@127.0.0.1:{fields['port']}/shop")
    shop = Shop(house, postgres, "postgres")
    table = shop.table(DDL, "(1, 'a')")
    assert shop.read({"path": table, "connection": "my_shop"})[1] == [(1, "a")]


def test_url_user_and_password_in_options(shop: Shop) -> None:
    table = shop.table(DDL, "(1, 'a')")
    options = {"url": shop.server.url, "user": "tester", "password": PASSWORD}
    result, rows = shop.read({"path": table, "connection": None, "options": options})
    assert rows == [(1, "a")], result.message
    assert [p.at for p in result.warnings if p.code == "SECRET_IN_DOCUMENT"] == ["/input/options/user", "/input/options/password"]
