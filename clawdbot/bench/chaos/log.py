"""What a bot says in a chaos run: thousands of calls that go wrong, and among them what nobody foresaw."""

import logging

from clawdbot.errors import ClawdBotError

SHOWN = 3
"""So many of them are shown; the others are likely to say the same."""


class Unforeseen(logging.StreamHandler):  # type: ignore[type-arg]
    """Shows errors of the bot with an exception that is none of this project's; ``count`` says how many there were."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record tells of something unforeseen."""
        error = record.exc_info[1] if record.exc_info else None
        ours = record.name.startswith(("clawdbot", "asyncio"))
        return ours and error is not None and not isinstance(error, ClawdBotError)

    def emit(self, record: logging.LogRecord) -> None:
        """Count it, and show the first ones."""
        self.count += 1
        if self.count <= SHOWN:
            super().emit(record)


def listen() -> Unforeseen:
    """Show from now on nothing of all logs but what is unforeseen."""
    handler = Unforeseen()
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    return handler
