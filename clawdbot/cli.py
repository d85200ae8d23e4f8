"""The commands: ``clawdbot run``, ``chat``, ``doctor``, ``backup``, ``model``, ``bench`` and ``tune``."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console

from clawdbot import __version__, plugins
from clawdbot.app import App, adopt, open_app, serve
from clawdbot.bench.cli import bench
from clawdbot.bench.options import JsonOption
from clawdbot.bench.tune.cli import tune
from clawdbot.chat import Adapter, Event, Reply
from clawdbot.clock import SystemClock, first_of
from clawdbot.engine import models, pretrained
from clawdbot.engine.host import OpenEngine
from clawdbot.engine.opener import Openers, opener, prepare
from clawdbot.engine.progress import shown
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ClawdBotError, ConfigError, EngineDown
from clawdbot.latency.observed import answers, together
from clawdbot.latency.timing import Timing, closing_line
from clawdbot.ops.answer_log import log_answer
from clawdbot.ops.doctor.cli import diagnose
from clawdbot.ops.logs import Level, logged, set_level
from clawdbot.ops.redaction import Redactor, secrets_of
from clawdbot.ops.watch import Watch, wanted
from clawdbot.settings import config
from clawdbot.settings.config import AdapterTable, AnswerSettings, Settings, StoreSettings
from clawdbot.settings.reload import Reloading, hangups, heed_hangups, reread
from clawdbot.store.backup import back_up

log = logging.getLogger(__name__)

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
model_cli = typer.Typer(no_args_is_help=True, help="The language model's files.")
cli.add_typer(model_cli, name="model")
cli.add_typer(bench, name="bench")
cli.command()(tune)

ConfigOption = Annotated[Path | None, typer.Option("--config", help="Configuration file (default: ./config.toml).")]


def main() -> None:
    """The entry point: errors become sentences and exit codes (2 for the configuration, 1 for the rest)."""
    with _explained():
        cli()


@cli.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A chat bot for Discord and Telegram that shows the first word as early as the platform allows."""
    if context.invoked_subcommand != run.__name__:  # that one reads its configuration again, once it can
        heed_hangups()
    if version:
        typer.echo(__version__)
        raise typer.Exit


@cli.command()
def run(config_file: ConfigOption = None) -> None:
    """Serve the platforms that the configuration names."""
    environ = dict(os.environ)
    settings = config.load(config_file, environ)

    def load() -> Settings:
        again = config.load(config_file, environ)
        plugins.choose_all(again, plugins.installed())
        return again

    with _logged(settings, settings.logging.level):
        _hide_tokens(os.environ)
        adapters = plugins.build(settings, plugins.installed())
        if not adapters:
            source = str(config_file or config.find(os.environ))
            raise ConfigError(
                source, "no platform is enabled. Set enabled = true in a table such as [adapters.telegram]."
            )
        _serve(settings, adapters, load)


def _serve(settings: Settings, adapters: Mapping[str, Adapter], load: Callable[[], Settings]) -> None:
    clock = SystemClock()
    watch = Watch(settings.ops, clock) if wanted(settings.ops, adapters) else None
    observe = together(log_answer, watch.observe) if watch else log_answer

    async def serve_platforms(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            asked = stack.enter_context(hangups())  # before anything is open, and until all is closed
            default, others = Openers(clock).all(settings)
            opening = open_app(settings, default, clock, observe, others)
            app = await stack.enter_async_context(opening)
            if watch:
                await stack.enter_async_context(watch.open(app, adapters))
            await stack.enter_async_context(reread(Reloading(settings, load, partial(_adopt, app)), asked))
            await serve(app, adapters, clock, stop, settings.sessions.drain)

    _run(serve_platforms)


def _adopt(app: App, settings: Settings) -> None:
    adopt(app, settings)
    set_level(settings.logging.level)


@cli.command()
def chat(
    config_file: ConfigOption = None,
    once: Annotated[str | None, typer.Option(help="Answer this one message and leave.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Ignore any configuration; use the demo model.")] = False,
) -> None:
    """Talk to the model here; without a configuration it is the demo model, at temperature 0."""
    if not demo and (config_file is not None or config.find(os.environ) is not None):
        _talk(config.load(config_file, os.environ), once)
        return
    with TemporaryDirectory(prefix="clawdbot-") as folder:  # a demo leaves nothing behind
        _talk(_demo(Path(folder)), once)


def _talk(settings: Settings, once: str | None) -> None:
    with _logged(settings, "warning" if settings.logging.level == "info" else settings.logging.level):
        _hide_tokens(os.environ)
        _converse(settings, once)


def _converse(settings: Settings, once: str | None) -> None:
    console = AdapterTable("--once", {} if once is None else {"once": once}, None)
    unfooted = settings.answers.model_copy(update={"footer": False})  # a longer line comes after each
    settings = settings.model_copy(update={"adapters": {"console": console}, "answers": unfooted})
    adapters = plugins.build(settings, plugins.installed())
    with shown(sys.stderr) as progress:
        for engine in settings.offered.values():
            prepare(engine, progress)  # later there would be no place for a bar
    notes = Console(stderr=once is not None)
    clock = SystemClock()

    def note(timing: Timing) -> None:
        notes.print(closing_line(timing), style="dim", markup=False, highlight=False)

    async def talk(stop: asyncio.Event) -> None:
        default, others = Openers(clock).all(settings)
        async with open_app(settings, default, clock, answers(note), others) as app:
            with notes.status("The model is loading …"):
                # Or the first question would measure the loading.
                await first_of(_loaded(app), stop.wait())
            if stop.is_set():
                return

            async def receive(event: Event, reply: Reply) -> None:
                await app.bot.receive(event, reply)
                await app.sessions.idle()  # the latency line comes before the next question

            await serve(app, adapters, clock, stop, 0.0, receive)

    _run(talk)


async def _loaded(app: App) -> None:
    """Return when the default model is there, or known to be out of reach."""
    with suppress(EngineDown):
        await app.host.engine()


@cli.command()
def doctor(
    config_file: ConfigOption = None,
    json_file: JsonOption = None,
    latency: Annotated[bool, typer.Option("--latency", help="Also ask the model one thing, and time it.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Ask nobody outside this machine.")] = False,
) -> None:
    """Look whether everything that the bot needs is there, and say what to do; exit code 1 when something is not."""
    environ = dict(os.environ)

    def opened(settings: Settings) -> OpenEngine:
        return opener(settings.engine, SystemClock())

    _hide_tokens(os.environ)
    if not diagnose(config_file, json_file, environ, opened if latency else None, online=not offline):
        raise typer.Exit(1)


@cli.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    config_file: ConfigOption = None,
) -> None:
    """Copy the database, also while the bot uses it, into a file for its owner alone."""
    settings = config.load(config_file, os.environ)
    made = back_up(settings.store.path, target)
    typer.echo(
        f"{target}: {made.size:,} bytes, version {made.version}. To bring it back, end the bot, remove", err=True
    )
    typer.echo(f"{settings.store.path}-wal and -shm, and put the file in the place of the database.", err=True)
    typer.echo(target)


@model_cli.command("fetch")
def fetch(name: Annotated[str, typer.Argument(help='"demo", a folder, or a Hugging Face name.')] = "demo") -> None:
    """Bring the demo model, or check that a named one loads, and print where it is."""
    with shown(sys.stderr) as progress:
        path = models.resolve(name, progress)
    context = pretrained.context_of(path)
    pretrained.load_tokenizer(path).close()
    typer.echo(f"{path} loads; its context has {context:,} tokens.", err=True)
    typer.echo(path)


def _demo(folder: Path) -> Settings:
    return Settings(
        engine=EngineSettings(model="demo"),
        answers=AnswerSettings(temperature=0.0),
        store=StoreSettings(path=folder / "clawdbot.sqlite3"),
    )


def _run(main: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run ``main`` until it returns; the first Ctrl-C or SIGTERM sets its event, a second one leaves at once."""

    async def until_stopped() -> None:
        stop = asyncio.Event()

        def on_signal(number: int) -> None:
            if stop.is_set():
                # As after a crash: the store has what was shown, and the engine's processes follow their parent.
                os._exit(128 + number)
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
        await main(stop)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(until_stopped())


@contextmanager
def _explained() -> Iterator[None]:
    errors: list[ClawdBotError] = []
    try:
        yield
    except* ClawdBotError as group:
        errors += _leaves(group)
    for error in errors:
        _complain(error)
    if errors:  # not in the handler: Python 3.11.2, which is Debian's, makes a group with a traceback of the exit
        sys.exit(2 if any(isinstance(error, ConfigError) for error in errors) else 1)


def _leaves(group: BaseExceptionGroup[ClawdBotError]) -> Iterator[ClawdBotError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _complain(error: ClawdBotError) -> None:
    if isinstance(error, ConfigError):
        for fault in error.faults:
            typer.echo(f"{error.source}: {fault}", err=True)
    else:
        typer.echo(str(error), err=True)


def _logged(settings: Settings, level: Level) -> AbstractContextManager[None]:
    return logged(level, settings.logging.format, Redactor(secrets_of(settings, os.environ)))


def _hide_tokens(environ: MutableMapping[str, str]) -> None:
    """Take the bots' tokens and the engines' keys out of the environment, which every child process inherits."""
    ends = ("_TOKEN", "_API_KEY")
    for name in [name for name in environ if name.startswith("CLAWDBOT_") and name.endswith(ends)]:
        del environ[name]
