"""How rows get into a table of a database: staged beside it, then moved in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..document import Output
from ..engine import observed
from ..errors import Problem, SparquetError, nearest
from .base import Written
from .database import OWN, Database, either
from .dialects import Dialect
from .options import is_true, texts, without

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..context import Run


@dataclass
class Target:
    """The table that is written, and how its rows get there."""

    database: Database
    parts: tuple[str, ...]
    #: Its columns; None when it is not there yet.
    existing: list[str] | None
    output: Output
    run: Run

    @property
    def dialect(self) -> Dialect:
        return self.database.dialect

    @property
    def name(self) -> str:
        """The table's name in SQL."""
        return self.dialect.name_of(self.parts)

    def load(self, df: DataFrame, keys: list[str] | None = None) -> Written:
        """Stage the rows, then change the table in one transaction."""
        names = self._names(df)
        stage = (*self.parts[:-1], f"sparquet_stage_{uuid.uuid4().hex[:16]}")
        self._check_engine()
        with self._staged(df, names, stage, keys or []) as rows:
            if self.existing is None:
                self.database.execute(self.dialect.rename(stage, self.parts[-1]))
                self.database.commit()
                return Written(rows, details={"table": "made"})
            return self._change(names, stage, rows, [names[k] for k in keys] if keys else [])

    def _change(self, names: dict[str, str], stage: tuple[str, ...], rows: int, keys: list[str]) -> Written:
        dialect, database = self.dialect, self.database
        staged, columns = dialect.name_of(stage), [dialect.quoted(c) for c in names.values()]
        quoted = [dialect.quoted(k) for k in keys]
        mode, counts = self.output.canonical_mode, {}
        unique = dialect.unique(self.parts, keys) if keys else None
        indexed = unique is not None and int(database.value(unique) or 0) > 0
        nulls = bool(keys) and int(database.value(f"SELECT COUNT(*) FROM {staged} WHERE {' OR '.join(f'{k} IS NULL' for k in quoted)}") or 0) > 0
        database.rollback()
        # A merge over a unique index needs no lock: two writers of one key wait for each other there.
        if mode == "overwrite" or mode == "merge" and not (indexed and not nulls):
            for statement in dialect.lock(self.name):
                database.execute(statement)
        if mode == "overwrite":
            counts["rows_removed"] = database.execute(dialect.empty(self.name, is_true(self.output.options, "truncate") and dialect.truncates))
        if mode == "merge":
            for what, statement in dialect.merge(self.name, staged, columns, quoted, nulls=nulls, unique=indexed).items():
                counts[what] = database.execute(statement)
            written = sum(counts.values())
        else:
            written = database.execute(dialect.insert(self.name, staged, columns))
            if written != rows:
                raise self.run.fault("WRITE_CONFLICT", "/path", found=f"the staging table ({written} rows came back, {rows} went in)")
        database.commit()
        return Written(written, details=counts)

    # --- the staging table -----------------------------------------------------------------------------------------
    @contextmanager
    def _staged(self, df: DataFrame, names: dict[str, str], stage: tuple[str, ...], keys: list[str]) -> Iterator[int]:
        """The rows in a table of their own, and how many; it is gone when the block ends, unless it became the target."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        dialect, database = self.dialect, self.database
        staged = dialect.name_of(stage)
        if self.existing is None:
            statement = dialect.create(staged, self._types(df, keys))
        else:
            statement = dialect.stage(staged, self.name, [dialect.quoted(c) for c in names.values()])
        database.execute(statement)
        database.commit()
        try:
            observation = Observation()
            watched = df.observe(observation, F.count(F.lit(1)).alias("rows"))
            options = {**texts({}, without(self.output.options, OWN)), **database.address.options(), "dbtable": staged}
            if (most := either(self.output.options, "num_partitions")) is not None:
                options["numPartitions"] = str(most)
            watched.write.format("jdbc").mode("append").options(**options).save()
            there = int(database.value(f"SELECT COUNT(*) FROM {staged}") or 0)
            values = observed(observation, self.run.engine)
            # A part that was written twice (its executor was lost after the commit) would double its rows.
            if values is not None and int(values["rows"]) != there:
                raise self.run.fault("WRITE_CONFLICT", "/path", found=f"the staging table ({there} rows for {values['rows']})")
            yield there
        finally:
            database.rollback()
            with suppress(Exception):  # renamed, or the connection is lost: the first fault is the one to report
                database.execute(f"DROP TABLE {staged}")
                database.commit()

    def _names(self, df: DataFrame) -> dict[str, str]:
        """The frame's columns and what the table calls them; every one that the table lacks is reported."""
        if self.existing is None:
            return {c: self.dialect.column(c) for c in df.columns}
        folded: dict[str, str] = {}
        for column in self.existing:
            folded.setdefault(column.casefold(), column)
        names = {c: c if c in self.existing else folded.get(c.casefold(), "") for c in df.columns}
        missing = [c for c, found in names.items() if not found]
        if missing:
            raise SparquetError.of(self._lacks(c) for c in missing)
        return names

    def _lacks(self, column: str) -> Problem:
        if column in {"ingestion_ts", *self.run.literals}:
            remedy = f'Leave it out in this output: "transformations": [{{"type": "drop", "columns": ["{column}"]}}]; or add it to the table.'
        else:
            near = nearest(column, self.existing or ())
            remedy = (f"Rename it to {near!r}, leave" if near else "Leave") + " it out in the output's transformations, or add it to the table."
        return Problem("MERGE_TARGET_COLUMN", self.run.at, {"found": column, "remedy": remedy})

    def _types(self, df: DataFrame, keys: list[str]) -> dict[str, str]:
        """The columns of a table that is made; every one that it can't hold is reported."""
        found = [(f, self.dialect.type_of(f.dataType)) for f in df.schema.fields]
        wrong = [f for f, kind in found if kind is None]
        if wrong:
            where = f"a table of {self.dialect.name}"
            facts = ({"found": f.name, "type": f.dataType.simpleString(), "format": where} for f in wrong)
            raise SparquetError.of(Problem("TYPE_NOT_STORABLE", self.run.at, f) for f in facts)
        comparable = self.dialect.key_types
        kinds = {f.name: comparable.get(str(kind), str(kind)) if f.name in keys else str(kind) for f, kind in found}
        return {self.dialect.quoted(self.dialect.column(name)): kind for name, kind in kinds.items()}

    def _check_engine(self) -> None:
        query = self.dialect.transactional(self.parts) if self.existing is not None else None
        engine = self.database.value(query) if query else None
        if engine:
            reason = f"the table's engine {engine} has no transactions, so a failed write would leave half of it"
            raise self.run.fault("INVALID_COMBINATION", "/path", reason=reason, remedy=f"ALTER TABLE {self.output.path} ENGINE=InnoDB.")
