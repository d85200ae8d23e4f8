"""Reads standard input line by line, in a thread that nobody has to wait for."""

import asyncio
import concurrent.futures
import os
import threading

STANDARD_INPUT = 0


class LineReader:
    """The lines that come through a file descriptor.

    A read cannot be cancelled: it goes on until somebody presses Enter. Its thread keeps neither the loop nor the
    process alive, and what it brings is for whoever asks next. Not through `sys.stdin`: a thread that waits inside that
    object's lock makes Python abort at its end.
    """

    def __init__(self, descriptor: int = STANDARD_INPUT) -> None:
        self._descriptor = descriptor
        self._unread = b""
        self._reading: asyncio.Future[bytes] | None = None
        """The read under way."""

    async def next(self) -> str:
        """The next line with its line end, "" at the end of input."""
        while b"\n" not in self._unread:
            if self._reading is None:
                self._reading = self._start()
            piece = await asyncio.shield(self._reading)
            self._reading = None
            if not piece:
                break
            self._unread += piece
        line, end, self._unread = self._unread.partition(b"\n")
        return (line + end).decode("utf-8", "replace")

    def _start(self) -> asyncio.Future[bytes]:
        outcome: concurrent.futures.Future[bytes] = concurrent.futures.Future()

        def read() -> None:
            try:
                outcome.set_result(os.read(self._descriptor, 65_536))
            except OSError:
                outcome.set_result(b"")  # the terminal was closed: nothing more will come

        threading.Thread(target=read, name="console input", daemon=True).start()
        return asyncio.wrap_future(outcome)
