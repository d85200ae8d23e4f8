"""The table ``[adapters.telegram]``."""

import tomllib

import pytest
from pydantic import ValidationError

from clawdbot.chat import Pace, Rate
from clawdbot.errors import ConfigError
from clawdbot.settings.faults import validate
from clawdbot_telegram import TelegramSettings
from clawdbot_telegram.render import Renderer

RENDERER = Renderer(4096, 100)


def settings(toml: str) -> TelegramSettings:
    return TelegramSettings.model_validate({"token": "1:secret", **tomllib.loads(toml)})


def test_nothing_but_the_token_has_to_be_set() -> None:
    assert settings("").limits(7, RENDERER).size == 4096


def test_every_limit_can_be_set() -> None:
    chosen = settings("""
        text_limit = 100
        bot_rates = [[10, 1]]
        [group]
        rates = [[5, 60]]
        by_age = [[0, 10]]
    """)
    limits = chosen.limits(-100, RENDERER)
    assert limits.size == 100
    assert limits.sends.rates == (Rate(5, 60.0),)
    assert limits.bot.rates == (Rate(10, 1.0),)
    assert limits.pace == Pace((1.5,), ((0.0, 10.0),))


@pytest.mark.parametrize("toml", ["pace = 1", "poll_timeout = 60", "[private]\nrates = []", "connections = 0"])
def test_what_makes_no_sense_is_refused(toml: str) -> None:
    with pytest.raises(ValidationError):
        settings(toml)


@pytest.mark.parametrize(
    "toml", ['base_url = "api.telegram.org"', 'proxy = "localhost:3128"', 'proxy = "ftp://localhost"']
)
def test_an_address_has_to_be_one(toml: str) -> None:
    """Else the bot would try to connect for ever, and its log would not say what is wrong."""
    with pytest.raises(ValidationError):
        settings(toml)


def test_the_password_of_a_wrong_proxy_is_not_repeated() -> None:
    with pytest.raises(ConfigError, match="must be the URL of an HTTP proxy") as refused:
        validate(TelegramSettings, {"token": "1:x", "proxy": "me:password@localhost"}, source="config.toml")
    assert "password" not in str(refused.value)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(settings('proxy = "http://me:secret@localhost"'))
