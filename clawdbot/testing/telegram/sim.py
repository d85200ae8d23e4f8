"""A Telegram to test against: the Bot API over real HTTP, and the people on the other side."""

import asyncio
import itertools
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from aiohttp import web

from clawdbot.clock import Clock, SystemClock
from clawdbot.testing.faults import Faults
from clawdbot.testing.telegram.files import Sent
from clawdbot.testing.telegram.methods import Methods
from clawdbot.testing.telegram.rules import Allowance, units
from clawdbot.testing.telegram.server import Call, Server, Verdict
from clawdbot.testing.telegram.updates import Updates
from clawdbot.testing.telegram.wire import Json
from clawdbot.testing.telegram.world import Chat, Draft, Entity, Kind, Look, Shown, User, World
from clawdbot.testing.waiting import patience

TOKEN = "123456:simulated-token-of-no-value"
SPECIAL = re.compile(r"(?P<bot_command>(?<!\S)/\w+(?:@\w+)?)|(?P<mention>(?<!\w)@\w+)")

T = TypeVar("T")


class SimTelegram:
    """A local server that speaks the Telegram Bot API, and a world in which people write to the bot.

    Use: ``async with SimTelegram() as sim``; the bot gets ``sim.url`` as base URL and ``sim.token``. Every limit is in
    ``allowance``, the round trip ``rtt`` is in seconds (half of it passes before a call has its effect), faults come
    from ``faults``. With ``privacy``, as every new bot has it, only commands for the bot and replies to it come from
    groups. ``lacks`` names methods that this server does not know, as an older one would not. Times are those of
    ``clock``.
    """

    def __init__(
        self,
        token: str = TOKEN,
        *,
        bot: User | None = None,
        allowance: Allowance | None = None,
        rtt: float = 0.0,
        faults: Faults | None = None,
        privacy: bool = True,
        lacks: Collection[str] = (),
        clock: Clock | None = None,
    ) -> None:
        self.token = token
        self.bot = bot or User(int(token.partition(":")[0]), "Claw", "claw_bot", is_bot=True)
        self.clock = clock or SystemClock()
        self.faults = faults or Faults()
        self.privacy = privacy
        self.url = ""
        self._watchers: set[asyncio.Event] = set()
        self._queries = itertools.count(1)
        self._world = World(self.bot, self.clock, self._changed)
        self._updates = Updates(self.clock, self._changed)
        rules = allowance or Allowance()
        self._methods = Methods(self._world, self._updates, rules, privacy=privacy, lacks=lacks)
        self._server = Server(
            token, self._methods, self._world.files, self.clock, rules, rtt, self.faults, self._changed
        )
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self._runner = web.AppRunner(self._server.application(), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._updates.close()
        self._server.close()
        if self._runner:
            await self._runner.cleanup()

    # What an observer sees.

    @property
    def calls(self) -> list[Call]:
        """All calls so far except polls that brought nothing, in the order of their effect."""
        return self._server.calls

    @property
    def screens(self) -> dict[int, list[Shown]]:
        """By chat, all messages that were ever posted there; each knows all its looks and when it was deleted."""
        return {chat.id: chat.messages for chat in self._world.chats.values()}

    @property
    def menus(self) -> dict[str, list[str]]:
        """By scope, the names of the commands in the bot's menu."""
        return {scope: [str(one["command"]) for one in menu] for scope, menu in self._methods.menus.items()}

    @property
    def unanswered_presses(self) -> int:
        """Presses whose waiting sign still turns."""
        return len(self._methods.queries)

    @property
    def unconfirmed(self) -> int:
        """Updates that would be delivered again."""
        return len(self._updates.pending)

    def answers(self, chat: int, topic: int | None = None) -> list[Shown]:
        """The bot's messages that are on the screen of ``chat`` now, in one ``topic`` or in all."""
        found = self._world.chat(chat).messages
        mine = [one for one in found if one.author is self.bot and one.deleted_at is None]
        return [one for one in mine if topic is None or one.topic == topic]

    def draft(self, chat: int) -> str | None:
        """The text of the draft that is being shown; None when there is none."""
        shown = [draft for draft in self.drafts(chat)[-1:] if draft.shown(self.clock.now())]
        return shown[0].text if shown else None

    def drafts(self, chat: int) -> list[Draft]:
        """All drafts that were ever shown in ``chat``, oldest first."""
        return self._world.chat(chat).drafts

    def counted(self, method: str = "", verdict: Verdict | None = None, chat: int = 0) -> int:
        """How many calls there were, by method, verdict and chat, each only if given."""
        return sum(
            (not method or call.method == method)
            and (verdict is None or call.verdict is verdict)
            and (not chat or call.chat == chat)
            for call in self.calls
        )

    async def online(self) -> None:
        """Wait until the bot waits for updates."""
        await self.until(lambda: self._updates.polling)

    async def until(self, condition: Callable[[], T], seconds: float = 10.0) -> T:
        """Wait until ``condition`` gives something true, asked anew after every change; what it gave.

        Raises TimeoutError after ``seconds`` of real time, which says what the bot's messages are.
        """
        changed = asyncio.Event()
        self._watchers.add(changed)
        try:
            async with patience(seconds, self._shown):
                while not (found := condition()):
                    await changed.wait()
                    changed.clear()
                return found
        finally:
            self._watchers.discard(changed)

    # What people do.

    def call_oneself(self, user: int, name: str) -> None:
        """A person takes another name."""
        self._world.users[user] = User(user, name)

    def group(self, chat: int, title: str = "Group", *, forum: bool = False) -> int:
        """Make a group with the bot in it; ``chat`` is its id, a negative number."""
        made = self._world.chats[chat] = Chat(chat, Kind.SUPERGROUP if forum else Kind.GROUP, title, forum=forum)
        if forum:
            # Its first message says that it was made, so no topic has the number of General.
            self._world.post(made, self._world.user(abs(chat)), Look(self.clock.now(), ""))
        return chat

    def migrate(self, chat: int, to: int, *, told: bool = True) -> None:
        """Let a group become the supergroup ``to``: another chat for the API, whose messages count anew from one.

        The bot is told in both, unless that was so long ago that Telegram has given up.
        """
        old = self._world.chat(chat)
        old.moved_to = self.group(to, old.title)
        new = self._world.chats[to] = replace(self._world.chat(to), kind=Kind.SUPERGROUP)
        user = self._world.user(abs(chat))
        for place, says in ((old, {"migrate_to_chat_id": to}), (new, {"migrate_from_chat_id": chat})):
            shown = self._world.post(place, user, Look(self.clock.now(), ""))
            if told:
                self._updates.push("message", shown.json() | says)

    def open_topic(self, chat: int, user: int) -> int:
        """Open a topic in a forum; its id."""
        place = self._world.chat(chat)
        opened = self._world.post(place, self._world.user(user), Look(self.clock.now(), ""))
        place.topics.add(opened.id)
        return opened.id

    def say(
        self, chat: int, text: str, *, user: int = 0, topic: int = 0, reply_to: Shown | None = None, bot: bool = False
    ) -> Shown:
        """Somebody writes; in a private chat it is the person whose id the chat has. ``bot``: another bot does."""
        author = self._world.user(user or abs(chat))
        if bot:
            author = replace(author, is_bot=True)
        place = self._world.chat(chat)
        look = Look(self.clock.now(), text, _special(text))
        shown = self._world.post(place, author, look, topic, reply_to.id if reply_to else 0)
        self._deliver("message", shown)
        return shown

    def send(
        self,
        chat: int,
        *things: Sent,
        caption: str = "",
        user: int = 0,
        topic: int = 0,
        reply_to: Shown | None = None,
        held: int = 0,
    ) -> list[Shown]:
        """Somebody sends a file, a sticker, a location …; several at once are an album, a message each.

        The caption belongs to the first. ``held``: so many of the messages are not delivered: `repeat` does that later.
        """
        album = f"album-{next(self._queries)}" if len(things) > 1 else ""
        author, place = self._world.user(user or abs(chat)), self._world.chat(chat)
        shown = []
        for number, thing in enumerate(things):
            text = "" if number else caption
            look = Look(self.clock.now(), text, _special(text), sent=thing, number=self._world.files.keep(thing))
            shown.append(self._world.post(place, author, look, topic, reply_to.id if reply_to else 0, album))
        for one in shown[: len(shown) - held]:
            self._deliver("message", one)
        return shown

    def lose_files(self) -> None:
        """Let no file be loaded any more."""
        self._world.files.forget()

    def edit_question(self, shown: Shown, text: str) -> None:
        """Its author changes a message, or its caption."""
        self._world.change(shown, replace(shown.look, at=self.clock.now(), text=text, entities=_special(text)))
        self._deliver("edited_message", shown)

    def press(self, shown: Shown, data: str, user: int = 0) -> None:
        """Somebody presses the button that has ``data``, or that with more behind a colon.

        Raises LookupError when the message has none such.
        """
        found = next((button for button in shown.look.buttons if f"{button}:".startswith(f"{data}:")), None)
        if found is None:
            raise LookupError(f"no button {data!r} on {shown.text!r}")
        self.forge(shown, found, user)

    def forge(self, shown: Shown, data: str, user: int = 0) -> None:
        """Somebody's client says that a button was pressed which has ``data``, whether or not there is one."""
        query = str(next(self._queries))
        self._methods.queries.add(query)
        by = self._world.user(user or abs(shown.chat.id))
        body = {"id": query, "from": by.json(), "message": shown.pressed_json(), "chat_instance": "1", "data": data}
        self._updates.push("callback_query", body)

    def stop_draft(self, chat: int) -> None:
        """The person stops the draft that is being shown. Raises LookupError when none is that can be stopped."""
        place = self._world.chat(chat)
        draft = place.drafts[-1] if place.drafts else None
        if draft is None or not draft.stoppable or not draft.shown(self.clock.now()):
            raise LookupError(f"no draft to stop in {chat}")
        if not draft.kept:
            self._world.end_draft(place)
        self._updates.push("stopped_message_generation", {"chat": place.json(), "draft_id": draft.number})

    def repeat(self, shown: Shown) -> None:
        """Deliver a message once more, as a new update."""
        self._deliver("message", shown)

    def deliver(self, kind: str, body: Json) -> None:
        """Deliver an update as it is written, "message" for example: people do more than is simulated here."""
        self._updates.push(kind, body)

    def revoke(self, token: str) -> None:
        """Let only the new ``token`` be accepted, as when the owner asks for one."""
        self.token = self._server.token = token

    def shut(self, chat: int, why: str = "bot was blocked by the user") -> None:
        """Let the bot write no more in ``chat``."""
        self._world.chat(chat).closed = why

    def refuse_drafts(self, chat: int) -> None:
        """Take no drafts in ``chat``."""
        self._world.chat(chat).draftless = True

    def age(self, shown: Shown) -> None:
        """Let a message be too old to be seen: who presses a button below it presses one that the bot cannot see."""
        shown.too_old = True

    def refuse_files(self, chat: int) -> None:
        """Take no files in ``chat``, as where an admin has forbidden them."""
        self._world.chat(chat).fileless = True

    def delete_question(self, shown: Shown) -> None:
        """Somebody removes a message, whosever it is; a bot is not told."""
        self._world.delete(shown)

    def _deliver(self, kind: str, shown: Shown) -> None:
        if shown.chat.private or not self.privacy or self._addressed(shown):
            self._updates.push(kind, shown.json())

    def _addressed(self, shown: Shown) -> bool:
        """Whether privacy mode lets a message through: a reply to the bot, or a command for it.

        A command that names no bot is for the one that wrote last. A mention alone is not let through: Telegram's
        documentation does not list it, and people report that it does not come.
        """
        answered = shown.chat.find(shown.reply_to)
        if answered and answered.author is self.bot:
            return True
        command = SPECIAL.match(shown.text)
        if command is None or command.lastgroup != "bot_command":
            return False
        _, at, named = command.group().partition("@")
        bots = [one.author.id for one in shown.chat.messages if one.author.is_bot]
        return named.lower() == self.bot.username.lower() if at else bots[-1:] == [self.bot.id]

    def _shown(self) -> dict[int, list[str]]:
        """By chat what the bot's messages say."""
        return {chat: [shown.text for shown in found] for chat in self.screens if (found := self.answers(chat))}

    def _changed(self) -> None:
        for watcher in self._watchers:
            watcher.set()


def _special(text: str) -> tuple[Entity, ...]:
    """Commands and mentions, as Telegram marks them."""
    return tuple(
        Entity(str(found.lastgroup), units(text[: found.start()]), units(found.group()))
        for found in SPECIAL.finditer(text)
    )
