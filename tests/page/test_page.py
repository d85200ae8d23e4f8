"""The page in a browser, with a whole bot behind it whose engine is scripted."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import OpsSettings
from clawdbot.testing.browser import Tab, browsing
from clawdbot.testing.engine import Script, ScriptedEngine, opened
from clawdbot.testing.rig import question

from .served import ask, needs_chromium, served

pytestmark = needs_chromium

HOSTILE = (
    '<img src=x onerror="document.title=1"> <script>document.title=1</script> [x](javascript:document.title=1) **b**'
)
TOKEN = "a-token-of-the-owner"
ANSWER = "document.querySelector('.theirs > div')?.innerText"
"""The text of the first answer; its controls stand below it."""


def answer(request: Request) -> Script:
    """Hostile text is repeated, "for ever" is answered without end; anything else in six words."""
    asked = question(request.prompt)
    if "for ever" in asked:
        return Script(["on ", "and "] * 5000, first=0.05, gap=0.1)
    if "<" in asked:
        return Script([asked])
    return Script(["Herons ", "stand ", "in ", "shallow ", "water, ", "waiting."], first=0.1, gap=0.15)


Look = Callable[..., AbstractAsyncContextManager[Tab]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """A browser that has opened the page of a bot with ``[ops]`` settings."""

    @asynccontextmanager
    async def look(token: str | None = None) -> AsyncIterator[Tab]:
        clock = SystemClock()
        settings = OpsSettings(port=0, token=SecretStr(token) if token else None)
        engine = ScriptedEngine(answer, clock)
        async with served(settings, tmp_path, lambda: opened(engine)) as address, browsing(tmp_path) as tab:
            await tab.open(f"{address}/")
            yield tab

    return look


async def test_it_shows_how_the_bot_does_and_complains_about_nothing(look: Look) -> None:
    """A refused script or style would be a complaint: the page lives by its own strict policy."""
    async with look() as tab:
        await tab.until("document.querySelector('#status').textContent === 'ready'")
        shown = await tab.evaluate("document.body.innerText")
        loaded = await tab.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).host)")

        assert all(said in shown for said in ("scripted", "8,192 tokens", "in line for the engine", "connected"))
        assert set(loaded) == {await tab.evaluate("location.host")}
        assert tab.console == []


async def test_what_is_typed_is_answered_and_the_answer_grows(look: Look) -> None:
    async with look() as tab:
        await tab.until("document.querySelector('#say') !== null")
        await tab.evaluate(
            "window.states = []; new MutationObserver(() => states.push("
            "document.querySelector('.theirs')?.firstChild.innerText ?? '')).observe("
            "document.querySelector('.log'), {childList: true, subtree: true})"
        )
        await ask(tab, "What do herons do?")
        await tab.until(f"{ANSWER} === 'Herons stand in shallow water, waiting.'")
        states = [state.strip() for state in await tab.evaluate("states") if state]

        assert await tab.evaluate("document.querySelector('.mine').innerText") == "What do herons do?"
        assert states[0] != states[-1] == "Herons stand in shallow water, waiting."
        assert all(states[-1].startswith(state) for state in states)


async def test_an_answer_is_stopped_by_its_button(look: Look) -> None:
    async with look() as tab:
        await ask(tab, "Go on for ever")
        await tab.until("document.querySelector('button.quiet')?.innerText === 'Stop'")
        await tab.evaluate("document.querySelector('button.quiet').click()")
        await tab.until("document.querySelector('.theirs em')?.innerText === '(stopped)'")

        assert await tab.evaluate("document.querySelector('button.quiet')?.innerText") != "Stop"


async def test_where_the_time_went_is_there_when_the_answer_is(look: Look) -> None:
    async with look() as tab:
        await ask(tab, "What do herons do?")
        await tab.until("document.querySelectorAll('#chain rect').length > 0")
        await tab.until("document.querySelectorAll('#words circle').length > 2")
        told = await tab.evaluate("document.querySelector('#chain svg').getAttribute('aria-label')")
        short = await tab.evaluate("document.querySelector('#chain b').innerText")
        await tab.evaluate("document.querySelector('#whole').click()")
        whole = await tab.evaluate("document.querySelector('#chain b').innerText")

        assert "first token" in told
        assert "first visible" in told
        assert short.endswith("ms")
        assert whole != short


async def test_nothing_that_anybody_writes_becomes_markup(look: Look) -> None:
    """The question is hostile, and so is the answer."""
    async with look() as tab:
        title = await tab.evaluate("document.title")
        await ask(tab, HOSTILE)
        await tab.until("document.querySelector('.theirs strong')?.innerText === 'b'")
        shown = await tab.evaluate(ANSWER)

        assert HOSTILE.replace("**", "") == shown
        assert await tab.evaluate("document.querySelectorAll('.log img, .log script, .log a').length") == 0
        assert await tab.evaluate("document.title") == title
        assert tab.console == []


async def test_it_fits_a_phone(look: Look) -> None:
    async with look() as tab:
        await tab.screen(360, 740)
        await ask(tab, "What do herons do?")
        await tab.until("document.querySelectorAll('#chain rect').length > 0")

        assert await tab.evaluate("document.documentElement.scrollWidth") <= 360
        small = "Math.min(...[...document.querySelectorAll('main button')].map((one) => one.offsetHeight))"
        assert await tab.evaluate(small) >= 32


async def test_whatever_can_be_used_has_a_name(look: Look) -> None:
    async with look() as tab:
        await tab.until("document.querySelector('#say') !== null")
        await tab.call("Accessibility.enable")
        nodes = (await tab.call("Accessibility.getFullAXTree"))["nodes"]
        roles = {"button", "textbox", "checkbox", "region", "log", "status", "image"}
        named = [(node["role"]["value"], node["name"]["value"]) for node in nodes if node["role"]["value"] in roles]

        assert {role for role, _ in named} >= {"button", "textbox", "checkbox", "region", "log"}
        assert [role for role, name in named if not name and role != "status"] == []


async def test_with_a_token_it_is_asked_for_first(look: Look) -> None:
    async with look(TOKEN) as tab:
        await tab.until("location.pathname === '/login'")
        await tab.type("#token", TOKEN)
        await tab.enter()
        await tab.until("document.querySelector('#status')?.textContent === 'ready'")

        assert TOKEN not in json.dumps(await tab.evaluate("[document.cookie, location.href]"))
