"""The model: here, to be had, or neither."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from clawdbot.engine import models
from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.model import dtype_of, folder_of, model, weights_of

NAME = "somebody/some-model"


def make(folder: Path, **without: bool) -> Path:
    """A folder that looks like a model."""
    folder.mkdir(parents=True)
    files = {
        "config.json": json.dumps({"torch_dtype": "bfloat16"}),
        "model-1.safetensors": "weights",
        "model-2.safetensors": "more",
        "tokenizer.json": "{}",
    }
    for name, text in files.items():
        if not without.get(name.split(".")[-1]):
            (folder / name).write_text(text)
    return folder


@asynccontextmanager
async def hub(status: int) -> AsyncIterator[dict[str, str]]:
    """A hub that answers so; the environment that leads there."""

    async def answer(request: web.Request) -> web.Response:
        assert request.path == f"/{NAME}/resolve/main/config.json"
        return web.Response(status=status)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield {"HF_ENDPOINT": f"http://127.0.0.1:{runner.addresses[0][1]}", "HF_TOKEN": "hf_secret"}
    await runner.cleanup()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose caches are empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return {"XDG_CACHE_HOME": str(tmp_path)}


async def test_the_demo_model_is_here_or_the_first_start_makes_it(
    elsewhere: dict[str, str],
) -> None:
    assert (await model("model", "demo", elsewhere, online=False)).level is Level.WARN

    models.write_manifest(make(models.demo_folder()))
    assert (await model("model", "demo", elsewhere, online=False)).level is Level.OK


async def test_a_folder_is_looked_through(tmp_path: Path) -> None:
    folder = make(tmp_path / "m")

    found = await model("model", str(folder), {}, online=False)
    assert (found.level, weights_of(folder), dtype_of(folder)) == (Level.OK, len("weights") + len("more"), "bfloat16")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "config.json").unlink(), "no config.json"),
        (lambda folder: [path.unlink() for path in folder.glob("*.safetensors")], "no weights"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer"),
    ],
)
async def test_a_folder_that_is_not_whole_is_told(tmp_path: Path, spoil: Callable[[Path], object], words: str) -> None:
    folder = make(tmp_path / "m")
    spoil(folder)

    found = await model("model", str(folder), {}, online=False)
    assert found.level is Level.FAIL
    assert words in found.text
    assert found.remedy


async def test_a_name_that_can_be_none_is_told() -> None:
    assert (await model("model", "no/such/model", {}, online=False)).level is Level.FAIL


async def test_a_model_of_the_hub_may_be_in_its_cache(elsewhere: dict[str, str], tmp_path: Path) -> None:
    """Where the hub's own library keeps it."""
    folder = make(tmp_path / "huggingface/hub/models--somebody--some-model/snapshots/abc")

    assert folder_of(NAME, elsewhere) == folder
    assert folder_of(NAME, {"HF_HUB_CACHE": str(tmp_path / "huggingface/hub")}) == folder
    assert (await model("model", NAME, elsewhere, online=False)).level is Level.OK


@pytest.mark.parametrize(
    ("status", "level", "words"),
    [
        (200, Level.OK, "has it"),
        (401, Level.FAIL, "HF_TOKEN"),
        (404, Level.FAIL, "knows no"),
        (503, Level.WARN, "out of order (503)"),
    ],
)
async def test_a_model_that_is_not_here_is_asked_for(
    elsewhere: dict[str, str], status: int, level: Level, words: str
) -> None:
    async with hub(status) as there:
        found = await model("model", NAME, {**elsewhere, **there}, online=True)

    assert found.level is level
    assert words in found.line
    assert "hf_secret" not in found.line


async def test_offline_nobody_is_asked(elsewhere: dict[str, str]) -> None:
    """Nor where the hub's own switch says so."""
    unreachable = {**elsewhere, "HF_ENDPOINT": "http://127.0.0.1:9"}

    assert "not in the cache." in (await model("model", NAME, unreachable, online=False)).text
    assert "not in the cache." in (await model("model", NAME, {**unreachable, "HF_HUB_OFFLINE": "1"}, online=True)).text
    assert "cannot be reached" in (await model("model", NAME, unreachable, online=True)).text
