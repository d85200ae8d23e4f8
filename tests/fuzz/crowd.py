"""People who mean harm on a simulated Discord and a simulated Telegram, whose messages come through the real SDKs."""

from collections.abc import Callable, Collection, Iterator
from random import Random
from typing import Protocol

from clawdbot import words
from clawdbot.questions.wellformed import whole
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.discord.records import Channel, Post, User
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.telegram.files import Sent
from clawdbot.testing.telegram.world import Shown

from . import people, texts

LONGEST_SAID = 4000
"""Characters of a message; both platforms take fewer."""
CONTROLS = ("clawdbot:stop", "clawdbot:continue", "clawdbot:regenerate", "stop", "continue", "regenerate")
ADMIN_COMMANDS = ("allow", "deny", "pair", "audit", "latency", "persona", "model")
INTERRUPTED = words.INTERRUPTED_MARK.strip("*()")
Known = tuple[int, str]
"""A message of an answer: its chat, and what the platform calls it."""
OWNER, FIRST, STRANGER = 1, 1000, 500_000
"""Numbers on Telegram: who may do more, the first of those who may talk, and the first of those who may not."""


def control(random: Random) -> str:
    """What a button is called that nobody has drawn, or another part's of another answer."""
    name = random.choice(CONTROLS)
    return random.choice(
        (name, f"{name}:{random.getrandbits(64):016x}-0", f"{name}:" + "x" * 90, "\0", "🦩" * 20, ":::")
    )


def message(random: Random) -> str:
    """What fits one message."""
    return texts.hostile(random)[:LONGEST_SAID]


class Crowd(Protocol):
    """The people of one platform."""

    def attack(self) -> str:
        """Let somebody do something, each time in another place; what it was, in a word."""
        ...

    def ask(self) -> Callable[[], bool]:
        """A bystander asks something; what comes back says whether it was answered as usual."""
        ...

    async def begun(self) -> None:
        """Wait until the bystander's answer has begun."""
        ...

    def crashed(self, known: Collection[Known]) -> None:
        """The bot was killed and is to be started again; of the messages of its answers it knows these."""
        ...

    def harm(self) -> Iterator[tuple[object, ...]]:
        """What should not be on the screens."""
        ...


class Bystander:
    """Whoever asks while others attack, and how their answers may end."""

    def __init__(self) -> None:
        self.asked: Callable[[], bool] = bool
        """Whether the answer that was asked for last has begun."""
        self.crashed = False
        """Whether the bot was killed since."""

    def may_read(self, text: str, whole: str) -> bool:
        """Whether ``text`` is the end of an answer that is ``whole`` but for a crash."""
        if text == whole:
            return True
        marked = text.rstrip("*)").endswith(INTERRUPTED)
        return self.crashed and marked and whole.startswith(text.rpartition("(")[0].rstrip("*").rstrip())


class OnDiscord:
    """A `Crowd`: everybody in the guild may talk, nobody may in private. Discord lets no half characters pass."""

    def __init__(self, sim: SimDiscord, random: Random) -> None:
        self._sim = sim
        self._random = random
        self._bystander = Bystander()
        self._answered: list[tuple[Post, str]] = []
        """Answers of bystanders, with what they say."""

    def attack(self) -> str:
        attack = self._random.choice(
            (self._say, self._say, self._send_file, self._call, self._press, self._revise, self._intrude)
        )
        attack(self._somebody())
        return attack.__name__

    def ask(self) -> Callable[[], bool]:
        place, asker = self._place(), self._sim.add_user("bob")
        text = texts.said(self._random)
        self._bystander.asked, self._bystander.crashed = lambda: bool(self._sim.answers(place)), False
        self._sim.say(place, text, user=asker)

        def answered() -> bool:
            shown = self._sim.answers(place)
            if len(shown) != 1 or shown[0].now.growing:
                return False
            if not self._bystander.may_read(shown[0].text, f"You said: bob: {text}"):
                return False
            self._answered.append((shown[0], shown[0].text))
            return True

        return answered

    async def begun(self) -> None:
        await self._sim.until(self._bystander.asked)

    def crashed(self, known: Collection[Known]) -> None:
        """Whatever was posted is recognised by its nonce when it is sent again."""
        self._bystander.crashed = True

    def harm(self) -> Iterator[tuple[object, ...]]:
        for channel in self._sim.world.channels.values():
            for post in channel.posts.values():
                if post.author == self._sim.bot and any(look.pinged for look in post.history):
                    yield "somebody was pinged", post.text
            shown = self._sim.answers(channel)
            if any(post.now.growing or post.now.thinking for post in shown):
                yield "it is not over", [post.text for post in shown]
            if channel.member and len(shown) > 1:
                yield "a stranger was told more than one refusal", [post.text for post in shown]
        for post, text in self._answered:
            if post.text != text or post.deleted:
                yield "somebody else's answer was changed", text, post.text

    def _place(self) -> Channel:
        return self._sim.add_channel(f"c{len(self._sim.world.channels)}")

    def _somebody(self) -> User:
        return self._sim.add_user(self._name())

    def _name(self) -> str:
        return whole(people.name(self._random))[:200]

    def _message(self) -> str:
        return whole(message(self._random))

    def _say(self, by: User) -> None:
        place = self._place()
        earlier = self._sim.say(place, self._message(), user=self._somebody(), mention_bot=False)
        said = self._sim.say(place, self._message(), user=by, reply_to=earlier)
        self._sim.repeat(said)

    def _send_file(self, by: User) -> None:
        content = texts.hostile(self._random).encode("utf-8", "surrogatepass")[:200_000]
        self._sim.say(self._place(), "Read this", user=by, files={self._name() or "x": content})

    def _call(self, by: User) -> None:
        name = self._random.choice(ADMIN_COMMANDS)
        known = {"allow": "number", "deny": "number", "pair": "code", "latency": "whose"}
        given = {} if name == "audit" else {known.get(name, "name"): whole(texts.command(self._random)[-6000:])}
        where = self._random.choice((self._place(), self._sim.private(by)))
        self._sim.interactions.slash(where, name, by, given)

    def _press(self, by: User) -> None:
        posts = [post for channel in self._sim.world.channels.values() for post in self._sim.answers(channel)]
        if posts:
            post = self._random.choice(posts)
            where = self._random.choice((self._sim.world.channels[post.channel], self._sim.private(by), self._place()))
            self._sim.interactions.forge(where, post, control(self._random), by)

    def _revise(self, by: User) -> None:
        said = self._sim.say(self._place(), self._message(), user=by)
        self._sim.edit_question(said, f"<@{self._sim.bot.id}> {self._message()}")
        if self._random.random() < 0.3:
            self._sim.delete_question(said)

    def _intrude(self, by: User) -> None:
        place = self._sim.private(by)
        for _ in range(3):
            self._sim.say(place, self._message(), user=by)


class OnTelegram:
    """A `Crowd`: those with a number below `STRANGER` may talk, and nobody else."""

    def __init__(self, sim: SimTelegram, random: Random) -> None:
        self._sim = sim
        self._random = random
        self._next = FIRST
        self._strangers = STRANGER
        self._bystander = Bystander()
        self._answered: list[tuple[Shown, str]] = []
        self._orphans: list[Shown] = []
        """Messages that the bot never learnt of, since it was killed meanwhile: nobody edits them any more."""

    def attack(self) -> str:
        attack = self._random.choice(
            (self._say, self._say, self._lie, self._send, self._press, self._revise, self._intrude, self._stop_draft)
        )
        attack(self._somebody())
        return attack.__name__

    def ask(self) -> Callable[[], bool]:
        text = texts.said(self._random)
        asker = self._somebody()
        self._bystander.asked = lambda: bool(self._sim.answers(asker) or self._sim.drafts(asker))
        self._bystander.crashed = False
        self._sim.say(asker, text)

        def answered() -> bool:
            shown = self._shown(asker)
            if len(shown) != 1 or shown[0].look.growing:
                return False
            if not self._bystander.may_read(shown[0].text, f"You said: {text}"):
                return False
            self._answered.append((shown[0], shown[0].text))
            return True

        return answered

    async def begun(self) -> None:
        await self._sim.until(self._bystander.asked)

    def crashed(self, known: Collection[Known]) -> None:
        """Telegram recognises no message that is sent again."""
        self._bystander.crashed = True
        growing = [one for chat in self._sim.screens for one in self._sim.answers(chat) if one.look.growing]
        self._orphans += [one for one in growing if (one.chat.id, str(one.id)) not in known]

    def harm(self) -> Iterator[tuple[object, ...]]:
        for chat in self._sim.screens:
            shown = self._shown(chat)
            if self._sim.draft(chat) is not None:
                yield "a draft is left", self._sim.draft(chat), [one.text for one in shown]
            if any(one.look.growing for one in shown):
                yield "it is not over", [one.text for one in shown]
            if chat >= STRANGER and len(shown) > 1:
                yield "a stranger was told more than one refusal", [one.text for one in shown]
            for one in shown:
                if any(entity.type == "text_mention" or "tg://" in str(entity.extra) for entity in one.look.entities):
                    yield "somebody was pinged", one.text
        for one, text in self._answered:
            if one.text != text or one.deleted_at is not None:
                yield "somebody else's answer was changed", text, one.text

    def _shown(self, chat: int) -> list[Shown]:
        return [one for one in self._sim.answers(chat) if not any(one is orphan for orphan in self._orphans)]

    def _somebody(self) -> int:
        self._next += 1
        self._sim.call_oneself(self._next, people.name(self._random) if self._random.random() < 0.8 else "Ada")
        return self._next

    def _say(self, by: int) -> None:
        group = self._sim.group(-by, people.name(self._random))
        earlier = self._sim.say(group, message(self._random), user=self._somebody())
        self._sim.repeat(
            self._sim.say(group, f"@{self._sim.bot.username} {message(self._random)}", user=by, reply_to=earlier)
        )

    def _lie(self, by: int) -> None:
        """Marks that lie outside of the text, or name the bot where it is not named."""
        said = self._sim.say(by, message(self._random) or "x")
        mark = {"type": self._random.choice(("mention", "bot_command", "text_mention", "url", "pre", "unheard_of"))}
        marks = [mark | {"offset": self._random.choice((0, 1)), "length": self._random.choice((1, 4096, 10**9))}]
        self._sim.deliver("message", said.json() | {"message_id": 10**6 + by, "entities": marks})

    def _send(self, by: int) -> None:
        content = texts.hostile(self._random).encode("utf-8", "surrogatepass")[:200_000]
        kind = self._random.choice(("document", "document", "photo", "voice", "sticker"))
        parts = [
            Sent(kind, people.name(self._random), "text/plain", content) for _ in range(self._random.choice((1, 1, 12)))
        ]
        self._sim.send(by, *parts, caption=message(self._random)[:1000])

    def _press(self, by: int) -> None:
        shown = [one for chat in self._sim.screens for one in self._sim.answers(chat)]
        if shown:
            self._sim.forge(self._random.choice(shown), control(self._random)[:64], by)

    def _stop_draft(self, by: int) -> None:
        """Stop whatever is being written as a draft; where there is none, ask for one."""
        shown = [chat for chat in self._sim.screens if self._sim.draft(chat) is not None]
        if shown:
            self._sim.stop_draft(self._random.choice(shown))
        else:
            self._sim.say(by, message(self._random) or "x")

    def _revise(self, by: int) -> None:
        said = self._sim.say(by, message(self._random) or "x")
        self._sim.edit_question(said, message(self._random) or "y")

    def _intrude(self, by: int) -> None:
        self._strangers += 1
        for text in ("/allow 1", f"/pair {by}", message(self._random) or "x"):
            self._sim.say(self._strangers, text)
