"""Files and all else that people send on Discord, through the real library."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clawdbot.attached import Attachment
from clawdbot.chat import Frame, Reply, State
from clawdbot.errors import Forbidden, Gone, Limited, Unreachable, Unsure
from clawdbot.testing.contract import Ears
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter
from clawdbot_discord.reply import ChannelReply

from .discord_bot import settings_for

NOTES = b"Herons are birds."
MOST = 1_000_000
VOICE: dict[str, Any] = {
    "flags": 1 << 13,
    "attachments": [
        {
            "id": "1",
            "filename": "voice-message.ogg",
            "size": 9,
            "url": "https://cdn.discordapp.com/attachments/1/1/voice-message.ogg",
            "proxy_url": "",
            "content_type": "audio/ogg",
            "duration_secs": 2.0,
            "waveform": "AAAA",
        }
    ],
}


@pytest.fixture
async def sim() -> AsyncIterator[SimDiscord]:
    async with SimDiscord() as running:
        yield running


@asynccontextmanager
async def serving(sim: SimDiscord, **options: object) -> AsyncIterator[tuple[Ears, DiscordAdapter]]:
    adapter, ears = DiscordAdapter(settings_for(sim, **options)), Ears()
    task = asyncio.create_task(adapter.run(ears.receive))
    try:
        await sim.online()
        yield ears, adapter
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def loaded(reply: Reply, file: Attachment) -> bytes:
    assert isinstance(reply, ChannelReply)
    return await reply.fetch(file, MOST)


async def file_of(sim: SimDiscord, ears: Ears) -> tuple[Reply, Attachment]:
    sim.say(sim.channel, "What is it about?", files={"notes.txt": NOTES})
    message, reply = await ears.question()
    return reply, message.files[0]


class TestEvents:
    async def test_several_files_of_one_message(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            sim.say(sim.channel, "Which?", files={"notes.txt": NOTES, "bird.png": b"a picture", "odd": b"?"})
            message, reply = await ears.question()

            assert message.text == "Which?"
            assert [(file.name, file.media, file.size, file.is_picture) for file in message.files] == [
                ("notes.txt", "text/plain; charset=utf-8", 17, False),
                ("bird.png", "image/png", 9, True),
                ("odd", "", 1, False),
            ]
            assert [await loaded(reply, file) for file in message.files] == [NOTES, b"a picture", b"?"]

    async def test_a_file_without_text_in_private(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            sim.say(sim.private(), "", files={"notes.txt": NOTES})
            message, _reply = await ears.question()

            assert (message.text, message.files[0].name) == ("", "notes.txt")

    async def test_a_reply_to_a_file_is_about_that_file(self, sim: SimDiscord) -> None:
        """Whoever sent it did not turn to the bot."""
        async with serving(sim) as (ears, _):
            ben = sim.add_user("ben")
            notes = sim.say(sim.channel, "", user=ben, mention_bot=False, files={"notes.txt": NOTES, "song.mp3": b"?"})
            sim.say(sim.channel, "What is it about?", reply_to=notes)
            message, reply = await ears.question()

            assert [file.name for file in message.files] == ["notes.txt"]
            assert await loaded(reply, message.files[0]) == NOTES

    async def test_in_private_a_file_is_in_the_history_anyway(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            notes = sim.say(sim.private(), "", files={"notes.txt": NOTES})
            sim.say(sim.private(), "And what else?", reply_to=notes)
            message, _reply = await ears.question(1)

            assert message.files == ()

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]}, ("a sticker",)),
            (
                {
                    "poll": {
                        "question": {"text": "Heron?"},
                        "answers": [{"answer_id": 1, "poll_media": {"text": "Yes"}}],
                        "expiry": "2030-01-01T00:00:00+00:00",
                        "allow_multiselect": False,
                        "layout_type": 1,
                    }
                },
                ("a poll",),
            ),
        ],
        ids=["sticker", "poll"],
    )
    async def test_what_is_no_file_is_told_in_words(
        self, sim: SimDiscord, more: dict[str, Any], words: tuple[str, ...]
    ) -> None:
        async with serving(sim) as (ears, _):
            sim.say(sim.private(), "", more=more)
            message, _reply = await ears.question()

            assert message.beside == words

    async def test_a_voice_message_is_called_one(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            sim.say(sim.private(), "", more=VOICE)
            message, _reply = await ears.question()

            assert [(file.name, file.media) for file in message.files] == [("a voice message", "audio/ogg")]

    async def test_a_forwarded_message_says_what_it_said(self, sim: SimDiscord) -> None:
        """It has no text of its own."""
        forwarded: dict[str, Any] = {
            "content": "Herons are birds.",
            "timestamp": "2026-01-01T00:00:00+00:00",
            "edited_timestamp": None,
            "embeds": [],
            "attachments": [],
            "mentions": [],
            "mention_roles": [],
            "flags": 0,
            "type": 0,
            "components": [],
            "sticker_items": [],
        }
        async with serving(sim) as (ears, _):
            sim.say(sim.private(), "", more={"message_snapshots": [{"message": forwarded}]})
            message, _reply = await ears.question()

            assert message.text == "Herons are birds."


class TestLoading:
    async def test_an_address_that_has_expired_is_looked_up_again(self, sim: SimDiscord) -> None:
        """After a restart, a day later, by a reply that came back by its ref."""
        sim.cdn.life = -1.0
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
        sim.cdn.life = 60.0
        async with serving(sim) as (_, adapter):
            assert await adapter.reply(reply.ref).fetch(file, MOST) == NOTES

        assert [call.status for call in sim.calls_of("GET file")] == [404, 200]

    async def test_a_file_that_was_deleted_is_gone(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
            sim.delete_question(sim.channel.screen[0])
            with pytest.raises(Gone):
                await loaded(reply, file)

    @pytest.mark.parametrize(
        ("trouble", "error"),
        [
            (Trouble.BAD_GATEWAY, Unreachable),
            (Trouble.ERROR, Unreachable),
            (Trouble.LIMITED, Limited),
        ],
    )
    async def test_what_goes_wrong_is_told_and_the_next_try_works(
        self, sim: SimDiscord, trouble: Trouble, error: type[Exception]
    ) -> None:
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
            sim.faults.add("GET file", Fault(trouble, 7.0))
            with pytest.raises(error):
                await loaded(reply, file)

            assert await loaded(reply, file) == NOTES

    async def test_a_download_that_hangs_is_given_up(self, sim: SimDiscord) -> None:
        async with serving(sim, download_timeout=0.2) as (ears, _):
            reply, file = await file_of(sim, ears)
            sim.faults.add("GET file", Fault(Trouble.HANG, 1.0))
            with pytest.raises(Unsure):
                await loaded(reply, file)

    async def test_answers_go_on_where_a_file_is_refused(self, sim: SimDiscord) -> None:
        """What the files' server says is said of the file alone."""
        sim.cdn.life = -1.0
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
            with pytest.raises(Gone):
                await loaded(reply, file)
            await reply.typing()

        assert [call.status for call in sim.calls_of("POST typing")] == [204]

    async def test_who_may_not_read_earlier_messages_may_still_answer(self, sim: SimDiscord) -> None:
        """A file cannot be looked up without that permission: it says nothing about writing."""
        sim.cdn.life = -1.0
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
            sim.channel.history_hidden = True
            with pytest.raises(Forbidden):
                await loaded(reply, file)
            with pytest.raises(Unreachable):  # the first try points at the question, which is not allowed there either
                await reply.send(Frame("I could not load it.", State.FAILED), "part-0")
            await reply.send(Frame("I could not load it.", State.FAILED), "part-0")

        assert [post.text for post in sim.answers(sim.channel)] == ["I could not load it."]

    async def test_where_the_bot_may_not_write_it_may_still_read(self, sim: SimDiscord) -> None:
        async with serving(sim) as (ears, _):
            reply, file = await file_of(sim, ears)
            sim.channel.closed = 50013
            with pytest.raises(Forbidden):
                await reply.typing()

            assert await loaded(reply, file) == NOTES
