"""What people can ask of the bot itself, the same on every platform."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from clawdbot import words
from clawdbot.chart import draw
from clawdbot.chat import File, Message
from clawdbot.clock import Clock
from clawdbot.engine.host import EngineHost
from clawdbot.latency import report
from clawdbot.ops.gauges import Meter
from clawdbot.sessions import Sessions, Ticket
from clawdbot.store import Store

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a command says."""

    text: str
    files: tuple[File, ...] = ()
    private: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``run`` gets the message and whether its author is an admin."""

    run: Callable[[Message, bool], Awaitable[Said]]
    about: str
    admins_only: bool = False


def called(text: str) -> str:
    """The name of the command that ``text`` calls, "" when it calls none: "new" for ``/new now``."""
    name = (text.split(maxsplit=1) or [""])[0]
    return name[1:].lower() if name.startswith("/") and name[1:].isidentifier() else ""


class Commands:
    """The table of commands and what they need."""

    def __init__(self, *, store: Store, host: EngineHost, sessions: Sessions, clock: Clock, meter: Meter) -> None:
        self._store = store
        self._host = host
        self._sessions = sessions
        self._clock = clock
        self._meter = meter
        self._table: Mapping[str, Command] = {
            "help": Command(self._help, "what I can do"),
            "new": Command(self._new, "begin a new conversation"),
            "stop": Command(self._stop, "stop the answer that is being written"),
            "latency": Command(self._latency, "where the milliseconds go", admins_only=True),
        }

    async def run(self, name: str, message: Message, *, admin: bool) -> Said:
        """Run the command ``name`` of ``message``."""
        command = self._table.get(name)
        if command is None:
            return Said(words.UNKNOWN_COMMAND.format(name=name), private=True)
        if command.admins_only and not admin:
            return Said(words.ADMINS_ONLY, private=True)
        return await command.run(message, admin)

    async def _help(self, message: Message, admin: bool) -> Said:
        known = {name: command for name, command in self._table.items() if admin or not command.admins_only}
        return Said("\n".join(f"/{name}: {command.about}" for name, command in known.items()), private=True)

    async def _new(self, message: Message, admin: bool) -> Said:
        await self._store.reset(message.conversation.key)
        return Said(words.NEW)

    async def _stop(self, message: Message, admin: bool) -> Said:
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

    async def _latency(self, message: Message, admin: bool) -> Said:
        now = self._clock.wall()
        day = await self._store.timings(now - DAY)
        hour = [timing for timing in day if timing.at >= now - HOUR]
        gauges = await asyncio.to_thread(self._meter.read)
        text = report(hour, day, self._host.info, gauges)
        files = (File("latency.png", await asyncio.to_thread(draw, day, now)),) if day else ()
        return Said(text, files, private=True)


def may_stop(ticket: Ticket, person: int, *, admin: bool) -> bool:
    """Whether ``person`` may stop an answer: whoever asked for it, and admins."""
    return admin or ticket.asker == person
