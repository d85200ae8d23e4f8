"""The life of vLLM's child processes: out of the terminal's reach, and never longer than the bot's.

Two things happen otherwise, both seen: Ctrl-C goes to the whole process group, the engine core dies first and the
running answers with it; and after a kill -9 of the bot core and worker stay with gigabytes of memory.
"""

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PARENT = "CLAWDBOT_ENGINE_PARENT"
"""Tells the engine's processes whose life ends theirs: a process id."""

ENVIRONMENT = {
    # Without it a restart would fork a process with threads, SQLite connections and sockets.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TORCH_LOGS": "-all",
    # Deprecations inside vLLM's and torch's own code are nothing that an admin can mend.
    "PYTHONWARNINGS": ",".join(
        ("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning:multiprocessing.resource_tracker")
    ),
}
"""What vLLM's processes inherit unless the admin's own environment says otherwise."""


@contextmanager
def sheltered() -> Iterator[None]:
    """Child processes started inside by this thread never see Ctrl-C nor the end of the terminal.

    Both go to the whole process group, and a blocked signal mask is inherited.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def prepare_environment() -> None:
    """Set what children inherit; call before vLLM is imported."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ[PARENT] = str(os.getpid())


def follow_parent() -> None:
    """Die when the bot dies. vLLM calls this in each of its processes, as a plugin of ``vllm.general_plugins``.

    A thread waits on the bot's pidfd. PR_SET_PDEATHSIG would be shorter, but fires when the *thread* that made the
    child ends, and the engine is started from a worker thread.
    """
    parent = int(os.environ.get(PARENT, "0"))
    if parent in (0, os.getpid()):
        return
    try:
        bot = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)
    threading.Thread(target=_exit_after, args=(bot,), name="follow-parent", daemon=True).start()


def _exit_after(pidfd: int) -> None:
    select.select([pidfd], [], [])
    os._exit(1)
