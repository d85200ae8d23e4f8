import logging

from clawdbot.bench.chaos.log import SHOWN, Unforeseen
from clawdbot.errors import Unreachable


def said(logger: str, error: Exception | None) -> logging.LogRecord:
    info = (type(error), error, None) if error else None
    return logging.LogRecord(logger, logging.ERROR, __file__, 1, "It went wrong.", None, info)


def test_only_what_nobody_foresaw_is_counted() -> None:
    """Failed calls are what a chaos run is made of, and libraries say much about them."""
    handler = Unforeseen()

    for record in (
        said("clawdbot.sessions.sessions", KeyError("a")),
        said("clawdbot.answers.answering", Unreachable("It is out of order.")),
        said("clawdbot.answers.answering", None),
        said("discord.client", OSError("refused")),
    ):
        handler.handle(record)

    assert handler.count == 1


def test_the_first_ones_are_shown() -> None:
    handler, shown = Unforeseen(), []

    class Shown(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            shown.append(record)
            return ""

    handler.setFormatter(Shown())
    for _ in range(SHOWN + 2):
        handler.handle(said("clawdbot.sessions.sessions", KeyError("a")))

    assert (len(shown), handler.count) == (SHOWN, SHOWN + 2)
