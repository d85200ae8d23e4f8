"""What people can ask of the bot itself, the same on every platform."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from clawdbot import words
from clawdbot.chart import draw
from clawdbot.chat import COMMANDS, File, Message
from clawdbot.clock import Clock
from clawdbot.engine.host import EngineHost
from clawdbot.ops.meter import Meter
from clawdbot.report import report
from clawdbot.sessions import Sessions, Ticket
from clawdbot.store import Store

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a command says."""

    text: str
    files: tuple[File, ...] = ()
    private: bool = False


def called(text: str) -> str:
    """The name of the command that ``text`` calls, "" when it calls none: "new" for ``/new now``."""
    name = (text.split(maxsplit=1) or [""])[0]
    return name[1:].lower() if name.startswith("/") and name[1:].isidentifier() else ""


class Commands:
    """What the commands do, and what they need for it."""

    def __init__(self, *, store: Store, host: EngineHost, sessions: Sessions, clock: Clock, meter: Meter) -> None:
        self._store = store
        self._host = host
        self._sessions = sessions
        self._clock = clock
        self._meter = meter

    async def run(self, name: str, message: Message, *, admin: bool) -> Said:
        """Run the command ``name`` of ``message``."""
        command = next((command for command in COMMANDS if command.name == name), None)
        if command is None:
            return Said(words.UNKNOWN_COMMAND.format(name=name), private=True)
        if command.admins_only and not admin:
            return Said(words.ADMINS_ONLY, private=True)
        return await TABLE[name](self, message, admin)

    async def help(self, message: Message, admin: bool) -> Said:
        """List what the author may use."""
        mine = [command for command in COMMANDS if admin or not command.admins_only]
        return Said("\n".join(f"/{command.name}: {command.about}" for command in mine), private=True)

    async def new(self, message: Message, admin: bool) -> Said:
        """Forget what was said in the conversation."""
        await self._store.reset(message.conversation.key)
        return Said(words.NEW)

    async def stop(self, message: Message, admin: bool) -> Said:
        """Stop the answers of the conversation that the author may stop."""
        theirs = [
            ticket
            for ticket in self._sessions.tickets
            if ticket.conversation == message.conversation.key
            and not ticket.written
            and may_stop(ticket, message.author.id, admin=admin)
        ]
        for ticket in theirs:
            ticket.stop()
        return Said(words.STOPPED if theirs else words.NOTHING_TO_STOP, private=True)

    async def latency(self, message: Message, admin: bool) -> Said:
        """Show the times of the last hour and day, with a chart when there are any."""
        now = self._clock.wall()
        day = await self._store.timings(now - DAY)
        hour = [timing for timing in day if timing.at >= now - HOUR]
        gauges = await asyncio.to_thread(self._meter.read)
        text = report(hour, day, self._host.info, gauges)
        files = (File("latency.png", await asyncio.to_thread(draw, day, now)),) if day else ()
        return Said(text, files, private=True)


TABLE: Mapping[str, Callable[[Commands, Message, bool], Awaitable[Said]]] = {
    "new": Commands.new,
    "stop": Commands.stop,
    "help": Commands.help,
    "latency": Commands.latency,
}
"""What each of `COMMANDS` does; the last argument says whether the author is an admin."""


def may_stop(ticket: Ticket, person: int, *, admin: bool) -> bool:
    """Whether ``person`` may stop an answer: whoever asked for it, and admins."""
    return admin or ticket.asker == person
