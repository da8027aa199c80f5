"""A store of vectors in SQLite, looked through from end to end."""

import asyncio
import json
import operator
import sqlite3
from contextlib import closing

from carrel.model.errors import InvalidInput, StoreError
from carrel.model.vectors import Vectors


class SqliteStore:
    """Vectors in a SQLite file."""

    leaves_machine = False

    def __init__(self, path, dim):
        self.dim, self._path = dim, path
        self._run("CREATE TABLE IF NOT EXISTS chunks (id TEXT PRIMARY KEY, vector BLOB, payload TEXT)")

    async def publish(self, upsert, delete=()):
        rows = [(record.id, self._checked(record.vector).data, json.dumps(dict(record.payload))) for record in upsert]
        await asyncio.to_thread(self._run, "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)", rows)
        await asyncio.to_thread(self._run, "DELETE FROM chunks WHERE id = ?", [(chunk_id,) for chunk_id in delete])

    async def search(self, vector, k, where=None, floor=None):
        return await asyncio.to_thread(self._search, self._checked(vector).floats(0), k, where, -2.0 if floor is None else floor)

    async def vectors(self, ids):
        kept = dict(await asyncio.to_thread(self._run, "SELECT id, vector FROM chunks"))
        return {chunk_id: kept[chunk_id] for chunk_id in ids if chunk_id in kept}

    async def ids(self):
        yield [chunk_id for (chunk_id,) in await asyncio.to_thread(self._run, "SELECT id FROM chunks")]

    def _search(self, sought, k, where, floor):
        rows = self._run("SELECT * FROM chunks") if any(sought) else []
        allowed = [row for row in rows if where is None or where.matches(json.loads(row[2]))]
        scored = [(row[0], sum(map(operator.mul, sought, self._checked(row[1]).floats(0)))) for row in allowed]
        return sorted((pair for pair in scored if pair[1] >= floor), key=lambda pair: (-pair[1], pair[0]))[: max(k, 0)]

    def _run(self, query, rows=None):
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as db, db:
                return db.execute(query).fetchall() if rows is None else db.executemany(query, rows)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} can't be used: {error}. Delete it; the vectors are made again.") from error

    def _checked(self, vector):
        if len(vector) != 4 * self.dim:
            raise InvalidInput("vector", f"doesn't have {self.dim} values")
        return Vectors(vector, self.dim)
