"""A real Prometheus for a test, where one is installed."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from clawdbot.testing.waiting import polled

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason='no Prometheus is installed (the Debian package "prometheus" has it and promtool)',
)


def promtool(*arguments: str) -> str:
    """What ``promtool`` says; an AssertionError when it complains."""
    ended = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


class Prometheus:
    """One that runs."""

    def __init__(self, address: str, http: aiohttp.ClientSession) -> None:
        self._address = address
        self._http = http

    async def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """The series that an expression has, at a time (seconds since the epoch) or now."""
        asked = {"query": expression} | ({} if at is None else {"time": f"{at:.3f}"})
        async with self._http.get(f"{self._address}/api/v1/query", params=asked) as answer:
            told = await answer.json()
        assert told["status"] == "success", (expression, told)
        return list(told["data"]["result"])

    async def until_ready(self, process: asyncio.subprocess.Process) -> None:
        """Wait until it answers."""
        await polled(lambda: self._ready(process))

    async def _ready(self, process: asyncio.subprocess.Process) -> bool:
        assert process.returncode is None, "Prometheus ended"
        try:
            async with self._http.get(f"{self._address}/-/ready") as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False


@asynccontextmanager
async def prometheus(config: Path, data: Path) -> AsyncIterator[Prometheus]:
    """One with a configuration of its own and the blocks that lie in ``data``."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    flags = {
        "config.file": config,
        "storage.tsdb.path": data,
        "storage.tsdb.retention.time": "100y",
        "web.listen-address": address,
    }
    with (config.parent / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus", *(f"--{name}={value}" for name, value in flags.items()), stdout=log, stderr=log
        )
    try:
        async with aiohttp.ClientSession() as http:
            running = Prometheus(f"http://{address}", http)
            await running.until_ready(process)
            yield running
    finally:
        process.terminate()
        await process.wait()
