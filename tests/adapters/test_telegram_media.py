"""Files, albums and all else that people send on Telegram, through the real library."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from clawdbot.attached import Attachment
from clawdbot.chat import Edited, Message, Reply
from clawdbot.errors import Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.contract import Ears
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import Sent, SimTelegram
from clawdbot_telegram import TelegramAdapter, TelegramSettings
from clawdbot_telegram.media import ALBUMS, Albums
from clawdbot_telegram.reply import TelegramReply

ME, GROUP = 7, -100
MOST = 1_000_000
NOTES = Sent("document", "notes.txt", "text/plain", b"Herons are birds.")
PHOTO = Sent("photo", data=b"a picture")


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram(privacy=False) as running:
        running.group(GROUP)
        yield running


@asynccontextmanager
async def serving(sim: SimTelegram, **options: float) -> AsyncIterator[Ears]:
    settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url).model_copy(update=options)
    ears = Ears()
    task = asyncio.create_task(TelegramAdapter(settings).run(ears.receive))
    try:
        await sim.online()
        yield ears
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def loaded(reply: Reply, file: Attachment) -> bytes:
    assert isinstance(reply, TelegramReply)
    return await reply.fetch(file, MOST)


async def file_of(sim: SimTelegram, ears: Ears, sent: Sent = NOTES) -> tuple[Reply, Attachment]:
    """Somebody sends a file; what the bot is told of it."""
    sim.send(ME, sent)
    message, reply = await ears.question()
    return reply, message.files[0]


class TestEvents:
    async def test_a_document_with_a_caption(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            sim.send(ME, NOTES, caption="What is it about?")
            message, reply = await ears.question()

            assert message.text == "What is it about?"
            (file,) = message.files
            assert (file.name, file.media, file.size) == ("notes.txt", "text/plain", 17)
            assert await loaded(reply, file) == NOTES.data

    async def test_a_file_without_a_caption_is_a_question(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            sim.send(ME, NOTES)
            message, _ = await ears.question()

            assert (message.text, len(message.files)) == ("", 1)

    async def test_the_largest_size_of_a_photo_counts(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            reply, file = await file_of(sim, ears, PHOTO)

            assert (file.media, file.is_picture) == ("image/jpeg", True)
            assert await loaded(reply, file) == PHOTO.data

    @pytest.mark.parametrize(
        ("sent", "name", "media"),
        [
            (Sent("voice"), "a voice message", "audio/ogg"),
            (Sent("video_note"), "a video message", "video/mp4"),
            (Sent("audio", "song.mp3", "audio/mpeg"), "song.mp3", "audio/mpeg"),
            (Sent("video", "clip.mov", "video/quicktime"), "clip.mov", "video/quicktime"),
            (Sent("animation", "cat.mp4", "video/mp4"), "cat.mp4", "video/mp4"),
            (Sent("document", "unknown"), "unknown", ""),
        ],
    )
    async def test_other_files_are_told_by_name_and_type(
        self, sim: SimTelegram, sent: Sent, name: str, media: str
    ) -> None:
        async with serving(sim) as ears:
            _, file = await file_of(sim, ears, sent)

            assert (file.name, file.media) == (name, media)

    @pytest.mark.parametrize(
        ("sent", "word"),
        [
            (Sent("sticker"), "a sticker"),
            (Sent("location", about={"latitude": 1.0, "longitude": 2.0}), "a location"),
            (Sent("contact", about={"phone_number": "1", "first_name": "Ada"}), "a contact"),
            (Sent("dice", about={"emoji": "🎲", "value": 6}), "a die"),
            (Sent("story", about={"id": 1, "chat": {"id": 7, "type": "private"}}), "a story"),
        ],
    )
    async def test_what_is_no_file_is_told_in_words(self, sim: SimTelegram, sent: Sent, word: str) -> None:
        async with serving(sim) as ears:
            sim.send(ME, sent)
            message, _ = await ears.question()

            assert (message.text, message.files, message.beside) == ("", (), (word,))

    async def test_a_poll_is_told_in_words(self, sim: SimTelegram) -> None:
        poll = {
            "id": "1",
            "question": "Heron?",
            "options": [{"text": "Yes", "voter_count": 0, "persistent_id": "1"}],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": True,
            "members_only": False,
        }
        async with serving(sim) as ears:
            sim.send(ME, Sent("poll", about=poll))
            message, _ = await ears.question()

            assert message.beside == ("a poll",)

    async def test_an_edited_caption_has_its_file(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            (shown,) = sim.send(ME, NOTES, caption="Waht?")
            await ears.count(1)
            sim.edit_question(shown, "What?")
            await ears.count(2)
            event, _ = ears.heard[1]

            assert isinstance(event, Edited)
            assert (event.message.text, event.message.files[0].name) == ("What?", "notes.txt")


class TestGroups:
    async def test_a_file_is_for_the_bot_when_its_caption_or_its_reply_says_so(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            sim.send(GROUP, NOTES, caption="Among us", user=ME)
            sim.send(GROUP, Sent("sticker"), user=ME)
            sim.send(GROUP, NOTES, caption="@claw_bot what is it about?", user=ME)
            message, _ = await ears.question()

            assert message.text == "what is it about?"
            assert len(ears.heard) == 1

    async def test_a_reply_to_a_file_is_about_that_file(self, sim: SimTelegram) -> None:
        """Whoever sent it did not turn to the bot; a recording is left alone, since it may not be what is meant."""
        async with serving(sim) as ears:
            (notes,) = sim.send(GROUP, NOTES, user=8)
            (voice,) = sim.send(GROUP, Sent("voice"), user=8)
            sim.say(GROUP, "@claw_bot what is it about?", user=ME, reply_to=notes)
            sim.say(GROUP, "@claw_bot what do you think?", user=ME, reply_to=voice)
            await ears.count(2)
            (first, reply), (second, _) = ears.heard
            assert isinstance(first, Message)
            assert isinstance(second, Message)

            assert await loaded(reply, first.files[0]) == NOTES.data
            assert second.files == ()

    async def test_in_private_a_file_is_in_the_history_anyway(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            (notes,) = sim.send(ME, NOTES)
            sim.say(ME, "And what else?", reply_to=notes)
            await ears.count(2)
            message, _ = ears.heard[1]

            assert isinstance(message, Message)
            assert message.files == ()

    async def test_an_album_is_for_the_bot_when_one_of_it_is(self, sim: SimTelegram) -> None:
        """Only the one with the caption can name it."""
        async with serving(sim) as ears:
            sim.send(GROUP, NOTES, NOTES, caption="Among us", user=ME)
            sim.send(GROUP, NOTES, PHOTO, NOTES, caption="@claw_bot what is that?", user=ME)
            await ears.count(3)
            messages = [event for event, _ in ears.heard if isinstance(event, Message)]

            assert [message.text for message in messages] == ["what is that?", "", ""]
            assert len({message.album for message in messages}) == 1
            assert messages[0].album

    def test_only_so_many_albums_are_remembered(self) -> None:
        albums = Albums()
        for number in range(ALBUMS + 1):
            albums.add(str(number))

        assert "0" not in albums
        assert "1" in albums


class TestLoading:
    async def test_a_reply_that_comes_back_by_its_ref_can_load(self, sim: SimTelegram) -> None:
        """After a restart."""
        async with serving(sim) as ears:
            reply, file = await file_of(sim, ears)
            ref = reply.ref
        settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url)
        adapter = TelegramAdapter(settings)
        task = asyncio.create_task(adapter.run(Ears().receive))
        await sim.online()

        assert await adapter.reply(ref).fetch(file, MOST) == NOTES.data
        task.cancel()
        await asyncio.wait((task,))

    @pytest.mark.parametrize("call", ["getFile", "download"])
    @pytest.mark.parametrize(
        ("trouble", "error"),
        [(Trouble.BAD_GATEWAY, Unreachable), (Trouble.RESET_BEFORE, Unsure), (Trouble.LIMITED, Limited)],
    )
    async def test_what_goes_wrong_is_told_and_the_next_try_works(
        self, sim: SimTelegram, call: str, trouble: Trouble, error: type[Exception]
    ) -> None:
        async with serving(sim) as ears:
            reply, file = await file_of(sim, ears)
            sim.faults.add(call, Fault(trouble, 7.0))
            with pytest.raises(error):
                await loaded(reply, file)

            assert await loaded(reply, file) == NOTES.data

    async def test_a_download_that_hangs_is_given_up(self, sim: SimTelegram) -> None:
        async with serving(sim, download_timeout=0.2) as ears:
            reply, file = await file_of(sim, ears)
            sim.faults.add("download", Fault(Trouble.HANG, 30.0))
            with pytest.raises(Unsure):
                await loaded(reply, file)

    async def test_a_file_that_is_there_no_more_is_refused_for_good(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            reply, file = await file_of(sim, ears)
            sim.lose_files()
            with pytest.raises((Gone, Rejected)):
                await loaded(reply, file)

    async def test_telegram_gives_no_large_file(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            reply, file = await file_of(sim, ears, Sent("document", "large.txt", "", bytes(20_000_001)))
            with pytest.raises(Rejected, match="too big"):
                await loaded(reply, file)
