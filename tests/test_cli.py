"""The command line: what it prints, how it fails, how it is left. The engine is scripted, all else is real."""

import asyncio
import logging
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clawdbot import __version__, cli
from clawdbot.app import App, open_app
from clawdbot.clock import SystemClock
from clawdbot.engine import opener
from clawdbot.errors import EngineUnavailable
from clawdbot.ops.logs import CHATTY
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo

TOKEN = "1234567:a-token-that-nobody-may-see-0000000"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs ``clawdbot`` with arguments in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("CLAWDBOT_CONFIG", raising=False)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["clawdbot", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = int(error.code or 0)
        return Ended(code, *capfd.readouterr())

    return run


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], str]:
    """Writes a configuration with a model and a database of its own, and whatever else it is given; its path."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")

    def configured(more: str = "", model: str = "model") -> str:
        path = tmp_path / "bot.toml"
        path.write_text(f'[engine]\nmodel = "{tmp_path / model}"\n[store]\npath = "bot.sqlite3"\n{more}')
        return str(path)

    return configured


class Vllm:
    """What stands in for vLLM: a scripted engine, or whatever happens instead of its start."""

    def __init__(self) -> None:
        self.instead: Callable[[], Any] | None = None
        self.environment: dict[str, str] = {}
        """That of the process when the engine was started: its children inherit it."""

    @asynccontextmanager
    async def open(self, *chosen: Any, **options: Any) -> AsyncIterator[ScriptedEngine]:
        self.environment = dict(os.environ)
        if self.instead is not None:
            await self.instead()
        yield ScriptedEngine(echo, SystemClock())


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Vllm:
    stand_in = Vllm()
    monkeypatch.setattr(opener, "open_vllm", stand_in.open)
    return stand_in


# What it prints


def test_the_version(run: Run) -> None:
    assert run("--version") == Ended(0, f"{__version__}\n", "")


def test_without_a_command_it_lists_them(run: Run) -> None:
    shown = run()

    assert all(command in shown.out for command in ("run", "chat", "model", "bench"))


def test_chat_once_answers_on_stdout_and_times_on_stderr(run: Run, vllm: Vllm, configured: Callable[..., str]) -> None:
    """So that the answer can be piped on."""
    ended = run("chat", "--config", configured(), "--once", "Hello")

    assert (ended.code, ended.out) == (0, "You said: Hello\n")
    assert "first word" in ended.err
    assert "total" in ended.err


def test_chat_answers_by_the_default_model_whatever_becomes_of_the_others(
    run: Run, vllm: Vllm, configured: Callable[..., str]
) -> None:
    """They are opened as well; one that cannot be is a line of the log."""
    large = '[models.large]\nremote = {endpoints = ["http://127.0.0.1:9/v1"]}\nkind = "remote"\nstart_timeout = 0.01\n'
    ended = run("chat", "--config", configured(large), "--once", "Hello")

    assert (ended.code, ended.out) == (0, "You said: Hello\n")


def test_chat_needs_nobody_in_the_allowlist(run: Run, vllm: Vllm, configured: Callable[..., str]) -> None:
    """Whoever sits there is the admin."""
    ended = run("chat", "--config", configured(), "--once", "/latency")

    assert "p50" in ended.out or "no answers" in ended.out


def test_libraries_that_say_too_much_are_silenced(run: Run, vllm: Vllm, configured: Callable[..., str]) -> None:
    """Whatever the level that the admin chose."""
    levels: set[int] = set()

    async def look() -> None:
        levels.update(logging.getLogger(name).level for name in CHATTY)

    vllm.instead = look

    run("chat", "--config", configured('[logging]\nlevel = "debug"\n'), "--once", "Hello")
    assert levels == {logging.WARNING}


def test_a_backup_is_named_on_stdout(run: Run, vllm: Vllm, configured: Callable[..., str], tmp_path: Path) -> None:
    """A second one does not take its place."""
    run("chat", "--config", configured(), "--once", "Hello")
    target = tmp_path / "backup.sqlite3"

    first = run("backup", str(target), "--config", configured())
    second = run("backup", str(target), "--config", configured())
    assert (first.code, first.out) == (0, f"{target}\n")
    assert "To bring it back" in first.err
    assert (second.code, second.out) == (1, "")
    assert "nothing is overwritten" in second.err


# The configuration


def test_each_fault_of_the_configuration_is_a_line(run: Run, configured: Callable[..., str]) -> None:
    """Which file, which key, which value, what is allowed; exit code 2, no traceback."""
    path = configured("[answers]\ntemperature = 9\nmax_tokenz = 5\n")

    ended = run("run", "--config", path)
    assert ended.code == 2
    assert sorted(ended.err.splitlines()) == [
        f"{path}: answers.max_tokenz is not a known setting; did you mean 'max_tokens'?",
        f"{path}: answers.temperature = 9: it must be at most 2.",
    ]


def test_a_missing_file_says_what_to_do(run: Run) -> None:
    ended = run("run")

    assert ended.code == 2
    assert ended.err == (
        'config.toml: there is no such file here. Copy "config.example.toml" to it, or name another with --config.\n'
    )


def test_the_environment_can_name_the_file(
    run: Run, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the fault names it, too."""
    path = configured()
    monkeypatch.setenv("CLAWDBOT_CONFIG", path)

    ended = run("run")
    assert (ended.code, ended.err) == (
        2,
        f"{path}: no platform is enabled. Set enabled = true in a table such as [adapters.telegram].\n",
    )


def test_a_platform_without_a_token_says_where_it_belongs(
    run: Run, vllm: Vllm, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAWDBOT_TELEGRAM_TOKEN", raising=False)
    ended = run("run", "--config", configured("[adapters.telegram]\n"))

    assert ended.code == 2
    assert "CLAWDBOT_TELEGRAM_TOKEN" in ended.err
    assert "Traceback" not in ended.err


# What cannot be served


@pytest.mark.parametrize("command", [("run",), ("chat", "--once", "Hello")])
def test_a_model_that_is_not_there_is_a_sentence(
    run: Run, configured: Callable[..., str], command: tuple[str, ...]
) -> None:
    """And what to do about it."""
    path = configured('[adapters.console]\nonce = "Hello"\n', model="nowhere")

    ended = run(*command, "--config", path)
    assert ended.code == 1
    assert ended.err.startswith("There is no model ")
    assert len(ended.err.splitlines()) == 1


def test_an_engine_that_cannot_start_is_a_sentence(run: Run, vllm: Vllm, configured: Callable[..., str]) -> None:
    async def no_memory() -> None:
        raise EngineUnavailable("There is not enough memory.", "Choose a smaller model.")

    vllm.instead = no_memory

    ended = run("chat", "--config", configured(), "--once", "Hello")
    assert (ended.code, ended.err) == (1, "There is not enough memory. Choose a smaller model.\n")


def test_a_token_that_is_none_ends_the_bot_with_a_sentence(
    run: Run, vllm: Vllm, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other platform is served. The token is not in it, and the engine, which still loads, is not waited for."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", "not-a-token-but-secret")
    vllm.instead = asyncio.Event().wait

    ended = run("run", "--config", configured("[adapters.telegram]\n"))
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("This is no Telegram token")
    assert "secret" not in ended.err + ended.out
    assert "Traceback" not in ended.err


def test_no_child_process_inherits_a_token(
    run: Run, vllm: Vllm, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken out of the environment before anything is started; nothing else is."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("CLAWDBOT_ANOTHER_PLATFORM_TOKEN", TOKEN)
    monkeypatch.setenv("CLAWDBOT_MODEL_LARGE_API_KEY", TOKEN)
    monkeypatch.setenv("SOMEBODY_ELSES_TOKEN", "theirs")

    run("chat", "--config", configured(), "--once", "Hello")
    assert TOKEN not in vllm.environment.values()
    assert vllm.environment["SOMEBODY_ELSES_TOKEN"] == "theirs"


# The configuration read again


class Heard(logging.Handler):
    """Waits for a line of the log."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self.words in record.getMessage():
            self.event.set()


@pytest.mark.timeout(30)
def test_on_sighup_the_configuration_is_read_again(
    run: Run, vllm: Vllm, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the tokens that the environment had at the start; what cannot change is named."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", TOKEN)
    out_of_reach = '[adapters.telegram]\nbase_url = "http://127.0.0.1:9"\n'
    path = configured(out_of_reach)
    heard = Heard("needs a restart")

    async def change() -> None:
        more = f'{out_of_reach}keep_warm = 9.0\n[logging]\nlevel = "debug"\n[access.telegram]\nadmins = [7]\n'
        configured(more)
        os.kill(os.getpid(), signal.SIGHUP)
        await heard.event.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    vllm.instead = change
    logging.getLogger().addHandler(heard)
    try:
        ended = run("run", "--config", path)
    finally:
        logging.getLogger().removeHandler(heard)

    assert ended.code == 0
    assert "configuration reloaded: access.telegram, logging.level" in ended.err
    assert "needs a restart: adapters.telegram.keep_warm" in ended.err
    assert TOKEN not in ended.err


@pytest.mark.timeout(30)
def test_a_hangup_while_it_opens_or_closes_does_not_end_it(
    run: Run, vllm: Vllm, configured: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default the signal ends a process at once. What it asks for is done when the bot is there."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", TOKEN)
    heard = Heard("configuration reloaded")

    @asynccontextmanager
    async def opened(*parts: Any) -> AsyncIterator[App]:
        os.kill(os.getpid(), signal.SIGHUP)
        async with open_app(*parts) as app:
            yield app
        os.kill(os.getpid(), signal.SIGHUP)

    async def leave() -> None:
        await heard.event.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(cli, "open_app", opened)
    vllm.instead = leave
    logging.getLogger().addHandler(heard)
    try:
        ended = run("run", "--config", configured('[adapters.telegram]\nbase_url = "http://127.0.0.1:9"\n'))
    finally:
        logging.getLogger().removeHandler(heard)

    assert ended.code == 0
    assert "configuration reloaded: nothing to change" in ended.err


# Leaving


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("run",), ("chat",)])
@pytest.mark.timeout(30)
def test_it_can_be_left_while_the_model_loads(
    run: Run,
    vllm: Vllm,
    configured: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    number: int,
) -> None:
    """Ctrl-C, or what systemd sends: nobody waits for what is not needed any more."""
    monkeypatch.setenv("CLAWDBOT_TELEGRAM_TOKEN", TOKEN)

    async def load_for_ever() -> None:
        os.kill(os.getpid(), number)
        await asyncio.Event().wait()

    vllm.instead = load_for_ever

    out_of_reach = '[adapters.telegram]\nbase_url = "http://127.0.0.1:9"\n'

    ended = run(*command, "--config", configured(out_of_reach))
    assert ended.code == 0
    assert "Traceback" not in ended.err


def test_it_can_be_left_before_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while Python imports the libraries, which takes a second or two: no traceback."""

    class CtrlC:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "clawdbot.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "clawdbot.cli")
    monkeypatch.setattr(sys, "meta_path", [CtrlC(), *sys.meta_path])

    with pytest.raises(SystemExit) as left:
        runpy.run_module("clawdbot", run_name="__main__")
    assert left.value.code == 130


@pytest.mark.timeout(60)
def test_as_a_process_it_fails_with_the_same_line(tmp_path: Path) -> None:
    """Nothing is printed around it."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    environment.pop("CLAWDBOT_CONFIG", None)

    ended = subprocess.run(
        [sys.executable, "-m", "clawdbot", "run"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
