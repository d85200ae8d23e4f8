"""The images, built and run: as nobody, with a root that is read-only, with the real vLLM in the one for CPUs.

What is not tried here: the image for GPUs, whose steps are those of the others with other packages.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawdbot import __version__
from clawdbot.engine import models

from .building import Builder, Image, builder, needs_builder
from .sealed import Sealed

# Building takes minutes: the packages come over the network.
pytestmark = [needs_builder, pytest.mark.image, pytest.mark.timeout(1800)]

CONFIG = """
[engine]
model = "demo"
[store]
path = "/data/clawdbot.sqlite3"
[access.telegram]
admins = [7]
[adapters.web]
enabled = true
"""

# A whole bot whose engine repeats what it is asked.
ECHO = """
import asyncio
from clawdbot.app import open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.settings.config import AnswerSettings, Settings
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import echo
from clawdbot_console import ConsoleAdapter, ConsoleSettings

async def main():
    clock, settings = SystemClock(), Settings(answers=AnswerSettings(system_prompt=""))
    console = ConsoleAdapter(ConsoleSettings(once="What is a heron?"))
    async with open_app(settings, lambda: opened(ScriptedEngine(echo, clock)), clock, lambda fact: None) as app:
        await serve(app, {"console": console}, clock, asyncio.Event(), 1.0)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def build() -> Iterator[Builder]:
    """What they are built with."""
    with builder() as building:
        yield building


@pytest.fixture(scope="module")
def remote(build: Builder) -> Image:
    """The image without vLLM."""
    return build.build("remote")


@pytest.fixture(scope="module")
def cpu(build: Builder) -> Image:
    """The image with vLLM for CPUs."""
    return build.build("cpu")


@pytest.fixture
def sealed(remote: Image, tmp_path: Path) -> Sealed:
    """A container of the smaller one."""
    return Sealed(remote, tmp_path)


def test_whoever_runs_in_it_has_no_rights(sealed: Sealed) -> None:
    """What the other tests rely on: the user, the capabilities, the root."""
    told = sealed.run("sh", "-c", "id -u; grep -c '^Cap.*:.*[1-9a-f]' /proc/self/status; touch /x /venv/x /etc/x")

    assert told.out.split() == [str(sealed.user), "0"]
    assert told.err.count("Read-only file system") == 3


def test_it_is_the_version_that_it_should_be(sealed: Sealed) -> None:
    told = sealed.enter("--version")

    assert (told.code, told.out.strip(), told.err) == (0, __version__, "")


def test_it_holds_no_compiler_where_nothing_is_compiled(sealed: Sealed) -> None:
    assert sealed.run("sh", "-c", "command -v g++ gcc cc").code != 0


def test_a_bot_answers_in_it_and_keeps_what_was_said_in_its_volume(sealed: Sealed) -> None:
    told = sealed.run("python", "-c", ECHO)

    assert (told.code, "What is a heron?" in told.out, told.err) == (0, True, "")
    (kept,) = sealed.data.rglob("*.sqlite3")
    assert kept.stat().st_uid == sealed.user


def test_a_fault_of_the_configuration_is_a_line_and_a_code(sealed: Sealed) -> None:
    """By which nobody starts it again and again. Debian's Python is older than the one of the other tests."""
    (sealed.config / "config.toml").write_text("[answers]\ntemprature = 1\n", encoding="utf-8")
    told = sealed.enter("run")

    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "did you mean 'temperature'?" in told.err


def test_the_health_check_of_the_image_can_be_run(remote: Image, sealed: Sealed) -> None:
    """Without [ops] there is nothing to ask, and that is healthy."""
    (sealed.config / "config.toml").write_text("", encoding="utf-8")
    kind, *command = remote.healthcheck
    told = sealed.run(*command)

    assert (kind, told.code) == ("CMD", 0), told


def test_with_vllm_it_is_well_and_answers(cpu: Image, tmp_path: Path) -> None:
    """`doctor` finds nothing that fails, and the real model answers at the console."""
    sealed = Sealed(cpu, tmp_path)
    demo = models.fetch_demo()
    shutil.copytree(demo, sealed.cache / "clawdbot" / "models" / demo.name)
    sealed.own(sealed.cache)
    (sealed.config / "config.toml").write_text(CONFIG, encoding="utf-8")

    doctor = sealed.enter("doctor", "--offline")
    assert doctor.code == 0, doctor
    answered = sealed.enter("chat", "--once", "What is a heron? Answer in one sentence.")
    assert answered.code == 0, answered
    assert "heron" in answered.out.lower()
