"""The Telegram adapter, with python-telegram-bot as it is installed, on a simulated Telegram over real HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from pydantic import SecretStr
from telegram import Bot, MessageEntity

from clawdbot.chat import Edited, Event, File, Frame, Message, Pressed, Rate, Reply, State
from clawdbot.errors import (
    AdapterError,
    Forbidden,
    Gone,
    Limited,
    Rejected,
    Unauthorized,
    Unreachable,
    Unsure,
)
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import Allowance, SimTelegram, Verdict
from clawdbot_telegram import TelegramAdapter, TelegramSettings
from clawdbot_telegram.calls import Calls
from clawdbot_telegram.place import Place
from clawdbot_telegram.render import Drawn

ME = 7
GROUP = -100


class Desk:
    """Takes what an adapter hands over; with ``durable`` closed nothing counts as stored."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[tuple[Event, Reply]] = asyncio.Queue()
        self.durable = asyncio.Event()
        self.durable.set()

    async def receive(self, event: Event, reply: Reply) -> None:
        self.arrived.put_nowait((event, reply))
        await self.durable.wait()

    async def next(self) -> tuple[Event, Reply]:
        async with asyncio.timeout(10):
            return await self.arrived.get()

    async def question(self) -> tuple[Message, Reply]:
        event, reply = await self.next()
        assert isinstance(event, Message)
        return event, reply


class Running:
    """A serving adapter with the simulated Telegram and the desk that it serves."""

    def __init__(self, sim: SimTelegram, adapter: TelegramAdapter, desk: Desk) -> None:
        self.sim = sim
        self.adapter = adapter
        self.desk = desk

    async def asked(self, text: str = "hi") -> Reply:
        """Where the answer to a private question goes."""
        self.sim.say(ME, text)
        _, reply = await self.desk.question()
        return reply


@asynccontextmanager
async def serving(sim: SimTelegram, desk: Desk | None = None, **options: object) -> AsyncIterator[Running]:
    settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url).model_copy(update=options)
    adapter = TelegramAdapter(settings)
    desk = desk or Desk()
    serving = asyncio.create_task(adapter.run(desk.receive))
    try:
        await sim.online()
        yield Running(sim, adapter, desk)
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    free = (Rate(1000, 1.0),)
    async with SimTelegram(allowance=Allowance(private=free, group=free)) as running:
        yield running


@pytest.fixture
async def bot(sim: SimTelegram) -> AsyncIterator[Running]:
    async with serving(sim) as running:
        yield running


def frame(text: str, state: State = State.STREAMING, *files: File, last: bool = True) -> Frame:
    return Frame(text, state, files, last=last)


class TestQuestions:
    async def test_a_private_message_arrives_with_its_person_and_times(self, bot: Running) -> None:
        before = bot.sim.clock.now()
        shown = bot.sim.say(ME, "What is new?")
        message, _ = await bot.desk.question()
        assert (message.id, message.text, message.author.id) == (f"{ME}:{shown.id}", "What is new?", ME)
        assert message.conversation.key == "telegram:7:0"
        assert message.conversation.private
        assert before <= message.received_at <= bot.sim.clock.now()
        assert message.sent_at == shown.date

    async def test_in_a_group_a_mention_is_taken_out(self, bot: Running) -> None:
        bot.sim.group(GROUP)
        bot.sim.say(GROUP, "😀 @Claw_Bot what is new?", user=ME)
        message, _ = await bot.desk.question()
        assert message.text == "😀  what is new?"
        assert not message.conversation.private

    async def test_in_a_group_only_what_is_addressed_to_the_bot_arrives(self) -> None:
        async with SimTelegram(privacy=False) as sim, serving(sim) as bot:
            sim.group(GROUP)
            mine = await bot.adapter.reply(f"{GROUP}/0/0").send(frame("here", State.FINAL), "k")
            sim.say(GROUP, "among people", user=ME)
            sim.say(GROUP, "@other_bot hi", user=ME)
            sim.say(GROUP, "/help@other_bot", user=ME)
            sim.say(GROUP, "@claw_bot from a bot", user=9, bot=True)
            sim.say(GROUP, "and you?", user=ME, reply_to=sim.answers(GROUP)[0])
            message, _ = await bot.desk.question()
            assert (message.text, mine.ref) == ("and you?", "1")

    @pytest.mark.parametrize(
        ("written", "text"),
        [
            ("/latency@claw_bot 24h", "/latency 24h"),
            ("/new", "/new"),
            ("/start", "/help"),
        ],
    )
    async def test_commands_lose_the_bots_name(self, bot: Running, written: str, text: str) -> None:
        bot.sim.group(GROUP)
        bot.sim.say(GROUP, written, user=ME)
        message, _ = await bot.desk.question()
        assert message.text == text

    async def test_an_edited_question_arrives_as_edited(self, bot: Running) -> None:
        shown = bot.sim.say(ME, "Waht?")
        await bot.desk.question()
        bot.sim.edit_question(shown, "What?")
        event, _ = await bot.desk.next()
        assert isinstance(event, Edited)
        assert (event.message.id, event.message.text) == (f"{ME}:{shown.id}", "What?")

    async def test_one_that_is_not_durable_comes_again_after_a_crash(self, sim: SimTelegram) -> None:
        """The next poll confirms to Telegram, so it must not happen before the question is stored."""
        desk = Desk()
        desk.durable.clear()
        async with serving(sim, desk):
            sim.say(ME, "important")
            await desk.question()
            assert sim.unconfirmed == 1
            desk.durable.set()
            await sim.until(lambda: sim.unconfirmed == 0)

    async def test_a_batch_does_not_wait_for_its_first_question(self, sim: SimTelegram) -> None:
        desk = Desk()
        desk.durable.clear()
        async with serving(sim, desk):
            sim.say(ME, "one")
            sim.say(8, "two")
            texts = [(await desk.question())[0].text for _ in range(2)]
            assert (texts, sim.unconfirmed) == (["one", "two"], 2)
            desk.durable.set()


class TestAnswers:
    async def test_a_growing_message_carries_stop_until_it_is_final(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("He"), "k")
        await post.edit(frame("Hello"))
        await post.edit(frame("Hello.", State.FINAL))
        (shown,) = bot.sim.answers(ME)
        assert [(look.text, look.buttons) for look in shown.looks] == [
            ("He", ("stop",)),
            ("Hello", ("stop",)),
            ("Hello.", ()),
        ]

    async def test_only_the_last_part_carries_stop(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("part one"), "k1")
        await post.edit(frame("part one", last=False))
        await reply.send(frame("part two"), "k2")
        assert [shown.look.buttons for shown in bot.sim.answers(ME)] == [(), ("stop",)]

    async def test_pressing_stop_arrives_and_is_acknowledged_at_once(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("He"), "k")
        bot.sim.press(bot.sim.answers(ME)[0], "stop")
        event, _ = await bot.desk.next()
        assert isinstance(event, Pressed)
        assert (event.control, event.post, event.by.id) == ("stop", post.ref, ME)
        assert event.conversation.key == "telegram:7:0"
        await bot.sim.until(lambda: bot.sim.unanswered_presses == 0)

    async def test_markdown_becomes_entities_and_previews_are_off(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("# Head\n**bold** and `code`"), "k")
        await post.edit(frame("# Head\n**bold** and `code` [x](https://example.org)"))
        (shown,) = bot.sim.answers(ME)
        assert shown.text == "Head\nbold and code x"
        assert {entity.type for entity in shown.look.entities} == {"bold", "underline", "code", "text_link"}
        made = [call for call in bot.sim.calls if call.method in ("sendMessage", "editMessageText")]
        assert all('"is_disabled": true' in call.fields["link_preview_options"] for call in made)

    async def test_a_text_that_is_there_already_is_success(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("same"), "k")
        await post.edit(frame("same"))
        assert bot.sim.counted("editMessageText", Verdict.REFUSED) == 1

    @pytest.mark.parametrize("text", ["```", "> ", "", "\n"])
    async def test_a_text_that_shows_nothing_is_not_sent(self, bot: Running, text: str) -> None:
        reply = await bot.asked()
        with pytest.raises(Rejected):
            await reply.send(frame(text), "k")
        assert bot.sim.counted("sendMessage") == 0

    async def test_refused_entities_fall_back_to_plain_text_once(self, sim: SimTelegram) -> None:
        sim.say(ME, "hi")
        broken = Drawn("bold", (MessageEntity("bold", 0, 99),))
        async with Bot(sim.token, f"{sim.url}/bot") as bot:
            calls = Calls(Place(ME), lambda: bot)
            message = await calls.send_text(broken, stop=False)
            await calls.edit_text(message, replace(broken, text="bolder"), stop=False)
        (shown,) = sim.answers(ME)
        assert [(look.text, look.entities) for look in shown.looks] == [("bold", ()), ("bolder", ())]
        assert sim.counted("sendMessage") == 2

    async def test_an_answer_goes_to_the_topic_and_message_of_its_question(self, bot: Running) -> None:
        bot.sim.group(GROUP, forum=True)
        topic = bot.sim.open_topic(GROUP, ME)
        asked = bot.sim.say(GROUP, "@claw_bot hi", user=ME, topic=topic)
        message, reply = await bot.desk.question()
        await reply.typing()
        await reply.send(frame("hello"), "k")
        (shown,) = bot.sim.answers(GROUP)
        assert (shown.topic, shown.reply_to) == (topic, asked.id)
        assert message.conversation.topic == topic

    async def test_in_general_no_topic_is_named(self, bot: Running) -> None:
        bot.sim.group(GROUP, forum=True)
        bot.sim.say(GROUP, "@claw_bot hi", user=ME)
        _, reply = await bot.desk.question()
        await reply.typing()
        await reply.send(frame("hello"), "k")
        assert not any("message_thread_id" in call.fields for call in bot.sim.calls)

    async def test_an_answer_survives_the_deletion_of_its_question_in_a_group(self, bot: Running) -> None:
        bot.sim.group(GROUP)
        asked = bot.sim.say(GROUP, "@claw_bot hi", user=ME)
        _, reply = await bot.desk.question()
        bot.sim.delete_question(asked)
        await reply.send(frame("hello"), "k")
        assert [shown.text for shown in bot.sim.answers(GROUP)] == ["hello"]

    async def test_a_stored_reply_goes_on_after_a_restart(self, sim: SimTelegram) -> None:
        async with serving(sim) as bot:
            reply = await bot.asked()
            post = await reply.send(frame("He"), "k")
        async with serving(sim) as bot:
            await bot.adapter.reply(reply.ref).post(post.ref).edit(frame("Hello", State.INTERRUPTED))
        assert [shown.text for shown in sim.answers(ME)] == ["Hello"]

    async def test_the_menu_offers_the_commands(self, bot: Running) -> None:
        names = ["new", "stop", "latency", "help"]
        await bot.sim.until(lambda: len(bot.sim.menus) == 2)
        assert bot.sim.menus == {"all_private_chats": names, "all_group_chats": names}


class TestFiles:
    PICTURE = File("latency.png", b"png")
    TEXT = File("answer.md", b"text")

    async def test_a_picture_carries_a_short_text_as_its_caption(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("**The chart**", State.FINAL, self.PICTURE), "k")
        await post.edit(frame("The table", State.FINAL, self.PICTURE))
        (shown,) = bot.sim.answers(ME)
        assert (shown.text, shown.look.file) == ("The table", self.PICTURE)

    async def test_a_long_text_and_a_picture_are_two_messages(self, bot: Running) -> None:
        reply = await bot.asked()
        await reply.send(frame("x" * 1025, State.FINAL, self.PICTURE), "k")
        assert [(len(one.text), one.look.file) for one in bot.sim.answers(ME)] == [(1025, None), (0, self.PICTURE)]

    async def test_another_try_sends_only_the_file_that_is_missing(self, bot: Running) -> None:
        reply = await bot.asked()
        bot.sim.faults.add("sendDocument", Fault(Trouble.ERROR))
        answer = frame("The rest is in the file.", State.FINAL, self.TEXT)
        with pytest.raises(Unreachable):
            await reply.send(answer, "k")
        await reply.send(answer, "k")
        assert [one.look.file for one in bot.sim.answers(ME)] == [None, self.TEXT]

    async def test_an_edit_adds_a_file_once(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("The"), "k")
        for _ in range(2):
            await post.edit(frame("The end", State.FINAL, self.TEXT))
        assert [one.look.file for one in bot.sim.answers(ME)] == [None, self.TEXT]


class TestLimitsOfAPlace:
    async def test_sends_edits_and_typing_of_a_chat_share_a_bucket(self, bot: Running) -> None:
        limits = (await bot.asked()).limits
        assert limits.sends == limits.edits == limits.typing
        assert limits.sends.key == "telegram:7"
        assert limits.bot.key == "telegram"

    async def test_a_group_is_slower_than_a_private_chat(self, bot: Running) -> None:
        private, group = (bot.adapter.reply(f"{chat}/0/0").limits for chat in (ME, GROUP))
        assert (private.pace.by_age[0], group.pace.by_age[0]) == ((0, 1.0), (0, 3.5))
        assert [(rate.calls, round(rate.seconds)) for rate in group.sends.rates] == [(3, 1), (20, 61)]


class TestTrouble:
    @pytest.mark.parametrize(
        ("trouble", "error"),
        [
            (Trouble.ERROR, Unreachable),
            (Trouble.BAD_GATEWAY, Unreachable),
            (Trouble.RESET_BEFORE, Unsure),
            (Trouble.RESET_AFTER, Unsure),
            (Trouble.TIMEOUT_AFTER, Unsure),
            (Trouble.HANG, Unsure),
        ],
    )
    async def test_what_a_failed_call_may_have_done(
        self, sim: SimTelegram, trouble: Trouble, error: type[Exception]
    ) -> None:
        async with serving(sim, call_timeout=0.3) as bot:
            reply = await bot.asked()
            sim.faults.add("sendMessage", Fault(trouble))
            with pytest.raises(error):
                await reply.send(frame("x"), "k")

    @pytest.mark.parametrize("timedelta", ["true", "false"])
    @pytest.mark.filterwarnings("ignore:.*PTB_TIMEDELTA")
    async def test_a_refusals_wait_is_used_as_given(
        self, bot: Running, monkeypatch: pytest.MonkeyPatch, timedelta: str
    ) -> None:
        monkeypatch.setenv("PTB_TIMEDELTA", timedelta)
        reply = await bot.asked()
        bot.sim.faults.add("sendChatAction", Fault(Trouble.LIMITED, 14_000))
        with pytest.raises(Limited) as refused:
            await reply.typing()
        assert refused.value.retry_after == 14_000

    async def test_a_blocked_bot_is_forbidden_to_write(self, bot: Running) -> None:
        reply = await bot.asked()
        bot.sim.shut(ME)
        with pytest.raises(Forbidden):
            await reply.send(frame("x"), "k")

    async def test_a_lost_message_is_gone(self, bot: Running) -> None:
        reply = await bot.asked()
        post = await reply.send(frame("x"), "k")
        bot.sim.delete_question(bot.sim.answers(ME)[0])
        with pytest.raises(Gone):
            await post.edit(frame("y"))

    async def test_too_long_a_text_is_rejected(self, bot: Running) -> None:
        reply = await bot.asked()
        with pytest.raises(Rejected):
            await reply.send(frame("x" * 4097), "k")

    async def test_a_reply_of_an_adapter_that_does_not_run_cannot_be_reached(self) -> None:
        reply = TelegramAdapter(TelegramSettings()).reply("7/0/1")
        with pytest.raises(Unreachable):
            await reply.send(frame("x"), "k")

    @pytest.mark.parametrize("trouble", [Trouble.BAD_GATEWAY, Trouble.RESET_BEFORE])
    async def test_polling_goes_on_after_trouble(self, sim: SimTelegram, trouble: Trouble) -> None:
        sim.faults.add("getUpdates", Fault(trouble))
        async with serving(sim) as bot:
            await bot.asked("still there?")

    async def test_a_hanging_poll_is_given_up(self, sim: SimTelegram) -> None:
        sim.faults.add("getUpdates", Fault(Trouble.HANG, 3600))
        async with serving(sim, call_timeout=0.2, poll_timeout=1) as bot:
            await bot.asked("still there?")

    async def test_a_second_poller_is_survived(self, bot: Running) -> None:
        async with serving(bot.sim, poll_timeout=1):
            pass
        await bot.asked("still there?")


class TestStart:
    async def refusal(self, settings: TelegramSettings) -> AdapterError:
        with pytest.raises(AdapterError) as refused:
            await TelegramAdapter(settings).run(Desk().receive)
        return refused.value

    @pytest.mark.parametrize("token", [None, "", "no token at all", "1:refused-by-the-server"])
    async def test_a_bad_token_is_refused_with_what_to_do_and_without_the_token(
        self, sim: SimTelegram, token: str | None
    ) -> None:
        secret = None if token is None else SecretStr(token)
        refused = await self.refusal(TelegramSettings(token=secret, base_url=sim.url))
        assert isinstance(refused, Unauthorized)
        assert "CLAWDBOT_TELEGRAM_TOKEN" in str(refused)
        assert not token or token not in str(refused)

    async def test_a_server_out_of_reach_may_be_tried_again(self, sim: SimTelegram) -> None:
        sim.faults.add("getMe", Fault(Trouble.BAD_GATEWAY))
        refused = await self.refusal(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))
        assert not isinstance(refused, Unauthorized)

    async def test_the_token_is_in_no_log(self, sim: SimTelegram, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        async with serving(sim) as bot:
            sim.faults.add("getUpdates", Fault(Trouble.ERROR))
            reply = await bot.asked()
            await reply.send(frame("x"), "k")
        wrong = TelegramSettings(token=SecretStr("1:refused-by-the-server"), base_url=sim.url)
        refused = await self.refusal(wrong)
        logging.getLogger("test").error("stopped", exc_info=refused)
        assert sim.token not in caplog.text
        assert "1:refused-by-the-server" not in caplog.text
        assert "stopped" in caplog.text


async def test_receipt_is_awaited_only_by_the_poll() -> None:
    """An adapter may be handed a core that answers at once; nothing is left open then."""

    def receive(event: Event, reply: Reply) -> Awaitable[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async with SimTelegram() as sim:
        adapter = TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))
        running = asyncio.create_task(adapter.run(receive))
        sim.say(ME, "hi")
        await sim.until(lambda: sim.unconfirmed == 0 and sim.counted("getUpdates") > 0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
