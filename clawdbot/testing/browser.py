"""A headless Chromium, told what to do over its DevTools protocol."""

import asyncio
import base64
import itertools
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from clawdbot.testing.waiting import polled

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Where it is; None where none is installed."""

FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
PATIENCE = 60.0
"""Seconds that the browser may take for anything."""


class Tab:
    """One page in the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.console: list[str] = []
        """What the page complained about: errors, refused resources, dialogs."""
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def listen(self) -> None:
        """Take what the browser says until it says no more."""
        async for message in self._socket:
            told = message.json()
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told)
            elif told["method"] in ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                self.console.append(str(told["params"]))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call the browser; what it returns."""
        number = next(self._numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE):
            told = await answer
        assert "error" not in told, (method, told["error"])
        return dict(told["result"])

    async def open(self, url: str) -> None:
        """Go to ``url`` and wait until it is loaded."""
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'")

    async def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        told = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true, whatever page is open then."""
        await polled(lambda: self.evaluate(f"Boolean({condition})"), PATIENCE)

    async def type(self, selector: str, text: str) -> None:
        """Write ``text`` into a field, as a keyboard does."""
        await self.evaluate(f"document.querySelector({selector!r}).focus()")
        await self.call("Input.insertText", text=text)

    async def enter(self) -> None:
        """Press the Enter key."""
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
            )

    async def screen(self, width: int, height: int, *, dark: bool = False, scale: float = 1.0) -> None:
        """Be a screen of that size."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[feature])

    async def picture(self) -> bytes:
        """What is on the screen, as a PNG file."""
        told = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(told["data"])


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Tab]:
    """A browser with an empty page, its files in ``folder``."""
    assert CHROMIUM is not None, "no Chromium is installed"
    # Root may not use Chromium's own sandbox; in a test it shows nothing but the bot's page.
    flags = (*FLAGS, "--no-sandbox") if os.geteuid() == 0 else FLAGS
    with (folder / "chromium.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM, *flags, f"--user-data-dir={folder / 'profile'}", "about:blank", stdout=log, stderr=log
        )
    try:
        port = await _port(folder / "profile" / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as http:
            async with http.get(f"http://127.0.0.1:{port}/json/list") as answer:
                (page,) = [target for target in await answer.json() if target["type"] == "page"]
            async with http.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                tab = Tab(socket)
                listening = asyncio.create_task(tab.listen())
                for domain in ("Page", "Runtime", "Log"):
                    await tab.call(f"{domain}.enable")
                yield tab
            await listening
    finally:
        process.terminate()
        await process.wait()


async def _port(file: Path, process: asyncio.subprocess.Process) -> int:
    """The port that the browser listens at: it writes it into a file of its own, when it is up."""

    def written() -> list[str]:
        assert process.returncode is None, "the browser ended"
        return file.read_text().split() if file.exists() else []

    port, *_ = await polled(written, PATIENCE)
    return int(port)
