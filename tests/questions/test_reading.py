"""Files that come with a question: loaded in its own task, kept with it, or refused with a sentence that names them."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from PIL import Image

from clawdbot import words
from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Edited, Message, State
from clawdbot.errors import DeliveryError, Gone, Limited, PicturesRefused, Unreachable, Unsure
from clawdbot.questions import reading
from clawdbot.questions.documents import with_files
from clawdbot.questions.pictures import open_picture
from clawdbot.questions.reading import refused
from clawdbot.settings.config import AnswerSettings, SessionSettings
from clawdbot.testing.engine import CHARACTERS, INFO
from clawdbot.testing.memory import Mishap
from clawdbot.testing.rig import ADA, BOB, Rig, attachment, question, silent, slow, turns
from clawdbot.words import STOPPED_MARK

NewRig = Callable[..., Rig]

SHORT = AnswerSettings(system_prompt="", max_tokens=1192)
"""Leaves 7,000 tokens of the context for a prompt."""


def asked(text: str, **files: str) -> str:
    """What the model is asked by ``text`` with files of text, whose names end in ".txt"."""
    return with_files(text, [Attachment(f"{name}.txt", "", 0, "", said) for name, said in files.items()])


# What is read


async def test_a_file_of_text_is_part_of_the_question(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        await bot.idle()

    assert question(bot.requests[0].prompt) == asked("Which is it?", birds="Herons and egrets.")


async def test_several_files_keep_their_order(rig: NewRig) -> None:
    """Whichever is loaded first."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("", files={"a.txt": b"Heron", "b.txt": b"Egret"})
        answer.inject("fetch", Mishap(delay=3.0))
        await bot.idle()

    assert question(bot.requests[0].prompt) == asked("", a="Heron", b="Egret")


async def test_a_later_question_has_the_file_without_loading_it_again(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        await bot.idle()
        bot.platform.say("And the other?")
        await bot.idle()

    assert turns(bot.requests[1].prompt)[0] == ("user", asked("Which is it?", birds="Herons and egrets."))
    assert len(answer.made("fetch")) == 1


async def test_another_model_reads_the_file_too(rig: NewRig) -> None:
    """Tokens are one tokenizer's; the text is kept as well."""
    bot = rig()
    async with bot.running():
        bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", "another")

    assert [turn.tokens for turn in history] == [None, None]
    assert history[0].text == asked("Which is it?", birds="Herons and egrets.")


async def test_a_restart_in_mid_answer_has_what_was_loaded(rig: NewRig) -> None:
    """The platform may have forgotten the file by then."""
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        await bot.until(lambda: len(bot.requests) == 1)
    answer.contents.clear()
    bot.script = slow
    async with bot.running():
        await bot.idle()

    assert question(bot.requests[1].prompt) == asked("Which is it?", birds="Herons and egrets.")
    assert answer.screen.states == [State.FINAL]


async def test_a_restart_while_a_file_is_loaded_loads_it_again(rig: NewRig) -> None:
    """The question is stored before, so nothing is lost."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        answer.inject("fetch", Mishap(delay=60.0))
        await bot.until(lambda: len(answer.made("fetch")) == 1)
    async with bot.running():
        await bot.idle()

    assert question(bot.requests[0].prompt) == asked("Which is it?", birds="Herons and egrets.")


async def test_an_answer_that_is_written_anew_has_the_file(rig: NewRig) -> None:
    """What it says is kept; a picture is loaded again."""
    bot = seeing(rig)
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets.", "a.png": picture()})
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert len({question(request.prompt) for request in bot.requests}) == 1
    assert [len(request.images) for request in bot.requests] == [1, 1]
    assert len(answer.made("fetch")) == 3


async def test_an_edited_question_keeps_its_file(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Waht is it?", files={"birds.txt": b"Herons and egrets."}, id="m1")
        await bot.idle()
        where = Conversation("memory", 1, private=True)
        bot.platform.tell(Edited(Message("m1", where, ADA, "What is it?", bot.clock.now(), version="2")), answer)
        await bot.idle()

    assert question(bot.requests[-1].prompt) == asked("What is it?", birds="Herons and egrets.")
    assert len(answer.made("fetch")) == 1


# Who waits for it


async def test_a_slow_download_delays_nobody_else(rig: NewRig) -> None:
    bot = rig(sessions=SessionSettings(concurrent=1))
    async with bot.running():
        mine = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        mine.inject("fetch", Mishap(delay=600.0))
        other = bot.platform.say("Hello", BOB, chat=2)
        await bot.advance(5.0)

        assert other.screen.texts == ["You said: Hello"]
        assert mine.screen.texts == [words.LOADING_FILES]


async def test_what_is_asked_next_waits_for_the_file(rig: NewRig) -> None:
    """It is about that file, as likely as not."""
    bot = rig()
    async with bot.running():
        first = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        first.inject("fetch", Mishap(delay=5.0))
        bot.platform.say("And the other?")
        await bot.idle()

    assert [question(request.prompt) for request in bot.requests] == [
        asked("Which is it?", birds="Herons and egrets."),
        "And the other?",
    ]


async def test_loading_can_be_stopped(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        answer.inject("fetch", Mishap(delay=600.0))
        await bot.advance(3.0)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.states == [State.STOPPED]
    assert bot.requests == []


# Trouble on the way


@pytest.mark.parametrize("error", [Unreachable("down"), Unsure("no answer"), Limited(7.0)])
async def test_a_download_that_fails_is_tried_again(rig: NewRig, error: DeliveryError) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        answer.inject("fetch", Mishap(error), Mishap(error))
        await bot.idle()

    assert answer.screen.states == [State.FINAL]
    times = [call.at for call in answer.made("fetch")]
    assert len(times) == 3
    if isinstance(error, Limited):
        assert [later - earlier for earlier, later in pairwise(times)] == [7.0, 7.0]


@pytest.mark.parametrize("errors", [[Gone("deleted")], [Unreachable("down")] * 9, [Limited(300.0)]])
async def test_a_file_that_cannot_be_loaded_is_told(rig: NewRig, errors: list[DeliveryError]) -> None:
    """Nothing is answered as if it had been read."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"birds.txt": b"Herons and egrets."})
        answer.inject("fetch", *map(Mishap, errors))
        await bot.idle()

    assert answer.screen.texts == [words.NOT_LOADED.format(name="birds.txt")]
    assert bot.requests == []


async def test_one_of_two_that_cannot_be_loaded_ends_the_other(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"a.txt": b"Heron", "b.txt": b"Egret"})
        answer.inject("fetch", Mishap(Gone("deleted")), Mishap(delay=600.0))
        await bot.advance(1.0)

        assert answer.screen.texts == [words.NOT_LOADED.format(name="a.txt")]


# What is refused


async def test_what_is_no_text_is_refused_by_name(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("What is that?", files={"data\n.bin": bytes(range(256))})
        await bot.idle()

    assert answer.screen.texts == [words.NO_TEXT.format(name="data .bin")]
    assert answer.screen.states == [State.FAILED]
    assert bot.requests == []


@pytest.mark.parametrize("name", ["song.mp3", "clip.mp4", "report.pdf", "photos.zip"])
async def test_what_cannot_be_text_is_not_even_loaded(rig: NewRig, name: str) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("What is that?", files={name: b"\0"})
        await bot.idle()

    assert answer.screen.texts == [words.UNREADABLE.format(names=name, what=words.READABLE)]
    assert answer.made("fetch") == []


async def test_what_is_neither_text_nor_file_is_told(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("", beside=("a sticker",))
        await bot.idle()

    assert answer.screen.texts == [words.UNREADABLE.format(names="a sticker", what=words.READABLE)]
    assert bot.requests == []


async def test_a_large_file_is_refused_with_its_size(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(max_file_bytes=2_000_000))
    async with bot.running():
        answer = bot.platform.say("", files={"log.txt": b"x" * 2_500_000})
        await bot.idle()

    assert answer.screen.texts == [words.FILE_TOO_LARGE.format(name="log.txt", size="2.5 MB", limit="2.0 MB")]
    assert answer.made("fetch") == []


async def test_many_files_are_refused(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(max_files=2))
    async with bot.running():
        answer = bot.platform.say("", files={f"{number}.txt": b"x" for number in range(3)})
        await bot.idle()

    assert answer.screen.texts == [words.TOO_MANY_FILES.format(count=3, limit=2)]


async def test_documents_that_are_too_long_are_refused_with_the_tokens_of_each(rig: NewRig) -> None:
    """Before any prefill, and without tokenizing all of it in one go: others wait for the tokenizer, too."""
    bot = rig(answers=SHORT)
    async with bot.running():
        files = {"notes.txt": b"x" * 100_000, "log.txt": b"y" * 700}
        answer = bot.platform.say("Which is it?", files=files)
        await bot.idle()
        bot.platform.say("Hello")
        await bot.idle()

    told = words.FILES_TOO_LONG.format(files="notes.txt: 100,000 tokens; log.txt: 700 tokens", limit=7000)
    assert answer.screen.texts == [told]
    assert [question(request.prompt) for request in bot.requests] == ["Hello"]
    assert turns(bot.requests[0].prompt)[0] == ("user", "Hello")


async def test_documents_that_just_do_not_fit_are_refused_the_same_way(rig: NewRig) -> None:
    bot = rig(answers=SHORT)
    async with bot.running():
        answer = bot.platform.say("Which is it?", files={"notes.txt": b"x" * 6_990})
        await bot.idle()

    assert answer.screen.texts[0].startswith("That is too long for me. notes.txt: 6,990 tokens; ")
    assert bot.requests == []


async def test_what_is_too_long_is_not_kept(rig: NewRig) -> None:
    """Megabytes that nobody can ask about would stay for good."""
    bot = rig(answers=SHORT)
    async with bot.running():
        bot.platform.say("Which is it?", files={"notes.txt": b"x" * 100_000}, id="m1")
        await bot.idle()
        left = await bot.app.store.asked("memory", "m1")

    assert left is not None
    assert [(file.name, file.text) for file in left.question.message.files] == [("notes.txt", None)]


async def test_a_refused_file_leaves_nothing_in_the_history(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("What is that?", ADA, files={"data.bin": bytes(64)})
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert history == []


# Pictures


def picture(colour: str = "red") -> bytes:
    out = BytesIO()
    Image.new("RGB", (4, 3), colour).save(out, "PNG")
    return out.getvalue()


def seeing(rig: NewRig, most: int = 4, **options: Any) -> Rig:
    """A bot with a model that takes so many pictures at a time."""
    bot = rig(**options)
    bot.info = replace(INFO, images=most)
    return bot


async def test_a_picture_is_shown_to_a_model_that_sees(rig: NewRig) -> None:
    """Its place is marked in the prompt, in the turn that asks about it."""
    bot = seeing(rig)
    async with bot.running():
        bot.platform.say("What is that?", files={"bird.png": picture()})
        await bot.idle()

    (request,) = bot.requests
    assert [image.getpixel((0, 0)) for image in request.images] == [(255, 0, 0)]
    assert request.prompt.count(-6) == 1
    assert question(request.prompt) == "[image: bird.png]\n\nWhat is that?"


async def test_several_pictures_keep_their_order(rig: NewRig) -> None:
    bot = seeing(rig)
    async with bot.running():
        bot.platform.say("Which?", files={"a.png": picture("red"), "notes.txt": b"Heron", "b.png": picture("blue")})
        await bot.idle()

    assert [image.getpixel((0, 0)) for image in bot.requests[0].images] == [(255, 0, 0), (0, 0, 255)]


async def test_pictures_are_unpacked_one_at_a_time(rig: NewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred kilobytes become half a gigabyte: some of them at a time would end the bot."""
    two = threading.Barrier(2)
    met = []

    def opening(data: bytes) -> Image.Image | None:
        try:
            met.append(two.wait(0.2))
        except threading.BrokenBarrierError:
            two.reset()
        return open_picture(data)

    monkeypatch.setattr(reading, "open_picture", opening)
    bot = seeing(rig)
    async with bot.running():
        for who, chat in ((ADA, 1), (BOB, 2)):
            bot.platform.say("Which?", who, chat=chat, files={"a.png": picture(), "b.png": picture()})
        await bot.idle()

    assert met == []
    assert [len(request.images) for request in bot.requests] == [2, 2]


async def test_a_later_question_has_a_note_instead_of_the_picture(rig: NewRig) -> None:
    """Pictures are kept nowhere; the note says that there was one."""
    bot = seeing(rig)
    async with bot.running():
        answer = bot.platform.say("What is that?", files={"bird.png": picture()})
        await bot.idle()
        bot.platform.say("Is it tall?")
        await bot.idle()

    assert not bot.requests[1].images
    assert -6 not in bot.requests[1].prompt
    assert turns(bot.requests[1].prompt)[0] == ("user", "[image: bird.png]\n\nWhat is that?")
    assert len(answer.made("fetch")) == 1


async def test_pictures_that_do_not_fit_beside_the_history_are_asked_about_without_it(rig: NewRig) -> None:
    """How many tokens they have only the engine knows; what was said before comes back with the next question."""
    bot = seeing(rig, most=10, answers=AnswerSettings(system_prompt="", max_tokens=1192, history_share=1.0))
    async with bot.running():
        bot.platform.say("x" * 3000)
        await bot.idle()
        answer = bot.platform.say("Which?", files={f"{number}.png": picture() for number in range(6)})
        await bot.idle()
        bot.platform.say("Thanks")
        await bot.idle()

    assert answer.screen.states == [State.FINAL]
    assert [role for role, _ in turns(bot.requests[-2].prompt)] == ["user", "assistant"]
    assert turns(bot.requests[-1].prompt)[0] == ("user", "x" * 3000)


async def test_pictures_that_do_not_fit_at_all_are_refused_with_the_numbers(rig: NewRig) -> None:
    bot = seeing(rig, most=20, answers=AnswerSettings(system_prompt="", max_files=20))
    async with bot.running():
        answer = bot.platform.say("Which?", files={f"{number}.png": picture() for number in range(17)})
        await bot.idle()

    assert answer.screen.states == [State.FAILED]
    assert answer.screen.texts[0].startswith("That is too long for me: it has 8,")


async def test_a_restart_loads_the_picture_again(rig: NewRig) -> None:
    bot = seeing(rig, script=silent)
    async with bot.running():
        bot.platform.say("What is that?", files={"bird.png": picture()})
        await bot.until(lambda: len(bot.requests) == 1)
    bot.script = slow
    async with bot.running():
        await bot.idle()

    assert [len(request.images) for request in bot.requests] == [1, 1]


async def test_a_model_that_sees_nothing_says_so(rig: NewRig) -> None:
    """Also when there is text besides: nothing is answered as if the picture had been seen."""
    bot = rig()
    async with bot.running():
        await bot.rest()
        answer = bot.platform.say("What is that?", files={"bird.png": picture()})
        await bot.idle()

    assert answer.screen.texts == [words.NO_PICTURES.format(names="bird.png")]
    assert answer.made("fetch") == []
    assert bot.requests == []


async def test_a_model_that_still_loads_may_turn_out_to_see_nothing(rig: NewRig) -> None:
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("What is that?", files={"bird.png": picture()})
        await bot.advance(3.0)
        assert answer.screen.texts == [words.LOADING]
        bot.loaded.set()
        await bot.idle()

    assert answer.screen.texts == [words.NO_PICTURES.format(names="bird.png")]
    assert bot.requests == []


async def test_more_pictures_than_the_model_takes_are_refused(rig: NewRig) -> None:
    bot = seeing(rig, most=1)
    async with bot.running():
        await bot.rest()
        answer = bot.platform.say("Which?", files={"a.png": picture(), "b.png": picture()})
        await bot.idle()

    assert answer.screen.texts == [words.TOO_MANY_PICTURES.format(count=2, limit=1)]


async def test_a_picture_that_is_damaged_is_refused_by_name(rig: NewRig) -> None:
    bot = seeing(rig)
    async with bot.running():
        answer = bot.platform.say("What is that?", files={"bird.png": picture()[:40]})
        await bot.idle()

    assert answer.screen.texts == [words.NO_PICTURE.format(name="bird.png")]
    assert bot.requests == []


async def test_a_large_picture_is_refused_with_its_size(rig: NewRig) -> None:
    bot = seeing(rig, answers=AnswerSettings(max_image_bytes=200_000))
    async with bot.running():
        await bot.rest()
        answer = bot.platform.say("What is that?", files={"bird.png": bytes(300_000)})
        await bot.idle()

    assert answer.screen.texts == [words.FILE_TOO_LARGE.format(name="bird.png", size="0.3 MB", limit="0.2 MB")]


async def test_what_can_be_read_is_told_as_it_is(rig: NewRig) -> None:
    bot = seeing(rig)
    async with bot.running():
        await bot.rest()
        answer = bot.platform.say("", files={"song.mp3": b""})
        await bot.idle()

    assert answer.screen.texts == [words.UNREADABLE.format(names="song.mp3", what=words.READABLE_WITH_PICTURES)]


async def test_a_refusal_that_is_stopped_is_no_answer(rig: NewRig) -> None:
    """While the store is told that there is nothing of the file; or the model would have said that sentence."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("What is that?", files={"a.txt": b"Hello"})
        del bot.platform.contents["a.txt"]
        answer.inject("fetch", Mishap(delay=0.5))
        await bot.rest()
        with closing(sqlite3.connect(bot.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await bot.clock.advance(0.5)
            bot.app.sessions.tickets[0].stop()
            await bot.clock.settle()
            other.execute("ROLLBACK")
        await bot.idle()

        assert await bot.app.store.history("memory:1:0", CHARACTERS) == []
    assert answer.screen.texts == [STOPPED_MARK]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (None, words.PICTURES_REFUSED.format(names="a.png and b.png")),
        (0, words.NO_PICTURES.format(names="a.png and b.png")),
        (1, words.TOO_MANY_PICTURES.format(count=2, limit=1)),
    ],
)
def test_what_only_the_engine_can_refuse_is_told_by_name(limit: int | None, said: str) -> None:
    """Servers elsewhere say how many pictures they take when there are too many."""
    files = (attachment("a.png", b""), attachment("notes.txt", b""), attachment("b.png", b""))
    message = Message("1", Conversation("memory", 1), ADA, "Which?", 0.0, files=files)

    assert refused(message, PicturesRefused("400: no", limit)) == said
