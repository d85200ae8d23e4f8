"""What watches a bot, put together."""

import json
from pathlib import Path

import aiohttp

from clawdbot.clock import SystemClock
from clawdbot.ops.watch import wanted
from clawdbot.settings.config import OpsSettings
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import MemoryPlatform, echo
from clawdbot.testing.waiting import polled
from clawdbot_web import WebAdapter, WebSettings

from ..page.served import served


def test_a_server_is_there_when_it_is_wanted_or_needed() -> None:
    """By the settings, or for people who come by its page; else no port is taken."""
    platform = MemoryPlatform(ManualClock())

    assert not wanted(OpsSettings(), {"memory": platform})
    assert wanted(OpsSettings(enabled=True), {"memory": platform})
    assert wanted(OpsSettings(), {"web": WebAdapter(WebSettings())})


async def test_the_page_knows_the_answers_of_former_runs(tmp_path: Path) -> None:
    clock = SystemClock()
    told = []
    for _ in range(2):
        jar = aiohttp.CookieJar(unsafe=True)
        async with (
            served(OpsSettings(port=0), tmp_path, lambda: opened(ScriptedEngine(echo, clock))) as address,
            aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": address}) as http,
        ):
            await http.get(f"{address}/")
            told.append(len(await answers(http, address)))
            await http.post(f"{address}/web/say", json={"ref": f"question-{len(told)}", "text": "Hello"})
            await polled(lambda: answers(http, address))

    assert told == [0, 1]


async def answers(http: aiohttp.ClientSession, address: str) -> list[object]:
    """Those that a page that is opened now is told of."""
    async with http.get(f"{address}/look") as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                return list(json.loads(line[6:])["answers"])
    raise AssertionError("nothing was told")
