from collections.abc import Mapping
from importlib.metadata import EntryPoint

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from clawdbot import plugins
from clawdbot.chat import Adapter, Plugin, Receive, Reply
from clawdbot.errors import ConfigError
from clawdbot.hosted import Hosted
from clawdbot.settings.config import AdapterTable, Allowed, Settings


class IrcSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: SecretStr
    port: int = 6667


class IrcAdapter:
    """A platform that somebody else brings."""

    def __init__(self, settings: IrcSettings) -> None:
        self.settings = settings

    async def run(self, receive: Receive) -> None: ...

    def reply(self, ref: str) -> Reply:
        raise NotImplementedError(ref)


irc = Plugin(settings=IrcSettings, build=IrcAdapter)


class Entry(EntryPoint):
    """An entry point of this file, whatever name the test runner imported it under."""

    def load(self) -> object:
        return globals()[self.attr] if self.module == "irc" else super().load()


@pytest.fixture
def known() -> Mapping[str, EntryPoint]:
    def entry(name: str, value: str) -> EntryPoint:
        return Entry(name=name, value=value, group=plugins.GROUP)

    return {
        "irc": entry("irc", "irc:irc"),
        "gone": entry("gone", "no_such_module:plugin"),
        "empty": entry("empty", "clawdbot:plugin"),
        "wrong": entry("wrong", "clawdbot:__version__"),
    }


def settings(name: str, token: str | None = "t0ken", **options: object) -> Settings:
    table = AdapterTable("here.toml", options, SecretStr(token) if token else None)
    return Settings(adapters={name: table})


def build(name: str, known: Mapping[str, EntryPoint], token: str | None = "t0ken", **options: object) -> Adapter:
    return plugins.build(settings(name, token, **options), known)[name]


def test_the_three_platforms_of_the_project_are_installed() -> None:
    assert {"console", "discord", "telegram"} <= set(plugins.installed())


def test_another_distribution_adds_a_platform_with_its_own_settings(known: Mapping[str, EntryPoint]) -> None:
    adapter = build("irc", known, port=7000)

    assert isinstance(adapter, IrcAdapter)
    assert adapter.settings.port == 7000
    assert adapter.settings.token.get_secret_value() == "t0ken"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ircc", "adapters.ircc: no such platform is installed; did you mean 'irc'?"),
        ("matrix", "no such platform is installed; known here: empty, gone, irc, wrong."),
        ("gone", "no_such_module:plugin does not load (No module named 'no_such_module')."),
        ("empty", "clawdbot:plugin does not load (module 'clawdbot' has no attribute 'plugin')."),
        ("wrong", "clawdbot:__version__ is no clawdbot.chat.Plugin."),
    ],
)
def test_a_platform_that_cannot_be_used(known: Mapping[str, EntryPoint], name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(name, known)

    assert caught.value.source == "here.toml"
    assert caught.value.faults[0].endswith(said)


def test_a_fault_in_its_table_names_the_key_as_it_stands_in_the_file(known: Mapping[str, EntryPoint]) -> None:
    with pytest.raises(ConfigError) as caught:
        build("irc", known, prt=7000)

    assert caught.value.faults == ("adapters.irc.prt is not a known setting; did you mean 'port'?",)


def test_a_token_that_is_needed_and_missing(known: Mapping[str, EntryPoint]) -> None:
    with pytest.raises(ConfigError, match=r"adapters\.irc has no token\. .*CLAWDBOT_IRC_TOKEN.*token_file"):
        build("irc", known, token=None)


@pytest.mark.parametrize(("name", "source"), [("discord", "discord.com/developers"), ("telegram", "@BotFather")])
def test_a_missing_token_is_told_with_where_to_get_one(name: str, source: str) -> None:
    """Before anything is started, whatever the platform."""
    with pytest.raises(ConfigError, match=rf"has no token\. .*{source}.* Put it into .*CLAWDBOT_{name.upper()}_TOKEN"):
        build(name, plugins.installed(), token=None)


def test_access_to_a_platform_that_does_not_exist_is_a_fault(known: Mapping[str, EntryPoint]) -> None:
    """A typing error there would shut everybody out in silence."""
    with pytest.raises(ConfigError, match=r"access\.irk: no such platform is installed; did you mean 'irc'\?"):
        plugins.build(Settings(access={"irk": Allowed()}), known)


@pytest.mark.parametrize("name", ["web", "console"])
def test_a_plugin_says_of_itself_what_its_adapter_is(name: str) -> None:
    """The doctor looks at plugins alone: it builds no adapter."""
    plugin = plugins.load(name, plugins.installed(), "config.toml")

    assert plugin.owners
    assert plugin.hosted == isinstance(plugin.build(plugin.settings()), Hosted)
