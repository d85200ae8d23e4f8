"""``[models.NAME]``: further models, what their tables may say, and with which words the rest is refused."""

from pathlib import Path

import pytest

from clawdbot.errors import ConfigError
from clawdbot.settings.config import Settings, load

SECRET = "sk-nobody-may-see-this"
ENGINE = '[engine]\nname = "small"\n'
REMOTE = 'kind = "remote"\nremote = {endpoints = ["http://10.0.0.1:8000/v1"]}\n'


def read(folder: Path, text: str, **environ: str) -> Settings:
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load(folder / "config.toml", environ)


def fault(folder: Path, text: str) -> str:
    """The one thing that is wrong with a file of this text."""
    with pytest.raises(ConfigError) as caught:
        read(folder, text)
    (said,) = caught.value.faults
    return said


def test_the_engine_comes_first_and_the_others_as_they_are_written(tmp_path: Path) -> None:
    settings = read(tmp_path, f'{ENGINE}[models.large]\nabout = "Knows more"\n{REMOTE}[models."Qwen2.5-7B"]\n{REMOTE}')

    assert [*settings.offered] == ["small", "large", "Qwen2.5-7B"]
    assert [model.called for model in settings.offered.values()] == ["small", "large", "Qwen2.5-7B"]
    assert settings.models["large"].about == "Knows more"


def test_without_further_ones_there_is_the_engine_alone(tmp_path: Path) -> None:
    """By the name of its model, as ever."""
    assert [*read(tmp_path, '[engine]\nmodel = "/srv/Heron-7B"').offered] == ["Heron-7B"]
    assert [*read(tmp_path, "").offered] == ["demo"]


def test_each_has_a_key_of_its_own(tmp_path: Path) -> None:
    """A key is never sent to servers that it was not meant for."""
    keys = {"CLAWDBOT_MODEL_LARGE_2_API_KEY": SECRET, "CLAWDBOT_ENGINE_API_KEY": "another"}
    settings = read(tmp_path, f'{ENGINE}{REMOTE}[models."large.2"]\n{REMOTE}[models.open]\n{REMOTE}', **keys)

    assert [model.remote.key for model in settings.offered.values()] == ["another", SECRET, None]
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"[models.large]\n{REMOTE}",
            "engine is missing: it is the model that answers where nobody has chosen one of [models]. Write [engine] "
            'instead of [models.large], with name = "large".',
        ),
        (
            f'{ENGINE}[models.large]\nkind = "remote"',
            'models.large.remote.endpoints is missing: models.large.kind = "remote" needs one or more.',
        ),
        (
            f'{ENGINE}[models.large]\nname = "huge"\n{REMOTE}',
            'models.large.name = "huge": people call it by the name of its table; leave this out.',
        ),
        (
            f"{ENGINE}[models.Small]\n{REMOTE}",
            "models.Small: [engine] is called nearly the same; give one of them another name.",
        ),
        (
            f'{ENGINE}[models.a-b]\n{REMOTE}[models."a.B"]\n{REMOTE}',
            "models.a.B: [models.a-b] is called nearly the same; give one of them another name.",
        ),
        (
            f'{ENGINE}[models.large]\nremote = {{endpoints = ["http://one/v1"], api_key = "{SECRET}"}}\ndevice = "cpu"',
            "models.large.remote.api_key: a key does not belong in this file. Put it into the environment variable "
            "CLAWDBOT_MODEL_LARGE_API_KEY.",
        ),
        (
            f"{ENGINE}[models.large]\nmodle = 5\n{REMOTE}",
            "models.large.modle is not a known setting; did you mean 'model'?",
        ),
    ],
    ids=["no default", "no server", "two names", "the default's name", "alike", "a key", "a typing error"],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the key and what to do."""
    assert fault(tmp_path, text) == said


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 33, "modèle"])
def test_a_name_is_one_that_anybody_can_type(tmp_path: Path, name: str) -> None:
    assert "a name is made of letters, digits" in fault(tmp_path, f'{ENGINE}[models."{name}"]\n{REMOTE}')


# Two on one GPU


def on_gpu(first: str, second: str, device: str = "auto") -> str:
    """Two models in the bot, with what their [args] say."""
    return f'{ENGINE}args = {{{first}}}\n[models.large]\ndevice = "{device}"\nargs = {{{second}}}\n'


def test_two_in_the_bot_share_a_gpu(tmp_path: Path) -> None:
    shares = ("gpu_memory_utilization = 0.4", "gpu_memory_utilization = 0.6")

    assert len(read(tmp_path, on_gpu(*shares)).offered) == 2


def test_shares_are_added_up_as_people_do(tmp_path: Path) -> None:
    """In binary these are a little more than 1."""
    shares = [0.2, 0.4, 0.3, 0.1]
    texts = [f"args = {{gpu_memory_utilization = {share}}}\n" for share in shares]
    further = "".join(f"[models.number-{number}]\n{text}" for number, text in enumerate(texts[1:]))

    assert sum(shares) > 1.0
    assert len(read(tmp_path, f"{ENGINE}{texts[0]}{further}").offered) == 4


def test_two_that_want_more_than_there_is_are_refused(tmp_path: Path) -> None:
    assert fault(tmp_path, on_gpu("gpu_memory_utilization = 0.6", "gpu_memory_utilization = 0.5")) == (
        "engine.args.gpu_memory_utilization = 0.6, models.large.args.gpu_memory_utilization = 0.5: they run on the "
        "same GPU, so together they may take 1 at most. Lower one of them."
    )


def test_one_that_does_not_say_how_much_it_takes_is_refused(tmp_path: Path) -> None:
    """Left to itself each takes nine tenths, and the second one dies of that."""
    assert fault(tmp_path, on_gpu("gpu_memory_utilization = 0.5", "")) == (
        "models.large.args.gpu_memory_utilization is missing: engine and models.large run on the same GPU, and each "
        "takes most of its memory unless this says how much, such as 0.45. Where there is no GPU, set "
        'models.large.device = "cpu".'
    )


def test_what_runs_elsewhere_or_on_the_cpu_takes_no_share(tmp_path: Path) -> None:
    settings = read(tmp_path, f"{on_gpu('', '', device='cpu')}[models.elsewhere]\n{REMOTE}")

    assert len(settings.offered) == 3
