"""A real `vllm serve` on this machine, for tests and for measurements: started, watched, ended."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import httpx

from clawdbot.engine.process import ENVIRONMENT, PARENT
from clawdbot.errors import EngineUnavailable

NAME = "served"
"""What the server calls its model."""
START = 600.0
"""Seconds that it may take to be there."""
POLL = 0.25
END = 15.0
"""Seconds that it gets to end by itself."""
TOLD = 1500
"""Characters of its log that an error repeats."""

# `vllm serve` itself: the command of that name looks for a package that the one for CPUs does not bring.
MODULE = "vllm.entrypoints.openai.api_server"
DETAILS = ("--enable-prompt-tokens-details", "--enable-per-request-metrics")


@dataclass(frozen=True, slots=True)
class Served:
    """A server that was there."""

    url: str
    process: asyncio.subprocess.Process
    log: Path

    def kill(self) -> None:
        """End it and all its processes at once, as a machine does that loses its power."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def metric(self, name: str) -> float:
        """The sum of one of its own metrics, such as "vllm:num_requests_running"."""
        async with httpx.AsyncClient() as client:
            lines = (await client.get(f"{self.url.removesuffix('/v1')}/metrics")).text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{"))


def flags(args: Mapping[str, Any]) -> Iterator[str]:
    """Fields of ``AsyncEngineArgs`` as the options of the command line (pure)."""
    for name, value in args.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        elif isinstance(value, str | int | float):
            yield f"--{option}={value}"
        else:
            yield f"--{option}={json.dumps(value)}"


@asynccontextmanager
async def vllm_serve(model: str, args: Mapping[str, Any]) -> AsyncIterator[Served]:
    """A server for ``model``, a folder or a hub name, with these ``AsyncEngineArgs``.

    It lives in a session of its own, out of the terminal's reach, and no longer than this process. Raises
    `EngineUnavailable` with the end of its log.
    """
    port = _free_port()
    command = (sys.executable, "-m", MODULE, "--model", model, "--served-model-name", NAME, *DETAILS, *flags(args))
    with TemporaryDirectory(prefix="clawdbot-served-") as folder:
        log = Path(folder, "log")
        with _opened(log) as out:
            process = await asyncio.create_subprocess_exec(
                *command,
                "--host=127.0.0.1",
                f"--port={port}",
                env=environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        served = Served(f"http://127.0.0.1:{port}/v1", process, log)
        try:
            await _there(served)
            yield served
        finally:
            await asyncio.shield(_end(served))


def environment() -> dict[str, str]:
    """The server's: this process's own without the bot's secrets, and what vLLM's processes need."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLAWDBOT_")}
    return {**ENVIRONMENT, "VLLM_CPU_KVCACHE_SPACE": "1", **own, PARENT: str(os.getpid())}


def _opened(log: Path) -> BinaryIO:
    return log.open("wb")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _there(served: Served) -> None:
    health = f"{served.url.removesuffix('/v1')}/health"
    async with httpx.AsyncClient() as client, asyncio.timeout(START):
        while served.process.returncode is None:
            with suppress(httpx.TransportError):
                if (await client.get(health)).is_success:
                    return
            await asyncio.sleep(POLL)
    told = served.log.read_text(errors="replace")[-TOLD:]
    raise EngineUnavailable(f"vllm serve ended before it was there: {told}", "Its log names the cause.")


async def _end(served: Served) -> None:
    if served.process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(served.process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(END):
                await served.process.wait()
    served.kill()  # and whatever is left of its session
    await served.process.wait()
