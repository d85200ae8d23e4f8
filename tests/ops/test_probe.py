"""What a container's health check asks, against a server of aiohttp's."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from clawdbot.ops import probe
from clawdbot.ops.server import serving
from clawdbot.settings.config import OpsSettings


async def alive(request: web.Request) -> web.Response:
    return web.Response(text="alive")


async def test_a_bot_that_answers_is_alive() -> None:
    app = web.Application()
    app.router.add_get("/healthz", alive)
    async with serving(app, "127.0.0.1", 0) as address:
        port = int(address.rpartition(":")[2])

        assert await asyncio.to_thread(probe.alive, OpsSettings(port=port))
        # Asked from its own machine, whatever it is bound to.
        assert await asyncio.to_thread(probe.alive, OpsSettings(host="0.0.0.0", port=port))
    assert not await asyncio.to_thread(probe.alive, OpsSettings(port=port))


@pytest.mark.parametrize(
    ("written", "said", "code"),
    [
        ("", "not enabled", 0),
        ("[ops]\nenabled = true\nport = 1", "No answer from 127.0.0.1, port 1.", 1),
        ("[ops]\nprot = 1", "did you mean 'port'?", 1),
    ],
)
def test_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    written: str,
    said: str,
    code: int,
) -> None:
    (tmp_path / "config.toml").write_text(written, encoding="utf-8")
    monkeypatch.setenv("CLAWDBOT_CONFIG", str(tmp_path / "config.toml"))

    assert probe.main() == code
    assert said in capsys.readouterr().out
