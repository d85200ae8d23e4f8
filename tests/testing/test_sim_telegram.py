"""The simulated Telegram keeps the rules that a bot meets there; the bot is python-telegram-bot as it is installed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReplyParameters
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, RetryAfter, TimedOut
from telegram.request import HTTPXRequest

from clawdbot.chat import File, Rate
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.telegram import Allowance, Sent, SimTelegram, Verdict
from clawdbot.testing.telegram.files import Files
from clawdbot.testing.telegram.wire import Refusal

ME = 7
FREE = (Rate(10_000, 1.0),)


@pytest.fixture(autouse=True)
def _times_are_timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram(allowance=Allowance(private=FREE, group=FREE)) as running:
        running.say(ME, "hi")
        yield running


@pytest.fixture
async def bot(sim: SimTelegram) -> AsyncIterator[Bot]:
    async with connected(sim) as running:
        yield running


@asynccontextmanager
async def connected(sim: SimTelegram, token: str = "", patience: float = 5.0) -> AsyncIterator[Bot]:
    request = HTTPXRequest(read_timeout=patience)
    async with Bot(token or sim.token, f"{sim.url}/bot", request=request) as running:
        yield running


def data(text: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton("Press", callback_data=text)]])


class TestMessages:
    async def test_a_screen_keeps_every_look_of_a_message(self, sim: SimTelegram, bot: Bot) -> None:
        sent = await bot.send_message(ME, "He", reply_markup=data("stop"))
        await bot.edit_message_text("Hello", ME, sent.message_id)
        (shown,) = sim.answers(ME)
        assert [(look.text, look.buttons) for look in shown.looks] == [("He", ("stop",)), ("Hello", ())]
        assert shown.looks[0].at <= shown.looks[1].at

    async def test_length_counts_utf16_units(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message(ME, "😀" * 2048)
        with pytest.raises(BadRequest, match="Message is too long"):
            await bot.send_message(ME, "😀" * 2048 + "x")

    @pytest.mark.parametrize("text", ["", "  \n "])
    async def test_an_empty_text_is_refused(self, bot: Bot, text: str) -> None:
        with pytest.raises(BadRequest, match="Message text is empty"):
            await bot.send_message(ME, text)

    async def test_an_edit_without_a_change_is_refused(self, bot: Bot) -> None:
        sent = await bot.send_message(ME, "same")
        with pytest.raises(BadRequest, match="Message is not modified"):
            await bot.edit_message_text("same ", ME, sent.message_id)

    async def test_only_the_bots_own_messages_can_be_edited(self, sim: SimTelegram, bot: Bot) -> None:
        with pytest.raises(BadRequest, match="Message can't be edited"):
            await bot.edit_message_text("x", ME, sim.screens[ME][0].id)

    async def test_a_deleted_message_cannot_be_edited(self, sim: SimTelegram, bot: Bot) -> None:
        sent = await bot.send_message(ME, "gone soon")
        await bot.delete_message(ME, sent.message_id)
        with pytest.raises(BadRequest, match="Message to edit not found"):
            await bot.edit_message_text("x", ME, sent.message_id)
        assert sim.answers(ME) == []

    async def test_an_unknown_chat_is_not_found(self, bot: Bot) -> None:
        with pytest.raises(BadRequest, match="Chat not found"):
            await bot.send_message(-5, "hi")

    async def test_a_person_can_block_the_bot(self, sim: SimTelegram, bot: Bot) -> None:
        sim.shut(ME)
        with pytest.raises(Forbidden, match="bot was blocked by the user"):
            await bot.send_message(ME, "hi")

    async def test_an_answer_to_a_lost_message_needs_leave(self, sim: SimTelegram, bot: Bot) -> None:
        with pytest.raises(BadRequest, match="Message to be replied not found"):
            await bot.send_message(ME, "x", reply_parameters=ReplyParameters(99))
        await bot.send_message(ME, "x", reply_parameters=ReplyParameters(99, allow_sending_without_reply=True))
        assert [shown.reply_to for shown in sim.answers(ME)] == [0]

    async def test_topics_are_kept_apart_and_general_has_no_number(self, sim: SimTelegram, bot: Bot) -> None:
        forum = sim.group(-100, forum=True)
        sim.say(forum, "one", user=ME)
        topic = sim.open_topic(forum, ME)
        await bot.send_message(forum, "in the topic", message_thread_id=topic)
        with pytest.raises(BadRequest, match="Message thread not found"):
            await bot.send_message(forum, "in General", message_thread_id=1)
        assert [shown.text for shown in sim.answers(forum, topic)] == ["in the topic"]

    async def test_pictures_and_files_have_captions(self, sim: SimTelegram, bot: Bot) -> None:
        picture = await bot.send_photo(ME, b"png", caption="a chart", filename="chart.png")
        await bot.send_document(ME, b"text", filename="answer.md")
        await bot.edit_message_caption(ME, picture.message_id, caption="the chart")
        assert [(one.look.file, one.text) for one in sim.answers(ME)] == [
            (File("chart.png", b"png"), "the chart"),
            (File("answer.md", b"text"), ""),
        ]


class TestDrafts:
    async def test_one_takes_the_place_of_another_and_a_message_that_of_all(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message_draft(ME, 1, "He")
        assert sim.draft(ME) == "He"
        await bot.send_message_draft(ME, 1, "Hello")
        assert sim.draft(ME) == "Hello"
        assert sim.answers(ME) == []
        await bot.send_message(ME, "Hello.")
        assert sim.draft(ME) is None
        assert [draft.text for draft in sim.drafts(ME)] == ["He", "Hello"]
        assert all(draft.ended_at is not None for draft in sim.drafts(ME))

    async def test_one_is_gone_after_thirty_seconds(self) -> None:
        clock = ManualClock()
        async with SimTelegram(clock=clock) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            await bot.send_message_draft(ME, 1, "He")
            await clock.advance(29.9)
            assert sim.draft(ME) == "He"
            await clock.advance(0.1)
            assert sim.draft(ME) is None

    async def test_there_are_none_in_groups_nor_where_they_are_refused(self, sim: SimTelegram, bot: Bot) -> None:
        sim.refuse_drafts(ME)
        for chat in (sim.group(-100), ME):
            with pytest.raises(BadRequest, match=r"(?i)textdraft_peer_invalid"):
                await bot.send_message_draft(chat, 1, "He")

    async def test_an_older_server_does_not_know_them(self) -> None:
        async with SimTelegram(lacks={"sendMessageDraft"}) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            with pytest.raises(InvalidToken, match="Not Found"):
                await bot.send_message_draft(ME, 1, "He")

    @pytest.mark.parametrize(("kept", "left"), [(True, "He"), (False, None)])
    async def test_the_person_can_stop_one(self, sim: SimTelegram, bot: Bot, kept: bool, left: str | None) -> None:
        await bot.send_message_draft(ME, 5, "He", api_kwargs={"can_stop": True, "keep_on_stop": kept})
        sim.stop_draft(ME)
        update = (await bot.get_updates())[-1]
        assert update.api_kwargs["stopped_message_generation"]["draft_id"] == 5
        assert sim.draft(ME) == left

    async def test_one_without_a_button_cannot_be_stopped(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message_draft(ME, 5, "He")
        with pytest.raises(LookupError):
            sim.stop_draft(ME)

    async def test_they_have_a_budget_of_their_own(self) -> None:
        allowance = Allowance(private=(Rate(1, 60.0),), drafts=(Rate(2, 60.0),))
        async with SimTelegram(allowance=allowance) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            await bot.send_message_draft(ME, 1, "He")
            await bot.send_message_draft(ME, 1, "Hello")
            await bot.send_message(ME, "Hello.")
            with pytest.raises(RetryAfter):
                await bot.send_message_draft(ME, 2, "And")


class TestEntities:
    async def test_offsets_count_utf16_units(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message(ME, "😀 bold", entities=[MessageEntity("bold", 3, 4)])
        assert [(one.type, one.offset, one.length) for one in sim.answers(ME)[0].look.entities] == [("bold", 3, 4)]

    @pytest.mark.parametrize(("offset", "length"), [(0, 8), (-1, 2), (1, 2)])
    async def test_one_that_leaves_the_text_or_cuts_a_sign_is_refused(self, bot: Bot, offset: int, length: int) -> None:
        with pytest.raises(BadRequest, match=r"(?i)entity"):
            await bot.send_message(ME, "😀 bold", entities=[MessageEntity("bold", offset, length)])

    async def test_beyond_a_hundred_they_are_ignored(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message(ME, "x" * 200, entities=[MessageEntity("bold", at, 1) for at in range(0, 200, 2)] * 2)
        assert len(sim.answers(ME)[0].look.entities) == 100

    async def test_a_buttons_data_has_64_bytes(self, bot: Bot) -> None:
        await bot.send_message(ME, "x", reply_markup=data("d" * 64))
        with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
            await bot.send_message(ME, "x", reply_markup=data("ü" * 33))


class TestLimits:
    async def test_sends_edits_and_typing_of_a_chat_share_one_budget(self) -> None:
        async with SimTelegram(allowance=Allowance(private=(Rate(3, 60.0),))) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            sent = await bot.send_message(ME, "one")
            await bot.edit_message_text("two", ME, sent.message_id)
            await bot.send_chat_action(ME, "typing")
            with pytest.raises(RetryAfter) as refused:
                await bot.send_message(ME, "three")
            assert refused.value.retry_after == timedelta(seconds=60)
            sim.say(8, "hi")
            await bot.send_message(8, "another chat has its own")

    async def test_a_wait_is_rounded_up_and_calls_during_it_do_not_extend_it(self) -> None:
        clock = ManualClock()
        allowance = Allowance(private=(Rate(1, 2.5),))
        async with SimTelegram(allowance=allowance, clock=clock) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            await bot.send_message(ME, "one")
            for _ in range(2):
                with pytest.raises(RetryAfter) as refused:
                    await bot.send_message(ME, "too early")
                assert refused.value.retry_after == timedelta(seconds=3)
            await clock.advance(3.0)
            await bot.send_message(ME, "two")
            assert sim.counted(verdict=Verdict.LIMITED) == 2

    async def test_a_penalty_is_the_shortest_wait(self) -> None:
        """However long ago the last call was that counted."""
        clock = ManualClock()
        allowance = Allowance(private=(Rate(1, 1.0),), penalty=280)
        async with SimTelegram(allowance=allowance, clock=clock) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            await bot.send_message(ME, "one")
            for left in (280, 180):
                with pytest.raises(RetryAfter) as refused:
                    await bot.send_message(ME, "two")
                assert refused.value.retry_after == timedelta(seconds=left)
                await clock.advance(100.0)

    async def test_all_chats_together_have_a_limit_too(self) -> None:
        async with SimTelegram(allowance=Allowance(private=FREE, bot=(Rate(2, 60.0),))) as sim, connected(sim) as bot:
            for chat in (1, 2, 3):
                sim.say(chat, "hi")
            await bot.send_message(1, "x")
            await bot.send_message(2, "x")
            with pytest.raises(RetryAfter):
                await bot.send_message(3, "x")

    async def test_a_private_chat_takes_a_burst_and_then_one_a_second(self) -> None:
        clock = ManualClock()
        async with SimTelegram(clock=clock) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            for gap in (0.4, 0.8, *[1.0] * 30):
                await bot.send_message(ME, "x")
                await clock.advance(gap)
            assert sim.counted(verdict=Verdict.LIMITED) == 0
            calls = [bot.send_message(ME, "x") for _ in range(4)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert any(isinstance(result, RetryAfter) for result in results)


class TestUpdates:
    async def test_they_come_again_until_an_offset_confirms_them(self, sim: SimTelegram, bot: Bot) -> None:
        (first,) = await bot.get_updates()
        (again,) = await bot.get_updates()
        assert again.update_id == first.update_id
        assert await bot.get_updates(offset=first.update_id + 1) == ()
        assert sim.unconfirmed == 0

    async def test_a_poll_waits_for_the_next_one(self, sim: SimTelegram, bot: Bot) -> None:
        (first,) = await bot.get_updates()
        poll = asyncio.create_task(bot.get_updates(offset=first.update_id + 1, timeout=30))
        await sim.online()
        sim.say(ME, "more")
        assert [update.message and update.message.text for update in await poll] == ["more"]

    async def test_the_kinds_that_are_wanted_stay_set(self, sim: SimTelegram, bot: Bot) -> None:
        (first,) = await bot.get_updates(allowed_updates=["callback_query"])
        sim.say(ME, "not wanted now")
        assert await bot.get_updates(offset=first.update_id + 1) == ()

    async def test_a_second_poller_ends_the_first(self, sim: SimTelegram, bot: Bot) -> None:
        (first,) = await bot.get_updates()
        offset = first.update_id + 1
        poll = asyncio.create_task(bot.get_updates(offset=offset, timeout=30))
        await sim.online()
        async with connected(sim) as other:
            await other.get_updates(offset=offset)
        with pytest.raises(Conflict):
            await poll

    async def test_waiting_ones_can_be_dropped(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.delete_webhook(drop_pending_updates=True)
        assert await bot.get_updates() == ()

    async def test_a_press_has_to_be_answered_once(self, sim: SimTelegram, bot: Bot) -> None:
        await bot.send_message(ME, "x", reply_markup=data("stop"))
        sim.press(sim.answers(ME)[0], "stop")
        query = (await bot.get_updates())[-1].callback_query
        assert query
        assert (query.data, query.from_user.id, sim.unanswered_presses) == ("stop", ME, 1)
        await bot.answer_callback_query(query.id)
        assert sim.unanswered_presses == 0
        with pytest.raises(BadRequest, match=r"(?i)query is too old"):
            await bot.answer_callback_query(query.id)

    async def test_privacy_mode_lets_commands_and_replies_through(self, sim: SimTelegram, bot: Bot) -> None:
        """A mention alone does not come; a command that names no bot goes to the one that wrote last."""
        group = sim.group(-100)
        sim.say(group, "/early", user=ME)
        await bot.send_message(group, "I am here")
        mine = sim.answers(group)[0]
        for text in ("among people", "@claw_bot hi", "/help", "/help@other_bot", "/new@Claw_Bot"):
            sim.say(group, text, user=ME)
        sim.say(group, "and you?", user=ME, reply_to=mine)
        sim.say(group, "me too", user=9, bot=True)
        sim.say(group, "/help", user=ME)
        texts = [update.message.text for update in (await bot.get_updates())[1:] if update.message]
        assert texts == ["/help", "/new@Claw_Bot", "and you?"]

    async def test_without_privacy_mode_everything_comes(self) -> None:
        async with SimTelegram(privacy=False) as sim, connected(sim) as bot:
            sim.say(sim.group(-100), "@claw_bot hi", user=ME)
            assert len(await bot.get_updates()) == 1
            assert bot.can_read_all_group_messages


class TestFiles:
    async def test_a_path_is_good_for_an_hour(self) -> None:
        clock = ManualClock()
        files = Files(clock)
        number = files.keep(Sent("document", "notes.txt", "text/plain", b"Herons"))
        path = files.path_of(f"file-{number}")["file_path"]
        assert files.read(path) == b"Herons"
        await clock.advance(3601.0)
        with pytest.raises(Refusal):
            files.read(path)

    async def test_a_wrong_id_is_refused(self, bot: Bot) -> None:
        with pytest.raises(BadRequest, match=r"(?i)wrong file_id"):
            await bot.get_file("file-99")

    async def test_a_file_cannot_be_loaded_without_the_token(self, sim: SimTelegram, bot: Bot) -> None:
        (shown,) = sim.send(ME, Sent("document", "notes.txt", "text/plain", b"Herons"))
        file = await bot.get_file(f"file-{shown.look.number}")
        with pytest.raises(InvalidToken):
            await bot.request.retrieve(f"{sim.url}/file/botno-token/{file.file_path}")

    async def test_an_album_is_several_messages_with_one_name(self, sim: SimTelegram, bot: Bot) -> None:
        shown = sim.send(ME, Sent("photo", data=b"1"), Sent("photo", data=b"2"), caption="Birds")
        messages = [update.message for update in await bot.get_updates() if update.message]
        assert len({message.media_group_id for message in messages[1:]}) == len(shown) - 1
        assert [message.caption for message in messages[1:]] == ["Birds", None]


class TestAccess:
    async def test_a_wrong_token_is_unauthorized(self, sim: SimTelegram) -> None:
        with pytest.raises(InvalidToken):
            async with connected(sim, "123456:wrong"):
                pass

    async def test_an_unknown_method_is_not_found(self, bot: Bot) -> None:
        with pytest.raises(InvalidToken, match="Not Found"):
            await bot.get_star_transactions()


class TestFaults:
    @pytest.mark.parametrize(
        ("trouble", "error", "texts"),
        [
            (Trouble.LIMITED, RetryAfter, []),
            (Trouble.ERROR, NetworkError, []),
            (Trouble.BAD_GATEWAY, NetworkError, []),
            (Trouble.RESET_BEFORE, NetworkError, []),
            (Trouble.RESET_AFTER, NetworkError, ["x"]),
            (Trouble.TIMEOUT_AFTER, TimedOut, ["x"]),
            (Trouble.HANG, TimedOut, []),
        ],
    )
    async def test_one_call_goes_wrong_with_or_without_effect(
        self, sim: SimTelegram, trouble: Trouble, error: type[Exception], texts: list[str]
    ) -> None:
        sim.faults.add("sendMessage", Fault(trouble, 280.0))
        async with connected(sim, patience=0.3) as bot:
            with pytest.raises(error):
                await bot.send_message(ME, "x")
            assert [shown.text for shown in sim.answers(ME)] == texts
            await bot.send_message(ME, "y")

    async def test_a_plan_is_asked_for_every_call(self) -> None:
        asked: list[str] = []

        def plan(call: str) -> Fault | None:
            asked.append(call)
            return Fault(Trouble.ERROR) if call == "sendChatAction" else None

        async with SimTelegram(faults=Faults(plan)) as sim, connected(sim) as bot:
            sim.say(ME, "hi")
            with pytest.raises(NetworkError):
                await bot.send_chat_action(ME, "typing")
            assert asked == ["getMe", "sendChatAction"]
            assert sim.faults.injected[Trouble.ERROR] == 1


async def test_half_of_a_round_trip_passes_before_a_call_has_its_effect() -> None:
    async with SimTelegram(rtt=0.2) as sim, connected(sim) as bot:
        sim.say(ME, "hi")
        begun = sim.clock.now()
        await bot.send_message(ME, "x")
        assert sim.answers(ME)[0].at - begun >= 0.1
        assert sim.clock.now() - sim.answers(ME)[0].at >= 0.1
