"""What is installed."""

import sys
from pathlib import Path

import pytest

from clawdbot.engine.survey import Survey, survey
from clawdbot.errors import EngineUnavailable
from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.install import python, vllm_version, vllm_works

CPU = Survey("0.32.0", True, ("model", "max_model_len"))


def printing(line: str) -> tuple[str, ...]:
    """A child process that says ``line``, after what a library says."""
    return (sys.executable, "-c", f"print('a library says hello'); print({line!r})")


@pytest.mark.parametrize(
    ("version", "level"),
    [((3, 10, 2), Level.FAIL), ((3, 11, 7), Level.OK), ((3, 14, 0), Level.OK), ((3, 15, 0), Level.WARN)],
)
def test_python_is_one_that_was_tried(version: tuple[int, int, int], level: Level) -> None:
    assert python("python", version).level is level


@pytest.mark.parametrize(
    ("version", "level"),
    [
        (None, Level.FAIL),
        ("0.25.1", Level.WARN),
        ("0.26.0", Level.OK),
        ("0.32.0+cpu", Level.OK),
        ("0.33.0", Level.WARN),
        ("nightly", Level.WARN),
    ],
)
def test_vllm_is_one_that_was_tried(version: str | None, level: Level) -> None:
    found = vllm_version("vllm version", version)

    assert found.level is level
    assert bool(found.remedy) is (level is not Level.OK)


def test_vllm_knows_the_options_that_were_chosen() -> None:
    assert vllm_works("vllm", lambda: CPU, {"engine": {"max_model_len": 1024}}).level is Level.OK

    found = vllm_works("vllm", lambda: CPU, {"engine": {}, "models.large": {"max_model_length": 1024}})
    assert found.level is Level.FAIL
    assert "models.large.args.max_model_length" in found.text
    assert "'max_model_len'" in found.text


def test_a_vllm_that_cannot_be_imported_says_what_to_do() -> None:
    def missing() -> Survey:
        raise EngineUnavailable("vLLM cannot be imported (no libnuma.so.1).", "apt-get install libnuma1")

    found = vllm_works("vllm", missing, {})
    assert (found.level, found.remedy) == (Level.FAIL, "apt-get install libnuma1")


# The import, in a process of its own


def test_the_child_tells_what_it_found() -> None:
    found = survey(printing('{"version": "0.32.0", "on_cpu": true, "arguments": ["model", "max_model_len"]}'))

    assert found == CPU


def test_the_child_tells_why_it_cannot() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        survey(printing('{"reason": "No vLLM.", "remedy": "Install it."}'))
    assert (caught.value.reason, caught.value.remedy) == ("No vLLM.", "Install it.")


def test_a_build_for_another_processor_ends_the_child_alone() -> None:
    with pytest.raises(EngineUnavailable, match="SIGILL"):
        survey((sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)"))


def test_a_child_that_breaks_down_gives_its_last_words() -> None:
    with pytest.raises(EngineUnavailable, match="ZeroDivisionError"):
        survey((sys.executable, "-c", "1 / 0"))


def test_the_child_gets_no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", "secret")
    code = f"import os, pathlib; pathlib.Path({str(tmp_path / 'seen')!r}).write_text(str(dict(os.environ)))"

    with pytest.raises(EngineUnavailable):
        survey((sys.executable, "-c", code))
    assert "secret" not in (tmp_path / "seen").read_text()


@pytest.mark.engine
def test_the_vllm_that_is_installed_can_be_asked() -> None:
    found = survey()

    assert "max_num_batched_tokens" in found.arguments
