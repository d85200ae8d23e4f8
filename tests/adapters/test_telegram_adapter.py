"""How the Telegram adapter polls, starts and ends: python-telegram-bot as it is, on a simulated Telegram."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr
from telegram.error import TimedOut

from clawdbot.app import supervise
from clawdbot.chat import Drafting, Edited, Event, File, Frame, Pressed, Reply, State
from clawdbot.clock import SystemClock
from clawdbot.errors import AdapterError, DeliveryError, Unauthorized, Unreachable
from clawdbot.menu import COMMANDS
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import SimTelegram, Verdict
from clawdbot_telegram import TelegramAdapter, TelegramSettings
from clawdbot_telegram.adapter import WARM
from clawdbot_telegram.polling import Inbox, PollRequest

ME = 7
GROUP = -100


class SlowStore(Ears):
    """Hears everything at once; nothing is durable before ``stored`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = asyncio.Event()

    async def receive(self, event: Event, reply: Reply) -> None:
        await super().receive(event, reply)
        await self.stored.wait()


class Hasty(SystemClock):
    """A clock on which every wait is over at once; it notes them."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def adapter_for(sim: SimTelegram, **options: object) -> TelegramAdapter:
    settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url)
    return TelegramAdapter(settings.model_copy(update=options))


@asynccontextmanager
async def serving(sim: SimTelegram, ears: Ears | None = None, **options: object) -> AsyncIterator[Ears]:
    ears = ears or Ears()
    task = asyncio.create_task(adapter_for(sim, **options).run(ears.receive))
    try:
        await sim.online()
        yield ears
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram() as running:
        yield running


class TestEvents:
    async def test_a_question_is_stamped_when_it_comes_in(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            before = sim.clock.now()
            shown = sim.say(ME, "What is new?")
            message, _ = await ears.question()
            assert before <= message.received_at <= sim.clock.now()
            assert message.sent_at == shown.date

    async def test_an_edit_of_the_question_arrives(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            shown = sim.say(ME, "Waht?")
            await ears.count(1)
            sim.edit_question(shown, "What?")
            await ears.count(2)
            event, _ = ears.heard[1]
            assert isinstance(event, Edited)
            assert event.message.text == "What?"

    async def test_a_press_is_acknowledged_though_nobody_has_stored_it(self, sim: SimTelegram) -> None:
        """The button shows a waiting sign until then."""
        ears = SlowStore()
        async with serving(sim, ears):
            sim.say(ME, "hi")
            _, reply = await ears.question()
            ears.stored.set()
            await reply.send(Frame("He", State.STREAMING), "k")
            ears.stored.clear()
            sim.press(sim.answers(ME)[0], "stop")
            await sim.until(lambda: sim.unanswered_presses == 0)
            await ears.count(2)
            assert isinstance(ears.heard[1][0], Pressed)
            ears.stored.set()

    async def test_without_privacy_mode_talk_among_people_is_passed_over(self) -> None:
        async with SimTelegram(privacy=False) as sim, serving(sim) as ears:
            sim.group(GROUP)
            sim.say(GROUP, "among people", user=ME)
            sim.say(GROUP, "@claw_bot from a bot", user=9, bot=True)
            sim.say(GROUP, "@claw_bot hi", user=ME)
            message, _ = await ears.question()
            assert message.text == "hi"


class TestDurability:
    async def test_a_question_that_is_not_stored_comes_again_after_a_crash(self, sim: SimTelegram) -> None:
        """The next poll confirms to Telegram, so it must not happen before the question is stored."""
        ears = SlowStore()
        async with serving(sim, ears):
            sim.say(ME, "important")
            _, reply = await ears.question()
            for _ in range(3):
                # Three round trips: time enough for a poll that does not wait.
                await reply.typing()
            assert sim.unconfirmed == 1
            ears.stored.set()
            await sim.until(lambda: sim.unconfirmed == 0)

    async def test_a_question_does_not_wait_for_another_one_to_be_stored(self, sim: SimTelegram) -> None:
        ears = SlowStore()
        async with serving(sim, ears):
            sim.say(ME, "one")
            sim.say(8, "two")
            await ears.count(2)
            assert sim.unconfirmed == 2
            ears.stored.set()

    async def test_what_was_stored_is_confirmed_when_the_adapter_ends(self, sim: SimTelegram) -> None:
        async with serving(sim) as ears:
            sim.say(ME, "the last one")
            await ears.question()
        assert sim.unconfirmed == 0

    async def test_a_question_that_the_ending_bot_stored_no_more_comes_again(self, sim: SimTelegram) -> None:
        """The core cancels what it was taking in; the library's last poll would confirm it."""

        class Ending(Ears):
            async def receive(self, event: Event, reply: Reply) -> None:
                await super().receive(event, reply)
                raise asyncio.CancelledError

        async with serving(sim, Ending()) as ears:
            sim.say(ME, "too late")
            await ears.question()
        assert sim.unconfirmed == 1


ADA = {"id": ME, "is_bot": False, "first_name": "Ada"}
HERE = {"id": ME, "type": "private", "first_name": "Ada"}
ORDINARY = {"message_id": 5, "date": 1_700_000_000, "chat": HERE, "from": ADA, "text": "hi"}
BUTTONS = {"reply_markup": {"inline_keyboard": [[{"text": "Stop", "callback_data": "stop"}]]}}
FROM_NOBODY = {"id": "1", "from": None, "chat_instance": "1", "data": "stop", "message": ORDINARY | BUTTONS}
MARK = {"type": "mention", "offset": 1, "length": 1}


class TestMalformedUpdates:
    """The library takes them all. One that the adapter could not take would come again for ever, and stop Telegram."""

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("message", ORDINARY | {"chat": None}),
            ("message", ORDINARY | {"date": None}),
            ("message", ORDINARY | {"text": None, "entities": [MARK]}),
            ("message", ORDINARY | {"text": "😀", "entities": [MARK]}),
            ("callback_query", FROM_NOBODY),
        ],
        ids=["no chat", "no date", "a mark without text", "half a character", "pressed by nobody"],
    )
    async def test_it_is_told_and_passed_over(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture, kind: str, body: dict[str, object]
    ) -> None:
        async with serving(sim) as ears:
            sim.deliver(kind, body)
            sim.say(ME, "still there?")
            message, _ = await ears.question()
            await sim.until(lambda: sim.unconfirmed == 0)
        assert message.text == "still there?"
        assert "passed over" in caplog.text

    async def test_a_press_on_no_control_at_all_stops_nothing(self, sim: SimTelegram) -> None:
        odd = {"id": "1", "from": ADA, "chat_instance": "1", "data": ["stop"], "message": ORDINARY}
        async with serving(sim) as ears:
            sim.deliver("callback_query", odd)
            sim.say(ME, "still there?")
            await sim.until(lambda: sim.unconfirmed == 0)
            message, _ = await ears.question()
        assert message.text == "still there?"

    async def test_a_service_message_is_none(self, sim: SimTelegram, caplog: pytest.LogCaptureFixture) -> None:
        """Nothing is told of what is only not for the bot."""
        group = {"id": GROUP, "type": "supergroup", "title": "Birds"}
        bare = {"message_id": 5, "date": 1_700_000_000, "chat": group}
        async with serving(sim) as ears:
            sim.deliver("message", bare | {"new_chat_members": [ADA]})
            sim.deliver("message", bare | {"sender_chat": group, "text": "in the group's name"})
            sim.say(ME, "still there?")
            message, _ = await ears.question()
        assert message.text == "still there?"
        assert "passed over" not in caplog.text


class TestUnreadableUpdates:
    """The library reads the updates of a poll together; one that it cannot read must not cost those beside it."""

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("message", "not an object"),
            ("message", {"message_id": 5}),
            ("message", ORDINARY | {"date": 10**30}),
            ("message", ORDINARY | {"entities": "none"}),
            ("message", ORDINARY | {"from": 7}),
            ("callback_query", {"id": "1"}),
            ("edited_message", [ORDINARY]),
        ],
        ids=["a text", "almost empty", "a date far off", "marks as text", "a number as author", "a press", "a list"],
    )
    async def test_it_is_told_and_confirmed(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture, kind: str, body: Any
    ) -> None:
        sim.say(ME, "before")
        sim.deliver(kind, body)
        sim.say(ME, "after")
        async with serving(sim) as ears:
            await ears.count(2)
            await sim.until(lambda: sim.unconfirmed == 0)
            heard = [(await ears.question(number))[0].text for number in range(2)]
        assert heard == ["before", "after"]
        assert "update 2" in caplog.text
        assert "passed over" in caplog.text


class TestPresses:
    @pytest.mark.parametrize(("data", "said"), [("stop", "Stopping"), ("continue", "Going on"), ("old", "any more")])
    async def test_each_is_answered_with_words_whatever_became_of_the_message(
        self, sim: SimTelegram, data: str, said: str
    ) -> None:
        """A button may have outlived its answer, or stand on a copy of which the bot knows nothing."""
        query = {"id": "1", "from": ADA, "chat_instance": "1", "data": data, "message": ORDINARY}
        async with serving(sim):
            sim.deliver("callback_query", query)
            await sim.until(lambda: sim.counted("answerCallbackQuery") == 1)
        (call,) = [call for call in sim.calls if call.method == "answerCallbackQuery"]
        assert said in call.fields["text"]


class TestPolling:
    @pytest.mark.parametrize("trouble", [Trouble.ERROR, Trouble.BAD_GATEWAY, Trouble.RESET_BEFORE, Trouble.LIMITED])
    async def test_it_goes_on_after_trouble(self, sim: SimTelegram, trouble: Trouble) -> None:
        sim.faults.add("getUpdates", Fault(trouble, 0.1))
        async with serving(sim) as ears:
            sim.say(ME, "still there?")
            message, _ = await ears.question()
        assert message.text == "still there?"

    async def test_one_that_hangs_is_given_up(self, sim: SimTelegram) -> None:
        sim.faults.add("getUpdates", Fault(Trouble.HANG, 3600))
        async with serving(sim, call_timeout=0.2, poll_timeout=1) as ears:
            sim.say(ME, "still there?")
            message, _ = await ears.question()
        assert message.text == "still there?"

    async def test_it_survives_a_second_poller_and_says_what_is_wrong(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with serving(sim) as ears:
            async with serving(sim):
                await sim.until(lambda: sim.counted("getUpdates", Verdict.REFUSED) > 0)
            sim.say(ME, "still there?")
            await ears.question()
        assert "another process polls with this bot's token" in caplog.text

    async def test_a_poll_that_has_to_wait_is_no_dead_one(self, sim: SimTelegram) -> None:
        sim.faults.add("getUpdates", Fault(Trouble.LIMITED, 300))
        clock = ManualClock(start=0.0)
        async with PollRequest(Inbox(lambda update, at: None), clock) as poll:
            await poll.do_request(f"{sim.url}/bot{sim.token}/getUpdates", "POST")
        assert poll.alive_at == 300.0

    async def test_one_that_never_went_out_is_no_sign_of_life(self) -> None:
        """All connections hang: a pool that never recovers would look like a long quiet night."""
        clock, held = ManualClock(start=0.0), asyncio.Event()

        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            held.set()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(hold, "127.0.0.1", 0)
        url = "http://{}:{}/".format(*server.sockets[0].getsockname())
        async with (
            server,
            PollRequest(Inbox(lambda update, at: None), clock, connection_pool_size=1, pool_timeout=0.01) as poll,
        ):
            first = asyncio.create_task(poll.do_request(url, "POST"))
            await held.wait()
            await clock.advance(7.0)
            with pytest.raises(TimedOut, match="Pool timeout"):
                await poll.do_request(url, "POST")
            first.cancel()
            await asyncio.wait((first,))
        assert poll.alive_at == 0.0

    async def test_one_that_never_ends_is_noticed(self, sim: SimTelegram) -> None:
        """A supervisor can then start the adapter anew; the library would wait for ever."""
        sim.faults.add("getUpdates", Fault(Trouble.HANG, 3600))
        with pytest.raises(AdapterError, match="No poll"):
            await adapter_for(sim, stall=0.4, keep_warm=0.1).run(Ears().receive)

    async def test_another_one_takes_its_place(self, sim: SimTelegram) -> None:
        sim.faults.add("getUpdates", Fault(Trouble.HANG, 3600))
        ears = Ears()
        adapter = adapter_for(sim, stall=0.4, keep_warm=0.1)
        task = asyncio.create_task(supervise("telegram", adapter, ears.receive, sim.clock, set()))
        sim.say(ME, "still there?")
        await ears.question()
        task.cancel()
        await asyncio.wait((task,))
        assert sim.faults.injected[Trouble.HANG] == 1

    async def test_a_token_that_is_taken_away_ends_it(self, sim: SimTelegram) -> None:
        task = asyncio.create_task(adapter_for(sim, poll_timeout=1).run(Ears().receive))
        await sim.online()
        sim.revoke("123456:a-new-one")
        with pytest.raises(Unauthorized, match="no longer"):
            await task

    async def test_connections_are_kept_warm(self, sim: SimTelegram) -> None:
        """One made anew would cost the next answer two more round trips."""
        async with serving(sim, keep_warm=0.05):
            await sim.until(lambda: sim.counted("getMe") > 2 * WARM)
        assert sim.counted("getMe", Verdict.OK) == sim.counted("getMe")


class TestStart:
    @pytest.mark.parametrize("token", ["", "no token at all", "1:refused-by-the-server"])
    async def test_a_bad_token_is_refused_with_what_to_do_but_without_the_token(
        self, sim: SimTelegram, token: str
    ) -> None:
        adapter = adapter_for(sim, token=SecretStr(token))
        with pytest.raises(Unauthorized, match="CLAWDBOT_TELEGRAM_TOKEN") as refused:
            await adapter.run(Ears().receive)
        assert not token or token not in str(refused.value)

    @pytest.mark.parametrize("method", ["getMe", "deleteWebhook"])
    async def test_a_server_out_of_order_may_be_tried_again(self, sim: SimTelegram, method: str) -> None:
        sim.faults.add(method, Fault(Trouble.BAD_GATEWAY))
        with pytest.raises(AdapterError) as failed:
            await adapter_for(sim).run(Ears().receive)
        assert not isinstance(failed.value, Unauthorized)

    async def test_a_start_that_has_to_wait_waits(self, sim: SimTelegram) -> None:
        """The supervisor's own pause is 1 s at first."""
        clock = Hasty()
        sim.faults.add("getMe", Fault(Trouble.LIMITED, 280))
        settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url)
        with pytest.raises(AdapterError, match="wait"):
            await TelegramAdapter(settings, clock).run(Ears().receive)
        assert clock.waits == [280.0]

    @pytest.mark.parametrize("privacy", [True, False])
    async def test_privacy_mode_is_told(self, caplog: pytest.LogCaptureFixture, privacy: bool) -> None:
        """From outside a message that Telegram keeps back looks like one that nobody wrote."""
        caplog.set_level(logging.INFO)
        async with SimTelegram(privacy=privacy) as sim, serving(sim):
            pass
        assert ("privacy mode is on" in caplog.text) is privacy

    async def test_the_menus_offer_the_commands(self, sim: SimTelegram) -> None:
        names = [command.name for command in COMMANDS]
        async with serving(sim):
            await sim.until(lambda: len(sim.menus) == 2)
        assert sim.menus == {"all_private_chats": names, "all_group_chats": names}

    async def test_a_menu_that_is_refused_does_no_harm(self, sim: SimTelegram) -> None:
        sim.faults.add("setMyCommands", Fault(Trouble.ERROR))
        async with serving(sim) as ears:
            sim.say(ME, "hi")
            message, _ = await ears.question()
        assert message.text == "hi"

    async def test_replies_cannot_be_sent_before_it(self, sim: SimTelegram) -> None:
        with pytest.raises(Unreachable):
            await adapter_for(sim).reply("7/0/1").send(Frame("x", State.FINAL), "k")

    @pytest.mark.parametrize("failing", ["nothing", "polls", "login"])
    async def test_the_token_is_in_no_log(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture, failing: str
    ) -> None:
        caplog.set_level(logging.DEBUG)
        if failing == "login":
            adapter = adapter_for(sim, token=SecretStr("1:refused-by-the-server"))
            with pytest.raises(Unauthorized) as refused:
                await adapter.run(Ears().receive)
            logging.getLogger("supervisor").error("stopped", exc_info=refused.value)
        else:
            if failing == "polls":
                sim.faults.add("getUpdates", Fault(Trouble.BAD_GATEWAY))
            async with serving(sim) as ears:
                sim.say(ME, "hi")
                _, reply = await ears.question()
                await reply.send(Frame("x", State.FINAL), "k")
        assert caplog.text
        assert sim.token not in caplog.text
        assert "refused-by-the-server" not in caplog.text


@pytest.mark.parametrize(
    ("raise_it", "retried"),
    [(lambda sim: sim.say(ME, "a"), 1), (lambda sim: [sim.say(chat, "a") for chat in range(1, 51)], 50)],
    ids=["one", "a burst"],
)
async def test_a_redelivered_question_has_the_same_id(
    sim: SimTelegram, raise_it: Callable[[SimTelegram], object], retried: int
) -> None:
    """The core answers an id once; the adapter only has to say that it is the same."""
    raise_it(sim)
    async with serving(sim) as ears:
        await ears.count(retried)
        for shown in [one for messages in sim.screens.values() for one in messages]:
            sim.repeat(shown)
        await ears.count(2 * retried)
        ids = [(await ears.question(at))[0].id for at in range(2 * retried)]
        assert ids[:retried] == ids[retried:]
        assert len(set(ids)) == retried


class TestSecrets:
    """The URL of every call holds the token; the library's log lines hold the URL, and some of its errors the token."""

    @pytest.mark.parametrize("trouble", list(Trouble))
    async def test_no_failure_of_a_call_shows_the_token(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture, trouble: Trouble
    ) -> None:
        caplog.set_level(logging.DEBUG)
        async with serving(sim, call_timeout=0.2, drafts=True) as ears:
            sim.say(ME, "hi")
            _, reply = await ears.question()
            assert isinstance(reply, Drafting)
            frame = Frame("x", State.FINAL, (File("answer.md", b"y"),))
            for method in ("sendMessage", "sendChatAction", "sendMessageDraft", "answerCallbackQuery"):
                sim.faults.add(method, Fault(trouble, 1.0))
            sim.deliver("callback_query", {"id": "1", "from": ADA, "chat_instance": "1", "message": ORDINARY})
            for call in (reply.send(frame, "k"), reply.typing(), reply.draft(frame)):
                with pytest.raises(DeliveryError) as failed:
                    await call
                logging.getLogger("core").error("a call failed", exc_info=failed.value)
        assert "a call failed" in caplog.text
        assert sim.token not in caplog.text

    async def test_the_end_of_a_token_does_not_show_it(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        task = asyncio.create_task(adapter_for(sim, poll_timeout=1).run(Ears().receive))
        await sim.online()
        sim.revoke("123456:a-new-one")
        with pytest.raises(Unauthorized) as refused:
            await task
        logging.getLogger("supervisor").error("stopped", exc_info=refused.value)
        assert "stopped" in caplog.text
        assert sim.token not in caplog.text

    async def test_a_proxy_that_cannot_be_reached_does_not_show_its_password(
        self, sim: SimTelegram, caplog: pytest.LogCaptureFixture, unused_tcp_port: int
    ) -> None:
        caplog.set_level(logging.DEBUG)
        proxy = SecretStr(f"http://me:hunter2@127.0.0.1:{unused_tcp_port}")
        with pytest.raises(AdapterError) as failed:
            await adapter_for(sim, proxy=proxy).run(Ears().receive)
        logging.getLogger("supervisor").error("failed", exc_info=failed.value)
        assert "failed" in caplog.text
        assert "hunter2" not in caplog.text
        assert sim.token not in caplog.text
