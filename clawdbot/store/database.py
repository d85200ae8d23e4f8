"""One SQLite file, two connections of one thread each, so that a read never waits for a write's commit."""

import fcntl
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import aiosqlite

from clawdbot.errors import StoreError

T = TypeVar("T")

Work = Callable[[sqlite3.Connection], T]
"""What a transaction does in the thread. It may be done twice, after a rollback, so it touches nothing else."""

# The scripts that bring a database up to date, oldest first. `PRAGMA user_version` counts those that a file has had:
# add to the end, change none.
STEPS = (
    "schema.sql",
    "continued.sql",
    "held.sql",
    "access.sql",
    "rooms.sql",
    "attached.sql",
    "choices.sql",
    "revised.sql",
    "waits.sql",
    "tokenizers.sql",
    "remembered.sql",
    "moved.sql",
    "models.sql",
    "pieces.sql",
    "spent.sql",
    "trimmings.sql",
)

_FAULTS = {
    sqlite3.SQLITE_BUSY: "is locked by another program",
    sqlite3.SQLITE_LOCKED: "is locked by another program",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_NOTADB: "is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: does its folder allow writing",
    sqlite3.SQLITE_READONLY: "may not be written",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports a fault",
}


@asynccontextmanager
async def open_database(path: Path, patience: float) -> AsyncIterator["Database"]:
    """Open the file, made or brought up to date if need be, and close it at the end of the block.

    One bot at a time: a second one would answer the same questions again. ``patience``: how many seconds to wait for
    another program's lock. Raises `StoreError`.
    """
    async with AsyncExitStack() as stack:
        with translated(path):
            _make(path)
            stack.enter_context(_locked(path))
            writer = await stack.enter_async_context(_connect(path, patience))
            await _prepare(writer, path)
            reader = await stack.enter_async_context(_connect(path, patience))
            await reader.execute_fetchall("PRAGMA query_only = 1")
        yield Database(path, writer, reader)


class Database:
    """An open file; made by `open_database`. Every method raises `StoreError` when SQLite cannot do it."""

    def __init__(self, path: Path, writer: "_Connection", reader: "_Connection") -> None:
        self._path = path
        self._writer = writer
        self._reader = reader

    async def transaction(self, work: Work[T]) -> T:
        """All that ``work`` writes, or nothing when it raises; what it returns.

        Cancelling the wait does not cancel the work.
        """
        with translated(self._path):
            return await self._writer.transact(work)

    async def write(self, sql: str, *parameters: object) -> int:
        """Run one statement as a transaction of its own; how many rows it changed."""
        return await self.transaction(lambda connection: connection.execute(sql, parameters).rowcount)

    async def read(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        """The rows that a query finds among what is committed."""
        with translated(self._path):
            return list(await self._reader.execute_fetchall(sql, parameters))


class _Errand(Generic[T]):
    """A transaction on its way to the connection's thread and back."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.outcome = Future[T]()


class _Connection(aiosqlite.Connection):
    """With transactions that share a commit when several are asked for at a time.

    Each is one errand to the connection's thread: were each statement one, a transaction would take as many turns of
    the event loop, and all others would wait for it. With 1,000 answers under way that was half a minute.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._errands: deque[_Errand[Any]] = deque()

    async def transact(self, work: Work[T]) -> T:
        errand = _Errand(work)
        self._errands.append(errand)
        await self._execute(self._run_errands)  # type: ignore[no-untyped-call]
        return errand.outcome.result()

    def _run_errands(self) -> None:
        """In the thread: do all that has come together meanwhile; an earlier one may have done it already."""
        if errands := [self._errands.popleft() for _ in range(len(self._errands))]:
            self._run(errands)

    def _run(self, errands: Sequence[_Errand[Any]]) -> None:
        try:
            results = self._commit(lambda connection: [errand.work(connection) for errand in errands])
        except Exception as error:  # noqa: BLE001 - it is raised where the errand is waited for
            if len(errands) == 1:
                errands[0].outcome.set_exception(error)
            else:  # whose fault it was shows when each is done alone
                for errand in errands:
                    self._run([errand])
        else:
            for errand, result in zip(errands, results, strict=True):
                errand.outcome.set_result(result)

    def _commit(self, work: Work[T]) -> T:
        self._conn.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._conn)
            self._conn.execute("COMMIT")
            return result
        finally:
            # A full disk may have ended the transaction already.
            if self._conn.in_transaction:
                self._conn.execute("ROLLBACK")


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What people said is nobody else's business; SQLite gives its other files the same permissions.
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreError(f"The database {path} cannot be made ({error.strerror}).") from error
    # A file that cannot be opened is found here: aiosqlite would leave a thread behind that outlives the loop.
    sqlite3.connect(path).close()


def lock_of(path: Path) -> Path:
    """The file whose lock a bot holds as long as it uses the database at ``path``."""
    return path.with_name(f"{path.name}.lock")


def _locked(path: Path) -> BinaryIO:
    """A file that keeps other bots out until it is closed or the process ends, however it ends."""
    # Not the database itself: closing a second handle on it would drop SQLite's own locks.
    name = lock_of(path)
    try:
        name.touch(mode=0o600)
        lock = name.open("ab")
    except OSError as error:
        raise StoreError(f"The file {name} cannot be made ({error.strerror}).") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StoreError(
            f"The database {path} is in use by another bot ({error.strerror}). End that one first, or give this one a "
            "file of its own ([store] path)."
        ) from error
    return lock


@asynccontextmanager
async def _connect(path: Path, patience: float) -> AsyncIterator[_Connection]:
    def connect() -> sqlite3.Connection:
        # Without an isolation level the sqlite3 module begins no transactions of its own.
        return sqlite3.connect(path, timeout=patience, isolation_level=None)

    connection = _Connection(connect)
    async with connection:
        connection.row_factory = sqlite3.Row
        # In WAL mode this loses nothing when the process dies, only the last commits when the power goes.
        await connection.execute_fetchall("PRAGMA synchronous = NORMAL")
        await connection.execute_fetchall("PRAGMA foreign_keys = ON")
        # What is removed shall not be found in the file.
        await connection.execute_fetchall("PRAGMA secure_delete = ON")
        yield connection


async def _prepare(writer: _Connection, path: Path) -> None:
    """Bring the schema up to date, each step in a transaction of its own."""
    (row,) = await writer.execute_fetchall("PRAGMA user_version")
    if row[0] > len(STEPS):
        raise StoreError(f"The database {path} was written by a newer version of this program.")
    await writer.execute_fetchall("PRAGMA journal_mode = WAL")
    for number, name in enumerate(STEPS[row[0] :], row[0] + 1):
        script = files(__package__).joinpath(name).read_text("utf-8")
        await writer.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises inside into a `StoreError` about the database at ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the kind of fault, the others say more about it.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise StoreError(f"The database {path} {_FAULTS.get(kind, 'cannot be used')} ({error}).") from error
