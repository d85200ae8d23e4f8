"""What people do to a bot, and to each other through it: events of all kinds, drawn from a seeded `Random`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Deleted, Edited, Event, Limits, Message, Pressed, Quoted, State, Typing
from clawdbot.clock import Clock
from clawdbot.testing.memory import limits
from clawdbot.testing.rig import MemoryPlatform, PlatformReply
from clawdbot_discord import render as discord
from clawdbot_telegram.render import Renderer

from . import people, texts
from .people import ADA, ADMIN, EVE, MALLORY
from .stage import GROUP, OPEN

LIMITS: tuple[Limits, ...] = (
    replace(limits(), fits=discord.fits, size=discord.SIZE),
    replace(limits(), fits=Renderer(4096, 100).fits, size=4096),
)
"""Of places that draw as the platforms do."""
PLACES = (0, GROUP, OPEN)
"""Where somebody talks; 0: in their own private chat."""
BEYOND = 2**70
"""No number of a platform's, nor one that a database takes."""
HUGE = "9" * 5000
ENDS = (b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"GIF89a", b"\xff\xd8\xff", b"%PDF-1.7", b"\xff\xfe", b"\0", b"\x1f\x8b")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event that reaches the bot, and where its answer goes."""

    event: Event
    reply: PlatformReply
    again: bool = False
    """Whether it was delivered before."""


@dataclass
class Scene:
    """What was said so far, from which events can be forged."""

    random: Random
    platform: MemoryPlatform
    clock: Clock
    past: list[Delivery] = field(default_factory=list)

    def where(self, person: int, chat: int) -> Conversation:
        """The place ``chat`` as ``person`` finds it."""
        return Conversation("memory", chat or person, private=not chat)

    def message(self, by: int, text: str, chat: int | None = None, **more: object) -> Delivery:
        """Somebody says ``text``; ``more`` are fields of `Message`."""
        random = self.random
        where = self.where(by, random.choice(PLACES) if chat is None else chat)
        number = len(self.platform.replies) + 1
        author, now = people.person(random, by), self.clock.now()
        said = Message(f"{where.chat}:{number}", where, author, text, now, self.clock.wall())
        return self.deliver(replace(said, **more))  # type: ignore[arg-type]

    def deliver(self, event: Message | Edited) -> Delivery:
        """``event`` with the reply that stands below its message."""
        said = event.message if isinstance(event, Edited) else event
        return Delivery(event, self.reply(said.id, said.conversation))

    def reply(self, id: str, where: Conversation) -> PlatformReply:
        """What stands, or will stand, below the message ``id``."""
        known = self.platform.replies.get(id)
        if known is None:
            known = PlatformReply(self.clock, self.random.choice(LIMITS), ref=id)
            self.platform.replies[id] = known
            known.contents = self.platform.contents
        return known

    def interaction(self) -> PlatformReply:
        """Where it is said to somebody alone what a control did."""
        return self.reply(f"i{len(self.platform.replies)}", Conversation("memory", 0))

    def earlier(self) -> Message | None:
        """Something that somebody said before; mostly of what was answered, where more can be done."""
        said = {one.event.id: one.event for one in self.past if isinstance(one.event, Message)}
        answered = [each for id, each in said.items() if self._is_answered(id)]
        choice = answered if answered and self.random.random() < 0.8 else list(said.values())
        return self.random.choice(choice) if choice else None

    def _is_answered(self, id: str) -> bool:
        return State.FINAL in self.platform.replies[id].screen.states


Move = Callable[[Scene, int], list[Delivery]]
"""What the person of a number does."""


def ask(scene: Scene, by: int) -> list[Delivery]:
    """Say something."""
    return [scene.message(by, texts.hostile(scene.random))]


def reply(scene: Scene, by: int) -> list[Delivery]:
    """Reply to something, which somebody with a bad name has said, or nobody has."""
    random = scene.random
    quoted = Quoted(
        people.name(random), texts.hostile(random), random.random() < 0.3, random.choice(("", "x:0", "1:1:0"))
    )
    return [scene.message(by, texts.hostile(random, texts.SHORT), quoted=quoted)]


def send_files(scene: Scene, by: int) -> list[Delivery]:
    """Send files with bad names, sizes that are not theirs, and contents that are not what they seem."""
    files = tuple(_file(scene) for _ in range(scene.random.randint(1, 12)))
    return [scene.message(by, texts.said(scene.random), files=files)]


def _file(scene: Scene) -> Attachment:
    random = scene.random
    text = texts.hostile(random).encode("utf-8", "surrogatepass")
    data = random.choice(
        (text, random.choice(ENDS) + random.randbytes(200), b"", text * 3, text.decode("latin-1").encode("utf-16"))
    )
    name = random.choice((people.name(random), "../../notes.txt", "notes.txt", "a" * 1000 + ".png", "[end of file 1]"))
    media = random.choice(("", "text/plain", "image/png", "image/svg+xml", "text/\ud800", "application/zip", "x" * 500))
    size = random.choice((len(data), 0, 1, 2**62, -1))
    ref = f"f{len(scene.platform.contents)}"
    if random.random() < 0.9:
        scene.platform.contents[ref] = data
    return Attachment(name, media, size, ref)


def album(scene: Scene, by: int) -> list[Delivery]:
    """Send an album that does not end, each part with another text; some of its name are in other places."""
    random = scene.random
    chat = random.choice(PLACES)
    name = random.choice(("album", f"{chat}:1", "\ud800", ""))
    parts = [
        scene.message(by, texts.hostile(random, texts.SHORT), chat, album=name) for _ in range(random.randint(2, 15))
    ]
    return [*parts, scene.message(random.choice((ADA, EVE)), texts.said(random), album=name)]


def command(scene: Scene, by: int) -> list[Delivery]:
    """Call a command, of admins or with arguments that nobody means."""
    return [scene.message(by, texts.command(scene.random))]


def try_codes(scene: Scene, by: int) -> list[Delivery]:
    """Guess codes, many at once."""
    guesses = scene.random.choices(("AAAA-AAAA", "0", "", "\0", "x" * 10_000, "' OR 1=1", "\ud800", "🦩"), k=12)
    return [scene.message(by, f"/pair {guess}") for guess in guesses]


def flood(scene: Scene, by: int) -> list[Delivery]:
    """Ask a lot at once."""
    chat = scene.random.choice(PLACES)
    return [scene.message(by, texts.hostile(scene.random, texts.SHORT), chat) for _ in range(20)]


def go_on(scene: Scene, by: int) -> list[Delivery]:
    """Send a text in parts; the second may say that it belongs to somebody else's."""
    random = scene.random
    first = scene.message(by, texts.hostile(random), unfinished=True)
    assert isinstance(first.event, Message)
    earlier = random.choice((first.event, first.event, scene.earlier() or first.event))
    where = earlier.conversation if random.random() < 0.8 else scene.where(by, OPEN)
    second = scene.message(by, texts.hostile(random), conversation=where, continues=earlier.id)
    return [first, second]


def edit(scene: Scene, by: int) -> list[Delivery]:
    """Edit a message: one's own, somebody else's, or one that nobody has seen."""
    random = scene.random
    text, version = texts.hostile(random), f"{random.random()}"
    earlier = scene.earlier()
    if earlier is None or random.random() < 0.2:
        unseen = scene.message(by, text, version=version)
        assert isinstance(unseen.event, Message)
        return [replace(unseen, event=Edited(unseen.event))]
    author = earlier.author if random.random() < 0.4 else people.person(random, by)
    # No platform tells that an edited message was a piece of another one.
    edited = replace(earlier, text=text, version=version, author=author, sent_at=scene.clock.wall(), continues="")
    return [replace(scene.deliver(edited), event=Edited(edited, addressed=random.random() < 0.7))]


def delete(scene: Scene, by: int) -> list[Delivery]:
    """Remove a message, from where it is or from where it never was."""
    random, earlier = scene.random, scene.earlier()
    where = earlier.conversation if earlier and random.random() < 0.7 else scene.where(by, random.choice(PLACES))
    gone = earlier.id if earlier and random.random() < 0.8 else texts.hostile(random, (texts.nulls, texts.hidden))
    return [Delivery(Deleted(where, gone), scene.interaction())]


def press(scene: Scene, by: int) -> list[Delivery]:
    """Use a control of an answer, whosever it is and wherever; or one that no answer has."""
    random, earlier = scene.random, scene.earlier()
    control = random.choice(
        ("stop", "continue", "regenerate", "regenerate", "destroy", "", "\0", "stop" * 1000, "\ud800")
    )
    number = random.choice((0, 0, 0, 1, 99))
    post = f"{earlier.id}:{number}" if earlier else "nothing:0"
    if random.random() < 0.2:
        post = random.choice((f"{HUGE}:0", "\ud800:0", "' OR 1=1 --:0", ":0"))
    here = earlier is not None and random.random() < 0.8
    where = earlier.conversation if earlier and here else scene.where(by, random.choice(PLACES))
    return [Delivery(Pressed(where, people.person(random, by), control, post), scene.interaction())]


def type_something(scene: Scene, by: int) -> list[Delivery]:
    """Type, in many places at once."""
    where = [scene.where(by, chat) for chat in (*PLACES, 77, -78)]
    return [Delivery(Typing(place, people.person(scene.random, by)), scene.interaction()) for place in where]


def outgrow(scene: Scene, by: int) -> list[Delivery]:
    """Have a number that no platform gives."""
    where = Conversation("memory", scene.random.choice((by, BEYOND, -BEYOND)), private=True)
    author = replace(people.person(scene.random, by), id=scene.random.choice((by, BEYOND)))
    said = Message(f"b{len(scene.platform.replies)}", where, author, texts.said(scene.random), scene.clock.now())
    return [scene.deliver(said)]


def deliver_again(scene: Scene, by: int) -> list[Delivery]:
    """Let the platform deliver something that it had delivered."""
    repeatable = [one for one in scene.past if not isinstance(one.event, Pressed | Typing)]
    return [replace(scene.random.choice(repeatable), again=True)] if repeatable else ask(scene, by)


MOVES: dict[Move, int] = {
    **{ask: 30, reply: 10, send_files: 6, album: 3, command: 12, try_codes: 2, flood: 2, go_on: 5, edit: 10},
    **{delete: 5, press: 10, type_something: 2, outgrow: 1, deliver_again: 6},
}
"""Every move, with how often it is made."""


def draw(scene: Scene) -> tuple[str, list[Delivery]]:
    """The next move, in words, and what of it reaches the bot."""
    (move,) = scene.random.choices(tuple(MOVES), tuple(MOVES.values()))
    by = scene.random.choice((ADA, ADA, ADA, EVE, EVE, MALLORY, ADMIN))
    return f"{people.PLAIN[by]}: {move.__name__}", move(scene, by)
