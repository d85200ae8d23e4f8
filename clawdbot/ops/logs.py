"""What the bot writes down: one line for each thing that happens, as text or JSON, without secrets.

Every logger of the process writes through the one handler here, the libraries' own too, and so do errors that nobody
caught and warnings: whatever is written passes `Redactor` last, when it is a line already.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO

from structlog.processors import JSONRenderer, TimeStamper, format_exc_info
from structlog.processors import LogfmtRenderer as Logfmt
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name
from structlog.typing import EventDict, WrappedLogger

from clawdbot.errors import ClawdBotError
from clawdbot.ops.redaction import Redactor

Level = Literal["debug", "info", "warning", "error"]

CHATTY = ("httpx", "httpx2", "openai", "discord", "aiosqlite", "asyncio", "matplotlib", "urllib3")
"""Libraries whose INFO says too much. What must not be logged at all an adapter keeps back itself."""

log = logging.getLogger(__name__)


@contextmanager
def logged(
    level: Level, form: Literal["text", "json"], redact: Redactor, stream: TextIO | None = None
) -> Iterator[None]:
    """In the block everything is written to ``stream`` (standard error), in this ``form`` and from ``level`` on.

    An error that nobody foresaw is written, too, and ends the process (`SystemExit`): Python would print it as it is.
    """
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(_formatter(form, redact))
    root = logging.getLogger()
    before = {logger: logger.level for logger in (root, *map(logging.getLogger, CHATTY))}
    root.addHandler(handler)
    set_level(level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    try:
        with _uncaught():
            yield
    except Exception as error:
        if _foreseen(error):
            raise
        log.critical("the bot ends with an error that nobody foresaw", exc_info=error)
        raise SystemExit(1) from None
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        for logger, old in before.items():
            logger.setLevel(old)


def set_level(level: Level) -> None:
    """From now on write what is at least as grave as ``level``."""
    logging.getLogger().setLevel(level.upper())


class _Handler(logging.StreamHandler[TextIO]):
    """What cannot be written is told without its parts, which the standard library would print as they are."""

    def handleError(self, record: logging.LogRecord) -> None:
        kind = sys.exc_info()[0]
        name = kind.__name__ if kind else "an error"
        try:
            self.stream.write(
                f"a line of {record.name} ({record.filename}:{record.lineno}) cannot be written: {name}\n"
            )
        except (OSError, ValueError):
            return  # nobody reads any more


def _formatter(form: Literal["text", "json"], redact: Redactor) -> logging.Formatter:
    render: list[Callable[[WrappedLogger, str, EventDict], Any]]
    if form == "json":
        render = [TimeStamper("iso"), format_exc_info, _ordered, JSONRenderer(ensure_ascii=False)]
    else:
        render = [TimeStamper("%Y-%m-%d %H:%M:%S", utc=False), format_exc_info, _text]
    return ProcessorFormatter(
        processors=[ProcessorFormatter.remove_processors_meta, *render, lambda _, __, line: redact(str(line))],
        foreign_pre_chain=[add_logger_name, add_log_level, ExtraAdder(), _without_leavings],
    )


def _without_leavings(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Another handler's formatter, or vLLM for its own, leaves these on the record that all of them are given."""
    for name in ("message", "asctime", "vllm_process_name"):
        event.pop(name, None)
    return event


def _ordered(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """What all lines have comes first."""
    first = ("timestamp", "level", "logger", "event")
    return {**{name: event[name] for name in first}, **event}


def _text(_: WrappedLogger, __: str, event: EventDict) -> str:
    """``2026-01-31 12:00:00 INFO clawdbot.bot: what happened name=value``, and a traceback below it."""
    when, level, logger = event.pop("timestamp"), str(event.pop("level")).upper(), event.pop("logger")
    trace, what = event.pop("exception", None), event.pop("event")
    rest = Logfmt()(None, "", {name: _short(value) for name, value in event.items()})
    line = f"{when} {level} {logger}: {what}{f' {rest}' if rest else ''}"
    return f"{line}\n{trace}" if trace else line


def _short(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value


def _foreseen(error: Exception) -> bool:
    """Whether it is a sentence for the admin, or a group of such."""
    if isinstance(error, ExceptionGroup):
        return error.split(ClawdBotError)[1] is None
    return isinstance(error, ClawdBotError)


@contextmanager
def _uncaught() -> Iterator[None]:
    """What would be printed because nobody can catch it is written through the log instead."""

    def of_thread(told: threading.ExceptHookArgs) -> None:
        if not isinstance(told.exc_value, SystemExit):  # its way of ending
            log.error("a thread ended with an error", exc_info=told.exc_value)

    def of_destructor(told: "sys.UnraisableHookArgs") -> None:
        log.error("an error that could not be raised", exc_info=told.exc_value)

    before = (threading.excepthook, sys.unraisablehook)
    threading.excepthook, sys.unraisablehook = of_thread, of_destructor
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = before
