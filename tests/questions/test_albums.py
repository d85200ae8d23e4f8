"""Several messages that the platform made of one are one question, with one answer."""

from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Edited, Message, State
from clawdbot.questions.albums import QUIET
from clawdbot.questions.documents import with_files
from clawdbot.settings.config import AnswerSettings, Quota, SessionSettings
from clawdbot.testing.engine import Script
from clawdbot.testing.rig import ADA, Rig, question, silent

NewRig = Callable[..., Rig]

BIRDS = {f"{name}.txt": name.encode() for name in ("Heron", "Egret", "Bittern")}


def asked(text: str, *birds: str) -> str:
    return with_files(text, [Attachment(f"{bird}.txt", "", 0, "", bird) for bird in birds])


def send(bot: Rig, *names: str, text: str = "") -> None:
    """An album; the first of its messages has the text."""
    for number, name in enumerate(names):
        said = "" if number else text
        bot.platform.say(said, files={name: BIRDS.get(name, b"\0")}, album="birds", id=f"m-{name}")


def change(bot: Rig, name: str, text: str) -> None:
    """The author changes the caption of the message that brought the file ``name``."""
    reply = bot.platform.replies[f"m-{name}"]
    said = Message(reply.ref, Conversation("memory", 1, private=True), ADA, text, bot.clock.now(), version=text)
    bot.platform.tell(Edited(said), reply)


async def test_an_album_is_one_question(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt", "Bittern.txt", text="Which is tallest?")
        await bot.idle()

    assert [question(each.prompt) for each in bot.requests] == [asked("Which is tallest?", "Heron", "Egret", "Bittern")]
    assert [len(texts) for texts in bot.screens.values()] == [1, 0, 0]


async def test_a_message_that_comes_a_moment_later_belongs_to_it(rig: NewRig) -> None:
    """The next poll may bring it."""
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt")
        await bot.advance(QUIET - 0.1)
        send(bot, "Egret.txt")
        await bot.advance(QUIET - 0.1)
        send(bot, "Bittern.txt")
        await bot.idle()

    assert [question(each.prompt) for each in bot.requests] == [asked("", "Heron", "Egret", "Bittern")]


async def test_what_comes_when_the_answer_is_under_way_is_a_question_of_its_own(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt")
        await bot.advance(QUIET + 1.0)
        send(bot, "Egret.txt")
        await bot.idle()

    assert [question(each.prompt) for each in bot.requests] == [asked("", "Heron"), asked("", "Egret")]


async def test_every_message_of_it_is_stored(rig: NewRig) -> None:
    """Before the platform is told that it was received: a crash loses none of them."""
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt", text="Which is taller?")
        await bot.rest()
        (left,) = await bot.app.store.unfinished()
    async with bot.running():
        await bot.idle()

    assert [file.name for file in left.question.message.files] == ["Heron.txt", "Egret.txt"]
    assert [question(each.prompt) for each in bot.requests] == [asked("Which is taller?", "Heron", "Egret")]


async def test_an_album_that_is_delivered_again_is_answered_once(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt")
        await bot.rest()
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt")
        await bot.idle()

    assert len(bot.requests) == 1


async def test_a_message_that_the_crash_kept_back_is_not_lost(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt")
        await bot.rest()
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt")
        await bot.idle()

    assert [question(each.prompt) for each in bot.requests] == [asked("", "Heron"), asked("", "Egret")]


async def test_an_edit_of_a_message_of_it_asks_the_whole_of_it(rig: NewRig) -> None:
    """Also while others of it are still coming: no word of either is lost."""
    bot = rig()
    async with bot.running():
        send(bot, "Heron.txt", text="Which is taller?")
        await bot.advance(QUIET - 0.2)
        change(bot, "Heron.txt", "Which is tallest?")
        await bot.advance(0.1)
        send(bot, "Egret.txt")
        await bot.idle()
        change(bot, "Egret.txt", "In feet.")
        await bot.idle()

    first, last = (question(bot.requests[number].prompt) for number in (0, -1))
    assert first == asked("Which is tallest?", "Heron", "Egret")
    assert last == asked("Which is tallest?\nIn feet.", "Heron", "Egret")


async def test_a_message_of_it_that_is_removed_takes_its_file_along(rig: NewRig) -> None:
    bot = rig(lambda request: Script(["Tall."], first=5.0))
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt", "Bittern.txt", text="Which is tallest?")
        await bot.advance(QUIET + 1.0)
        bot.platform.delete(bot.platform.replies["m-Egret.txt"])
        await bot.idle()

    assert question(bot.requests[-1].prompt) == asked("Which is tallest?", "Heron", "Bittern")


async def test_an_album_is_refused_once(rig: NewRig) -> None:
    """And none of it is answered, whichever of its files cannot be read."""
    bot = rig()
    async with bot.running():
        send(bot, "song.mp3", "Heron.txt", "clip.mp4", text="What is that?")
        await bot.idle()

    told = words.UNREADABLE.format(names="song.mp3 and clip.mp4", what=words.READABLE)
    assert [texts for texts in bot.screens.values() if texts] == [[told]]
    assert bot.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"sessions": SessionSettings(busy="refuse")},
        {"sessions": SessionSettings(queue=0)},
        {"quota": Quota(messages_per_hour=1)},
    ],
    ids=["busy", "queue", "quota"],
)
async def test_an_album_that_is_not_taken_is_refused_once(rig: NewRig, options: dict[str, object]) -> None:
    bot = rig(silent, **options)
    async with bot.running():
        bot.platform.say("Think")
        await bot.rest()
        send(bot, "Heron.txt", "Egret.txt", "Bittern.txt")
        await bot.advance(QUIET + 1.0)

        assert len([texts for texts in bot.screens.values() if texts and "Bird" not in texts[0]]) <= 2
        assert bot.screens["m-Egret.txt"] == bot.screens["m-Bittern.txt"] == []
        assert len(bot.screens["m-Heron.txt"]) == 1
        assert len(bot.requests) == 1


async def test_an_album_counts_as_one_question(rig: NewRig) -> None:
    bot = rig(sessions=SessionSettings(busy="refuse"), quota=Quota(messages_per_hour=1))
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt")
        await bot.idle()

    assert [question(each.prompt) for each in bot.requests] == [asked("", "Heron", "Egret")]


async def test_more_files_than_allowed_are_counted_together(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(max_files=2))
    async with bot.running():
        send(bot, "Heron.txt", "Egret.txt", "Bittern.txt")
        await bot.idle()

    assert bot.screens["m-Heron.txt"] == [words.TOO_MANY_FILES.format(count=3, limit=2)]
    assert bot.platform.replies["m-Heron.txt"].screen.states == [State.FAILED]


async def test_the_album_of_somebody_else_is_another(rig: NewRig) -> None:
    """Names of albums are a platform's own; in two chats they may be the same."""
    bot = rig()
    async with bot.running():
        bot.platform.say("One", ADA, files={"a.txt": b"Heron"}, album="1", chat=1)
        bot.platform.say("Two", ADA, files={"a.txt": b"Egret"}, album="1", chat=2)
        await bot.idle()

    assert len(bot.requests) == 2
