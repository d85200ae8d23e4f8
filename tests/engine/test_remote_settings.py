"""``[engine.remote]``: what is taken, what is refused, and with which words."""

from pathlib import Path

import pytest

from clawdbot.engine.remote.settings import KEY
from clawdbot.errors import ConfigError
from clawdbot.settings.config import Settings, load

REMOTE = '[engine]\nkind = "remote"\n[engine.remote]\n'
URL = "http://10.0.0.1:8000/v1"
SECRET = "sk-nobody-may-see-this"


def read(folder: Path, text: str, **environ: str) -> Settings:
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load(folder / "config.toml", environ)


def test_addresses_are_kept_in_their_order(tmp_path: Path) -> None:
    engine = read(tmp_path, f'{REMOTE}endpoints = ["{URL}", "https://two.example/v1"]').engine

    assert (engine.kind, engine.remote.endpoints) == ("remote", (URL, "https://two.example/v1"))


def test_a_remote_engine_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"engine\.remote\.endpoints is missing"):
        read(tmp_path, REMOTE)


@pytest.mark.parametrize(
    "url", ["10.0.0.1:8000/v1", "ftp://one/v1", "http://ada:secret@one/v1", "http://one/v1?a=b", ""]
)
def test_an_address_without_sense_is_refused(tmp_path: Path, url: str) -> None:
    """One that holds a password would end in every log."""
    with pytest.raises(ConfigError, match=r"engine\.remote\.endpoints\[0\].*it must be an address such as"):
        read(tmp_path, f'{REMOTE}endpoints = ["{url}"]')


def test_the_key_comes_from_the_environment_and_is_never_shown(tmp_path: Path) -> None:
    settings = read(tmp_path, f'{REMOTE}endpoints = ["{URL}"]', **{KEY: f" {SECRET}\n"})

    assert settings.engine.remote.api_key is not None
    assert settings.engine.remote.api_key.get_secret_value() == SECRET
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump()}"


@pytest.mark.parametrize(
    ("more", "called"), [("", "remote"), ('model = "qwen"', "qwen"), ('model = "/models/qwen"', "qwen")]
)
def test_people_call_the_model_as_its_servers_do(tmp_path: Path, more: str, called: str) -> None:
    """Not as the engine in the bot would be called, and where it lies is nobody's business."""
    assert read(tmp_path, f'{REMOTE}endpoints = ["{URL}"]\n{more}').engine.called == called


@pytest.mark.parametrize("value", [f'"{SECRET}"', f'["{SECRET}"]'])
def test_a_key_in_the_file_is_refused_without_being_repeated(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"engine\.remote\.api_key") as refused:
        read(tmp_path, f'{REMOTE}endpoints = ["{URL}"]\napi_key = {value}')

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(("more", "images"), [("", "ask"), ("images = 0", 0), ("images = 4", 4)])
def test_how_many_pictures_there_may_be_is_asked_or_set(tmp_path: Path, more: str, images: object) -> None:
    assert read(tmp_path, f'{REMOTE}endpoints = ["{URL}"]\n{more}').engine.remote.images == images


@pytest.mark.parametrize("value", ["-1", '"many"', "true", "1.5"])
def test_any_other_number_of_pictures_is_refused_by_name(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r'engine\.remote\.images = .*: it must be "ask", or a whole number'):
        read(tmp_path, f'{REMOTE}endpoints = ["{URL}"]\nimages = {value}')
