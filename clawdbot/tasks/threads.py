"""Work in a thread that nobody has to wait for at the end of the process."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def run_apart(work: Callable[[], T], unwanted: Callable[[T], object] = lambda made: None) -> T:
    """Run ``work`` in a thread that does not keep the process alive: Ctrl-C ends the bot also while a model loads.

    What ``work`` makes when nobody waits for it any more goes to ``unwanted``, in a thread too.
    """
    loop = asyncio.get_running_loop()
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    outcome.set_running_or_notify_cancel()  # whoever gives up waiting must not cancel what the thread fills in

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed on to whoever waits
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return await asyncio.wrap_future(outcome, loop=loop)
    except asyncio.CancelledError:
        outcome.add_done_callback(partial(_discard, unwanted))
        raise


def _discard(unwanted: Callable[[T], object], outcome: concurrent.futures.Future[T]) -> None:
    if outcome.exception() is None:
        threading.Thread(target=unwanted, args=(outcome.result(),), daemon=True).start()
