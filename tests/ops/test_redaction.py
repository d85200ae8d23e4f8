"""Nothing secret is left of a text."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.ops.redaction import HIDDEN, Redactor, secrets_of
from clawdbot.settings.config import AdapterTable, OpsSettings, Settings

TELEGRAM = "7234567890:AAFakeFakeFakeFakeFakeFakeFakeFake"
DISCORD = "MTIzNDU2Nzg5MDEyMzQ1Njc4.G1abcd.abcdefghijklmnopqrstuvwxyz012"
ODD = 'a "word"/with spaces&signs'


@pytest.mark.parametrize("secret", [TELEGRAM, DISCORD, ODD])
@pytest.mark.parametrize(
    "form",
    [str, lambda secret: quote(secret, safe=""), quote, json.dumps, repr, lambda secret: secret.rpartition(":")[2]],
    ids=["as it is", "in a query", "in a path", "in JSON", "in Python", "its last part"],
)
def test_a_known_secret_is_hidden_in_whatever_form(secret: str, form: object) -> None:
    assert callable(form)
    redacted = Redactor([secret])(f"before {form(secret)} after")

    assert HIDDEN in redacted
    assert form(secret).strip("'\"") not in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"POST https://api.telegram.org/bot{TELEGRAM}/getMe", "POST https://api.telegram.org/bot[secret]/getMe"),
        (f"the header was Bot {DISCORD}", "the header was Bot [secret]"),
        (f"token={DISCORD};", "token=[secret];"),
        ("Authorization: Bearer sk-abcdef123456", "Authorization: Bearer [secret]"),
        ("proxy http://ada:correct-horse@proxy:3128", "proxy http://ada:[secret]@proxy:3128"),
    ],
)
def test_what_has_the_shape_of_a_secret_is_hidden_without_being_known(text: str, left: str) -> None:
    """The token of another bot, say."""
    assert Redactor([])(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "refused telegram user 123456789 in telegram:-1001234567890",
        "engine ready: smollm2-135m-instruct on CPU, 2 cores, vLLM 0.32.0",
        "2026-01-31 12:00:00 INFO clawdbot.bot: Bot started",
        "http://127.0.0.1:9464/healthz",
    ],
)
def test_what_is_none_is_left(text: str) -> None:
    assert Redactor(["", "abc"])(text) == text


def test_a_secret_that_begins_like_another_is_hidden_whole() -> None:
    assert Redactor(["secret-one", "secret-one-and-more"])("secret-one-and-more") == HIDDEN


@given(
    secret=st.from_regex(r"[A-Za-z0-9_.:-]{8,60}", fullmatch=True),
    before=st.text(),
    between=st.text(),
    after=st.text(),
)
def test_wherever_a_secret_stands_it_is_hidden(secret: str, before: str, between: str, after: str) -> None:
    assert secret not in Redactor([secret])(f"{before}{secret}{between}{secret}{after}")


def test_all_that_settings_and_environment_hold_are_known() -> None:
    settings = Settings(
        ops=OpsSettings(token=SecretStr("of ops")),
        engine=EngineSettings(remote=RemoteSettings(api_key=SecretStr("of the engine"))),
        models={"large": EngineSettings(remote=RemoteSettings(api_key=SecretStr("of another model")))},
        adapters={
            "discord": AdapterTable("config.toml", {}, SecretStr("of discord")),
            "telegram": AdapterTable("config.toml", {"proxy": "of a proxy", "keep_warm": 5}, None),
        },
    )
    environ = {"HF_TOKEN": "of the hub", "OPENAI_API_KEY": "of an engine", "HOME": "a folder"}

    assert set(secrets_of(settings, environ)) == {
        "of ops",
        "of the engine",
        "of another model",
        "of discord",
        "of a proxy",
        "of the hub",
        "of an engine",
    }
