"""The configuration read again while the bot runs."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot.app import adopt
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError
from clawdbot.settings.config import (
    AdapterTable,
    Allowed,
    AnswerSettings,
    LoggingSettings,
    Persona,
    Quota,
    SessionSettings,
    Settings,
    StoreSettings,
)
from clawdbot.settings.reload import Reloading, adoptable, changed, hangups, reread
from clawdbot.testing.rig import EVE, Rig, turns

NewRig = Callable[..., Rig]


@pytest.fixture
def old(tmp_path: Path) -> Settings:
    """What is in force."""
    return Settings(
        store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"),
        adapters={"telegram": AdapterTable("config.toml", {"keep_warm": 5.0}, SecretStr("secret"))},
    )


@pytest.mark.parametrize(
    ("keys", "update"),
    [
        (("access.telegram.admins",), {"access": {"telegram": Allowed(admins=frozenset({7}))}}),
        (("access.quota.messages_per_day",), {"quota": Quota(messages_per_day=5)}),
        (
            ("answers.system_prompt", "answers.temperature"),
            {"answers": AnswerSettings(system_prompt="", temperature=0)},
        ),
        (("sessions.queue",), {"sessions": SessionSettings(queue=1)}),
        (("personas.pirate.system_prompt",), {"personas": {"pirate": Persona(system_prompt="Arr.")}}),
        (("engine.about",), {"engine": EngineSettings(about="Quick")}),
        (
            ("models.large.system_prompt", "models.large.temperature"),
            {"models": {"large": EngineSettings(system_prompt="Think.", temperature=0)}},
        ),
        (("logging.level",), {"logging": LoggingSettings(level="debug")}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_a_running_bot_can_take_up(old: Settings, keys: tuple[str, ...], update: dict[str, object]) -> None:
    if "access" in update:
        old = old.model_copy(update={"access": {"telegram": Allowed()}})
    if "personas" in update:
        old = old.model_copy(update={"personas": {"pirate": Persona(system_prompt="Ahoy.")}})
    if "models" in update:
        old = old.model_copy(update={"models": {"large": EngineSettings()}})
    new = old.model_copy(update=update)

    assert changed(old, new) == keys
    assert adoptable(old, new) == new


@pytest.mark.parametrize(
    ("key", "update"),
    [
        ("engine.model", {"engine": EngineSettings(model="another")}),
        ("engine.args.max_model_len", {"engine": EngineSettings(args={"max_model_len": 5})}),
        ("engine.concurrent", {"engine": EngineSettings(concurrent=5)}),
        ("models.large", {"models": {"large": EngineSettings()}}),
        ("answers.footer", {"answers": AnswerSettings(footer=True)}),
        ("sessions.concurrent", {"sessions": SessionSettings(concurrent=1)}),
        ("store.keep_days", {"store": StoreSettings(path=Path("elsewhere"), keep_days=1)}),
        ("logging.format", {"logging": LoggingSettings(format="json")}),
        ("adapters.telegram.keep_warm", {"adapters": {"telegram": AdapterTable("", {"keep_warm": 9.0}, None)}}),
        ("adapters.telegram.token", {"adapters": {"telegram": AdapterTable("", {}, SecretStr("another"))}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_needs_a_restart(old: Settings, key: str, update: dict[str, object]) -> None:
    """It is named and stays as it was, whatever else changes."""
    new = old.model_copy(update=update)

    assert changed(adoptable(old, new), old) == ()
    assert key in changed(adoptable(old, new), new)


async def test_what_changes_is_told_once_and_what_needs_a_restart_every_time(
    old: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """No value is told: it may be a token."""
    caplog.set_level("INFO")
    adopted: list[Settings] = []
    table = AdapterTable("config.toml", {"keep_warm": 5.0}, SecretStr("another secret"))
    new = old.model_copy(update={"quota": Quota(messages_per_day=5), "adapters": {"telegram": table}})
    reloading = Reloading(old, lambda: new, adopted.append)

    await reloading.reload()
    await reloading.reload()

    assert [record.getMessage() for record in caplog.records] == [
        "configuration reloaded: access.quota.messages_per_day",
        "needs a restart: adapters.telegram.token",
        "configuration reloaded: nothing to change",
        "needs a restart: adapters.telegram.token",
    ]
    assert adopted[-1] == old.model_copy(update={"quota": Quota(messages_per_day=5)})


async def test_a_file_with_faults_changes_nothing(old: Settings, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Settings:
        raise ConfigError("config.toml", "answers.temperature = 9: it must be at most 2.", "engin is not known.")

    adopted: list[Settings] = []

    await Reloading(old, broken, adopted.append).reload()
    assert adopted == []
    assert [record.getMessage() for record in caplog.records] == [
        "configuration not reloaded: config.toml: answers.temperature = 9: it must be at most 2.",
        "configuration not reloaded: config.toml: engin is not known.",
    ]


async def test_the_signal_reads_it_again_and_a_fault_of_ours_ends_nothing(old: Settings) -> None:
    loop, read = asyncio.get_running_loop(), asyncio.Event()
    adopted = asyncio.Queue[Settings]()

    def load() -> Settings:
        if not read.is_set():
            loop.call_soon_threadsafe(read.set)
            raise ZeroDivisionError
        return old

    with hangups() as asked:
        async with reread(Reloading(old, load, adopted.put_nowait), asked), asyncio.timeout(10):
            os.kill(os.getpid(), signal.SIGHUP)
            await read.wait()
            os.kill(os.getpid(), signal.SIGHUP)
            assert await adopted.get() == old


async def test_a_running_bot_goes_on_by_the_new_settings(rig: NewRig) -> None:
    """Somebody is let in, who is limited, and is answered in another voice; nobody had to wait for a restart."""
    one = rig()
    async with one.running():
        assert one.platform.say("hello?", EVE).screen.texts == []
        await one.idle()
        people = one.settings.access["memory"]
        new = one.settings.model_copy(
            update={
                "access": {"memory": people.model_copy(update={"users": people.users | {EVE.id}})},
                "quota": Quota(messages_per_hour=1),
                "answers": AnswerSettings(system_prompt="Speak like a pirate."),
            }
        )
        adopt(one.app, adoptable(one.settings, new))
        answer, limited = one.platform.say("hello", EVE), one.platform.say("hello again", EVE)
        await one.idle()

        assert answer.screen.texts == ["You said: hello"]
        assert "You said" not in "".join(limited.screen.texts)
        assert turns(one.requests[-1].prompt)[0] == ("system", "Speak like a pirate.")
