"""What the doctor says about an engine that is elsewhere."""

from pathlib import Path

import pytest

from clawdbot.engine.remote.settings import Images, RemoteSettings
from clawdbot.ops.doctor import configuration
from clawdbot.ops.doctor.checks import checks_of
from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.servers import server
from clawdbot.testing.engine import Script
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.serving import SimVllm


async def test_a_server_that_serves_the_model_is_well() -> None:
    async with SimVllm(lambda request: Script([])) as sim:
        found = await server("server 1", sim.url, RemoteSettings(endpoints=(sim.url,), images=0))

    assert (found.level, found.text) == (Level.OK, f'{sim.url} serves "demo".')


@pytest.mark.parametrize(
    ("sees", "images", "level", "told"),
    [
        (2, "ask", Level.OK, "and takes pictures."),
        (0, "ask", Level.OK, "and takes no pictures."),
        (2, 3, Level.OK, "and takes pictures."),
        (0, 3, Level.WARN, "and takes no pictures."),
    ],
)
async def test_whether_it_takes_pictures_is_told(sees: int, images: Images, level: Level, told: str) -> None:
    """Nobody has to open the engine and send one to learn it; settings that promise some are to be mended."""
    async with SimVllm(lambda request: Script([]), sees=sees) as sim:
        found = await server("server 1", sim.url, RemoteSettings(endpoints=(sim.url,), images=images))

    assert (found.level, found.text) == (level, f'{sim.url} serves "demo" {told}')


async def test_a_server_that_fails_at_a_picture_serves_all_the_same() -> None:
    async with SimVllm(lambda request: Script([]), sees=2) as sim:
        sim.faults.add("chat", Fault(Trouble.ERROR))
        found = await server("server 1", sim.url, RemoteSettings(endpoints=(sim.url,)))

    assert found.level is Level.WARN
    assert "whether it takes pictures does not show: 500" in found.text


async def test_a_server_out_of_reach_is_told_with_its_address() -> None:
    async with SimVllm(lambda request: Script([])) as sim:
        url = sim.url

    found = await server("server 1", url, RemoteSettings(endpoints=(url,)))

    assert found.level is Level.FAIL
    assert url in found.text


async def test_a_wrong_key_is_told_without_the_key() -> None:
    async with SimVllm(lambda request: Script([]), key="right") as sim:
        remote = RemoteSettings.model_validate({"endpoints": [sim.url], "api_key": "wrong-key"})
        found = await server("server 1", sim.url, remote)

    assert "CLAWDBOT_ENGINE_API_KEY" in found.text
    assert "wrong-key" not in found.line


def test_of_several_models_each_is_looked_at_by_its_table(tmp_path: Path) -> None:
    """vLLM and the machine once for all of them."""
    file = tmp_path / "config.toml"
    file.write_text('[engine]\n[models.large]\nkind = "remote"\nremote.endpoints = ["http://one/v1"]\n')

    about = [check.about for check in checks_of(configuration.read(file, {}), {}, 0.0, online=True)]
    assert {"engine model", "models.large server 1", "device", "memory", "leftovers"} <= {*about}
    assert len(about) == len({*about})


def test_nothing_of_vllm_is_looked_for_on_this_machine(tmp_path: Path) -> None:
    """It is not needed for an engine that is elsewhere."""
    file = tmp_path / "config.toml"
    file.write_text('[engine]\nkind = "remote"\n[engine.remote]\nendpoints = ["http://one/v1", "http://two/v1"]\n')

    checks = checks_of(configuration.read(file, {}), {}, 0.0, online=True)

    about = {check.about for check in checks}
    assert about >= {"server 1", "server 2"}
    assert not about & {"vllm", "vllm version", "device", "memory", "leftovers", "model"}
