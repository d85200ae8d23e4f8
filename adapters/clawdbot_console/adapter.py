"""Reads lines, hands them to the core one at a time, shows the answers growing."""

import itertools
import sys
from collections.abc import Awaitable, Callable
from functools import partial

from pydantic import BaseModel, ConfigDict
from rich.console import Console

from clawdbot.chat import Conversation, Message, Person, Receive
from clawdbot.clock import Clock, SystemClock
from clawdbot.errors import Gone
from clawdbot_console.lines import LineReader
from clawdbot_console.reply import ConsoleReply
from clawdbot_console.screen import Screen, screen_on

OWNER = Person(1, "you", owner=True)
BANNER = "ClawdBot on the console. /help lists the commands; Ctrl-D ends."
PROMPT = "> "


class ConsoleSettings(BaseModel):
    """``[adapters.console]``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    once: str | None = None
    """Ask this one thing and end, instead of reading from standard input."""


class ConsoleAdapter:
    """An `Adapter` between standard input and output; `run` ends with the input.

    On a terminal answers are drawn in place. Elsewhere their text is written as it grows, and each line of input is one
    message. The next line is read when the previous one is answered. Every run is a conversation of its own.
    """

    def __init__(
        self,
        settings: ConsoleSettings,
        *,
        read: Callable[[], Awaitable[str]] | None = None,
        console: Console | None = None,
        screen: Callable[[], Screen] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``read`` returns the next line with its line end, "" at the end of input; ``screen`` draws one answer."""
        self._once = settings.once
        self._console = console or Console()
        self._interactive = self._console.is_terminal and sys.stdin.isatty()
        self._read = read or LineReader().next
        self._screen = screen or partial(screen_on, self._console)
        self._clock = clock or SystemClock()
        self._place = Conversation("console", int(self._clock.wall()), private=True)
        self._numbers = itertools.count(1)

    async def run(self, receive: Receive) -> None:
        """Serve until the end of input."""
        if self._once is not None:
            await self._ask(self._once, receive)
            return
        if self._interactive:
            self._console.print(BANNER, style="dim")
        while line := await self._next_line():
            if text := line.strip():
                await self._ask(text, receive)

    def reply(self, ref: str) -> ConsoleReply:
        """See `Adapter.reply`. Raises `Gone`: nobody waits any more for an answer of an earlier run."""
        raise Gone("That console is closed.")

    async def _ask(self, text: str, receive: Receive) -> None:
        now = self._clock.wall()
        # Unique over restarts, for the core answers a message only once.
        message_id = f"{now:.6f}-{next(self._numbers)}"
        reply = ConsoleReply(self._screen())
        await receive(Message(message_id, self._place, OWNER, text, self._clock.now(), now), reply)
        await reply.finished.wait()

    async def _next_line(self) -> str:
        if self._interactive:
            self._console.print(PROMPT, end="", style="bold")
        line = await self._read()
        if line.strip() and not self._interactive:
            self._console.out(f"{PROMPT}{line.rstrip()}", highlight=False)
        return line
