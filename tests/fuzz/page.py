"""People at the bot's own page who mean harm: what comes over HTTP need not be what the page's script would send."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from io import BytesIO
from pathlib import Path
from random import Random

import aiohttp

from clawdbot.app import App, open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.ops.watch import Watch
from clawdbot.settings.config import AnswerSettings, OpsSettings, Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine, opened
from clawdbot_web import WebAdapter, WebSettings

from ..adapters.web_harness import WebHarness
from . import texts

GROWING = ("waiting", "streaming")
DEEP = 100_000
LONGEST_LINE = 2**24
"""Bytes of an event: all that is on the page, with questions of a megabyte."""
BODIES = (
    *(b"", b"{", b"\xff\xfe", b"[]", b"null", b'"ref"', b"{}", b'{"ref": 1, "text": 2}', b"[" * DEEP, b'{"a":' * DEEP),
    *(b'{"ref": "question-x"}', b'{"ref": null, "text": null}', b'{"ref": "short", "text": "Hi"}', b"9" * 10_000),
    b'{"ref": "\\ud800\\ud800\\ud800", "text": "Hi"}',
)
TYPES = (
    "application/json",
    "application/json; charset=utf-7",
    "text/plain; charset=nonsense",
    "multipart/form-data",
    "",
)
PATHS = (
    "/web/../../etc/passwd",
    "/web/%2e%2e/chat.js",
    "/web/files/%00/0",
    "/web/files/x/999",
    "/web/chat.js/",
    "/web/",
)


class Page:
    """The bot's page, with one reader who follows its news. All who come are its owner."""

    def __init__(self, harness: WebHarness, app: App, database: Path, random: Random) -> None:
        self._harness = harness
        self._app = app
        self._database = database
        self._random = random
        self._statuses: list[tuple[str, int]] = []
        """What the server answered to whom."""
        self._pressed: set[str] = set()
        """Questions below which somebody used a control: there it may be said why it does nothing."""

    async def attack(self) -> str:
        """Let somebody do something; what it was, in a word."""
        attack: Callable[[], Awaitable[None]] = self._random.choice(
            (self._say, self._say, self._repeat, self._malform, self._press, self._press, self._load, self._leave)
        )
        await attack()
        return attack.__name__

    async def ask(self) -> None:
        """Ask something as the page does, when all is quiet, and wait for its answer. Raises TimeoutError."""
        ref, text = self._ref(), texts.said(self._random)
        await self._post("/web/say", {"ref": ref, "text": text})
        await self._harness.until(lambda: self._ends(ref) == [("final", f"You said: {text}")])
        await self.rest()

    async def rest(self) -> None:
        """Wait until the bot has nothing to do, and its reader knows so. Raises TimeoutError."""
        await self._app.sessions.idle()
        await self._harness.until(lambda: not any(note["state"] in GROWING for note in self._harness.notes.values()))

    def harm(self) -> Iterator[tuple[object, ...]]:
        """What should not be."""
        yield from ((*one, "a fault of the server's") for one in self._statuses if one[1] >= 500)
        self._statuses.clear()
        with closing(sqlite3.connect(self._database)) as store:
            rows = store.execute("SELECT message_id, finished_at, state FROM reply").fetchall()
        questions = [ref for ref, *_ in rows]
        yield from (("it is not over", *row) for row in rows if row[1] is None)
        yield from (("it was asked twice", ref) for ref in set(questions) if questions.count(ref) > 1)
        answers = self._answers()
        yield from (("it was answered twice", question, keys) for question, keys in answers.items() if len(keys) > 1)
        here = {note["ref"] for note in self._harness.notes.values() if note["state"] == "asked"}
        yield from (("it was not answered", ref) for ref in here.intersection(questions) if ref not in answers)

    def _answers(self) -> dict[str, set[str]]:
        """By question how its answers and notices are called, of which each has a number for every part."""
        found: dict[str, set[str]] = {}
        for note in self._harness.notes.values():
            explains = note["state"] == "notice" and note["question"] in self._pressed
            if note["state"] != "asked" and not explains:
                found.setdefault(note["question"], set()).add(note["ref"].rpartition("-")[0])
        return found

    def _ends(self, question: str) -> list[tuple[str, str]]:
        notes = [note for note in self._harness.notes.values() if note["question"] == question]
        return [(note["state"], note["text"]) for note in notes if note["state"] != "asked"]

    def _ref(self) -> str:
        return f"question-{self._random.getrandbits(64):x}"

    async def _say(self) -> None:
        await self._post("/web/say", {"ref": self._ref(), "text": texts.hostile(self._random)})

    async def _repeat(self) -> None:
        """Send a question again, at once, or another one under the same name."""
        ref, text = self._ref(), texts.hostile(self._random, texts.SHORT)
        other = self._random.choice((text, text, texts.hostile(self._random, texts.SHORT)))
        await asyncio.gather(*(self._post("/web/say", {"ref": ref, "text": each}) for each in (text, other, text)))

    async def _malform(self) -> None:
        path, kind = self._random.choice(("/web/say", "/web/press")), self._random.choice(TYPES)
        await self._send("POST", path, data=self._random.choice(BODIES), headers={"Content-Type": kind})

    async def _press(self) -> None:
        """Use a control of any note, twice at once; or one that it does not have."""
        notes = list(self._harness.notes.values()) or [{"ref": "nothing", "control": ""}]
        pressable = [note for note in notes if note["control"]]
        note = self._random.choice(pressable or notes)
        self._pressed.add(note.get("question", ""))
        control = self._random.choice((note["control"], note["control"], "stop", "continue", "regenerate", "", "\0", 7))
        ref = self._random.choice((note["ref"], note["ref"], note["ref"], texts.hostile(self._random, texts.SHORT)))
        await asyncio.gather(*(self._post("/web/press", {"ref": ref, "control": control}) for _ in range(2)))

    async def _load(self) -> None:
        await self._send("GET", self._random.choice(PATHS))

    async def _leave(self) -> None:
        """Open the page many times and leave while it tells its news."""
        await asyncio.gather(*(self._look_in() for _ in range(5)))

    async def _look_in(self) -> None:
        async with self._harness.http.get(f"{self._harness.address}/web/events") as answer:
            await answer.content.readline()

    async def _post(self, path: str, told: dict[str, object]) -> None:
        await self._send(
            "POST", path, data=BytesIO(json.dumps(told).encode()), headers={"Content-Type": "application/json"}
        )

    async def _send(self, method: str, path: str, **more: object) -> None:
        async with self._harness.http.request(method, self._harness.address + path, **more) as answer:  # type: ignore[arg-type]
            self._statuses.append((path, answer.status))


@asynccontextmanager
async def at_a_page(folder: Path, script: Callable[[Request], Script], random: Random) -> AsyncIterator[Page]:
    """A bot whose only platform is its page; leaving the block is a crash."""
    clock, adapter = SystemClock(), WebAdapter(WebSettings())
    jar = aiohttp.CookieJar(unsafe=True)
    watch, settings = Watch(OpsSettings(port=0), clock), settings_in(folder)
    async with (
        open_app(settings, lambda: opened(ScriptedEngine(script, clock)), clock, watch.observe) as app,
        watch.open(app, {"web": adapter}) as address,
        aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": address}, read_bufsize=LONGEST_LINE) as http,
    ):
        serving = asyncio.create_task(serve(app, {"web": adapter}, clock, asyncio.Event(), 0.0))
        harness = WebHarness(address, http, adapter)
        await harness.online()
        await http.get(f"{address}/")
        following = asyncio.create_task(harness.follow())
        try:
            yield Page(harness, app, settings.store.path, random)
        finally:
            for task in (serving, following):
                task.cancel()
            await asyncio.wait((serving, following))


def settings_in(folder: Path) -> Settings:
    """Those of a bot whose database lies in ``folder``."""
    return Settings(answers=AnswerSettings(system_prompt=""), store=StoreSettings(path=folder / "clawdbot.sqlite3"))
