"""What people can ask of the bot itself, the same on every platform."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.answers.revising import Revising
from clawdbot.chat import File, Message
from clawdbot.commands.choices import Choice
from clawdbot.commands.choosing import chosen, listed, may_choose, unknown
from clawdbot.latency.chart import draw
from clawdbot.latency.report import own, report
from clawdbot.menu import COMMANDS
from clawdbot.people.audit import LENGTH, audit
from clawdbot.people.pairing import LIFE
from clawdbot.people.quota import DAY, HOUR
from clawdbot.people.usage import measured, usage
from clawdbot.said import Said
from clawdbot.sessions.ticket import may_change
from clawdbot.shared import Shared

OWN = 10
"""So many of their own last answers somebody is shown."""
ABOUT_CONVERSATION = frozenset({"new", "retry", "undo", "persona", "model", "usage"})
"""Commands that mean the conversation as it is where they stand in it. /stop is none: it waits for nothing."""


def called(text: str) -> str:
    """The name of the command that ``text`` calls, "" when it calls none: "new" for ``/new now``."""
    name = (text.split(maxsplit=1) or [""])[0]
    return name[1:].lower() if name.startswith("/") and name[1:].isidentifier() else ""


def argument(text: str) -> str:
    """What stands behind the name of the command that ``text`` calls."""
    return "".join(text.split(maxsplit=1)[1:]).strip()


def number(text: str) -> int | None:
    """The number of a person, written as such or as Discord writes a mention; None when it is anything else."""
    mention = re.fullmatch(r"<@!?(.*)>", text)
    digits = mention[1] if mention else text
    # No number of a platform's has more digits, and the database takes none.
    return int(digits) if re.fullmatch(r"[1-9][0-9]{0,18}", digits) and int(digits) < 2**63 else None


class Commands:
    """What the commands do, and what they need for it."""

    def __init__(self, shared: Shared, revising: Revising) -> None:
        self._store = shared.store
        self._gate = shared.gate
        self._models = shared.models
        self._sessions = shared.sessions
        self._revising = revising
        self._clock = shared.clock
        self._meter = shared.meter
        self._choices = {choice.kind: choice for choice in (shared.styles.personas, shared.models.choice)}
        self._styles = shared.styles

    async def run(self, name: str, message: Message, *, admin: bool) -> Said:
        """Run the command ``name`` of ``message``."""
        command = next((command for command in COMMANDS if command.name == name), None)
        if command is None:
            return Said(words.UNKNOWN_COMMAND.format(name=name), private=True)
        if name == "pair" and not message.conversation.private:
            await self._gate.redeem(message, argument(message.text))  # others have read it: it is good no more
        if not admin and not command.is_open(argument(message.text)):
            await self._gate.note_refused(message.author, message.conversation, f"/{name}")
            return Said(words.ADMINS_ONLY, private=True)
        return await TABLE[name](self, message, admin)

    async def help(self, message: Message, admin: bool) -> Said:
        """List what the author may use."""
        mine = [command for command in COMMANDS if admin or command.is_open(command.everybody)]
        named = [
            (command.name if admin else f"{command.name} {command.everybody}".strip(), command) for command in mine
        ]
        return Said("\n".join(f"/{name}: {command.about}" for name, command in named), private=True)

    async def new(self, message: Message, admin: bool) -> Said:
        """Forget what was said in the conversation."""
        await self._store.reset(message.conversation.key)
        return Said(words.NEW)

    async def stop(self, message: Message, admin: bool) -> Said:
        """Stop the answers of the conversation that the author may stop."""
        theirs = [
            ticket
            for ticket in self._sessions.of(message.conversation.key)
            if not ticket.written and may_change(ticket.asker, message.author.id, admin=admin)
        ]
        for ticket in theirs:
            ticket.stop()
        return Said(words.STOPPED if theirs else words.NOTHING_TO_STOP, private=True)

    async def retry(self, message: Message, admin: bool) -> Said:
        """Write the last answer anew."""
        return await self._revising.retry(message, admin=admin)

    async def undo(self, message: Message, admin: bool) -> Said:
        """Forget the last exchange."""
        return await self._revising.undo(message, admin=admin)

    def suggestions(self, name: str) -> Sequence[str]:
        """What may stand behind the name of a command."""
        return tuple(self._choices[name].options) if name in self._choices else ()

    async def persona(self, message: Message, admin: bool) -> Said:
        """Show the personas, or choose one for the conversation."""
        return await self._choose(self._choices["persona"], message, {}, admin=admin)

    async def model(self, message: Message, admin: bool) -> Said:
        """Show the models, or choose one for the conversation."""
        states = {model.name: _STATES[phase] for model in self._models if (phase := model.host.phase) in _STATES}
        return await self._choose(self._choices["model"], message, states, admin=admin)

    async def usage(self, message: Message, admin: bool) -> Said:
        """Show what the author has used, and how long the conversation is."""
        key = message.conversation.key
        used, quota = await self._gate.used(message)
        model = self._models.of(key)
        size = await measured(key, self._store, model, self._styles.of(key, model.name))
        return Said(usage(used, quota, size), private=True)

    async def move(self, place: str, to: str) -> None:
        """Let what was chosen at one place hold at another one. Raises `StoreError`."""
        for choice in self._choices.values():
            await choice.move(place, to)

    async def _choose(self, choice: Choice, message: Message, states: Mapping[str, str], *, admin: bool) -> Said:
        where, wanted = message.conversation, argument(message.text)
        if not wanted:
            return Said(listed(choice, where, states, admin=admin), private=True)
        if not may_choose(where, admin=admin):
            await self._gate.note_refused(message.author, where, f"/{choice.kind}")
            return Said(words.ADMINS_CHOOSE, private=True)
        if (name := choice.find(wanted)) is None:
            return Said(unknown(choice), private=True)
        await choice.choose(where.key, name)
        return Said(chosen(choice, name, states))

    async def latency(self, message: Message, admin: bool) -> Said:
        """Show the times of the last hour and day, with a chart when there are any; or the author's own ("me")."""
        if argument(message.text).lower() == "me":
            asked = await self._store.timings_of(message.conversation.platform, message.author.id, OWN)
            return Said(own(asked), private=True)
        now = self._clock.wall()
        day = await self._store.timings(now - DAY)
        hour = [timing for timing in day if timing.at >= now - HOUR]
        gauges = await asyncio.to_thread(self._meter.read)
        engines = {model.name: model.host.info for model in self._models}
        text = report(hour, day, engines, gauges)
        files = (File("latency.png", await asyncio.to_thread(draw, day, now)),) if day else ()
        return Said(text, files, private=True)

    async def allow(self, message: Message, admin: bool) -> Said:
        """Let somebody in."""
        person = number(argument(message.text))
        if person is None:
            return Said(words.WHOM.format(name="allow"), private=True)
        await self._gate.allow(person, message)
        return Said(words.LET_IN.format(id=person), private=True)

    async def deny(self, message: Message, admin: bool) -> Said:
        """Keep somebody out, and end the answers that they wait for."""
        person = number(argument(message.text))
        if person is None:
            return Said(words.WHOM.format(name="deny"), private=True)
        if not await self._gate.deny(person, message):
            return Said(words.ADMIN_STAYS.format(id=person), private=True)
        for ticket in self._sessions.tickets:
            if ticket.is_of(message.conversation.key, person):
                ticket.stop()
        return Said(words.KEPT_OUT.format(id=person), private=True)

    async def pair(self, message: Message, admin: bool) -> Said:
        """Make a code by which one person may talk in private; using one is the affair of those who may not yet."""
        if not message.conversation.private:
            return Said(words.IN_PRIVATE, private=True)
        code = await self._gate.make_code(message)
        return Said(words.CODE.format(code=code, minutes=round(LIFE / 60)), private=True)

    async def audit(self, message: Message, admin: bool) -> Said:
        """Show the last decisions about people; not in a group, where a platform may show them to all."""
        if not message.conversation.private:
            return Said(words.IN_PRIVATE, private=True)
        return Said(audit(await self._gate.last(LENGTH)), private=True)


_STATES = {
    Phase.LOADING: words.IS_LOADING,
    Phase.RESTARTING: words.IS_RESTARTING,
    Phase.DOWN: words.IS_DOWN,
}
"""What whoever chooses a model has to know of it."""

TABLE: Mapping[str, Callable[[Commands, Message, bool], Awaitable[Said]]] = {
    "new": Commands.new,
    "stop": Commands.stop,
    "retry": Commands.retry,
    "undo": Commands.undo,
    "persona": Commands.persona,
    "model": Commands.model,
    "usage": Commands.usage,
    "help": Commands.help,
    "latency": Commands.latency,
    "allow": Commands.allow,
    "deny": Commands.deny,
    "pair": Commands.pair,
    "audit": Commands.audit,
}
"""What each of `COMMANDS` does; the last argument says whether the author is an admin."""
