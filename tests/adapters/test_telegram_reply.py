"""What an answer becomes on Telegram: python-telegram-bot as it is, on a simulated Telegram over real HTTP."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from pydantic import SecretStr
from telegram import Bot, MessageEntity

from clawdbot import words
from clawdbot.abilities import Stepwise
from clawdbot.chat import Adapter, Drafting, File, Frame, Post, Pressed, Reply, State
from clawdbot.clock import SystemClock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import Forbidden, Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import SimTelegram, TelegramHarness, Verdict
from clawdbot_telegram import TelegramAdapter, TelegramSettings
from clawdbot_telegram.calls import Calls, Patience
from clawdbot_telegram.closed import Closed
from clawdbot_telegram.drafts import DraftMode
from clawdbot_telegram.moves import Moves
from clawdbot_telegram.place import Place
from clawdbot_telegram.render import Drawn, Renderer
from clawdbot_telegram.reply import TelegramReply
from clawdbot_telegram.transport import Transport

ME = 7
GROUP = -200


class Dripping(httpx.AsyncByteStream):
    """The beginning of an answer whose rest never comes."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()


def adapter_for(sim: SimTelegram) -> Adapter:
    settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url, call_timeout=0.8)
    return TelegramAdapter(settings)


@pytest.fixture
async def harness() -> AsyncIterator[TelegramHarness]:
    async with TelegramHarness(adapter_for) as ready:
        yield ready


@pytest.fixture
def sim(harness: TelegramHarness) -> SimTelegram:
    return harness.sim


@pytest.fixture
async def ears(harness: TelegramHarness) -> AsyncIterator[Ears]:
    async with running(harness) as heard:
        yield heard


@pytest.fixture
async def reply(sim: SimTelegram, ears: Ears) -> Reply:
    """Where the answer to a private question goes."""
    sim.say(ME, "hi")
    return (await ears.question())[1]


def frame(text: str, state: State = State.STREAMING, *files: File, last: bool = True) -> Frame:
    return Frame(text, state, files, last=last)


async def completed(post: Post, frame: Frame) -> None:
    """Make the further calls that a frame needs."""
    assert isinstance(post, Stepwise)
    while post.unfinished:
        await post.edit(frame)


class TestGrowing:
    async def test_a_message_carries_stop_until_it_is_final(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("In line.", State.WAITING), "k")
        await post.edit(frame("Hello"))
        await post.edit(frame("Hello.", State.FINAL))
        (shown,) = sim.answers(ME)
        looks = [(look.text, look.buttons) for look in shown.looks]
        assert looks == [("In line.", ("stop",)), ("Hello", ("stop",)), ("Hello.", ("regenerate",))]

    async def test_an_answer_that_was_cut_short_can_be_continued(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("Hello"), "k")
        await post.edit(frame("Hello *(interrupted)*", State.INTERRUPTED))
        assert sim.answers(ME)[0].look.buttons == ("continue",)

    @pytest.mark.parametrize("state", [State.FINAL, State.STOPPED])
    async def test_an_answer_that_ended_can_be_written_anew(self, sim: SimTelegram, reply: Reply, state: State) -> None:
        await reply.send(frame("Hello", state), "k")
        assert sim.answers(ME)[0].look.buttons == ("regenerate",)

    @pytest.mark.parametrize("state", [State.FAILED, State.NOTICE])
    async def test_what_is_no_answer_has_no_buttons(self, sim: SimTelegram, reply: Reply, state: State) -> None:
        await reply.send(frame("Hello", state), "k")
        assert sim.answers(ME)[0].look.buttons == ()

    async def test_only_the_last_part_carries_stop(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("part one"), "k1")
        await post.edit(frame("part one", last=False))
        await reply.send(frame("part two"), "k2")
        assert [shown.look.buttons for shown in sim.answers(ME)] == [(), ("stop",)]

    async def test_a_footnote_is_in_italics(self, sim: SimTelegram, reply: Reply) -> None:
        """Below the text, which keeps its own styles; as long as the same in Markdown, so that it counts."""
        post = await reply.send(frame("Hello"), "k")
        await post.edit(replace(frame("**Hello** 😀", State.FINAL), footnote="0% *cached*"))
        (shown,) = sim.answers(ME)
        assert shown.look.text == "Hello 😀\n\n0% *cached*"
        assert [(one.type, one.offset, one.length) for one in shown.look.entities] == [
            ("bold", 0, 5),
            ("italic", 10, 11),
        ]
        longest = "x" * (4096 - len("\n\nfast"))
        await post.edit(replace(frame(longest, State.FINAL), footnote="fast"))
        assert reply.limits.fits(f"{longest}\n\n*fast*")
        assert not reply.limits.fits(f"{longest}x\n\n*fast*")

    async def test_one_frame_is_one_call(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("**He**"), "k")
        await post.edit(frame("**Hello**"))
        assert [call.method for call in sim.calls if call.chat == ME] == ["sendMessage", "editMessageText"]

    async def test_links_get_no_previews(self, sim: SimTelegram, reply: Reply) -> None:
        """A preview that comes and goes makes the message jump."""
        post = await reply.send(frame("https://example.org"), "k")
        await post.edit(frame("https://example.org/heron"))
        made = [call for call in sim.calls if call.method in ("sendMessage", "editMessageText")]
        assert all('"is_disabled": true' in call.fields["link_preview_options"] for call in made)

    async def test_a_text_that_is_there_already_is_success(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("same"), "k")
        await post.edit(frame("same"))
        assert sim.counted("editMessageText", Verdict.REFUSED) == 1

    @pytest.mark.parametrize("text", ["```", "> ", "", "\n"])
    async def test_a_text_that_shows_nothing_is_not_sent(self, sim: SimTelegram, reply: Reply, text: str) -> None:
        with pytest.raises(Rejected):
            await reply.send(frame(text), "k")
        post = await reply.send(frame("x"), "k")
        with pytest.raises(Rejected):
            await post.edit(frame(text))
        assert sim.counted(verdict=Verdict.REFUSED) == 0

    async def test_refused_entities_fall_back_to_plain_text(self, sim: SimTelegram) -> None:
        """From the next call on: each is one, and is counted."""
        sim.say(ME, "hi")
        broken = Drawn("bold", (MessageEntity("bold", 0, 99),))
        async with Bot(sim.token, f"{sim.url}/bot") as bot:
            calls = Calls(Place(ME), lambda: bot, Closed(), Moves())
            with pytest.raises(Unreachable):
                await calls.send_text(broken, buttons=None)
            message = await calls.send_text(broken, buttons=None)
            await calls.edit_text(message, replace(broken, text="bolder"), buttons=None)
        (shown,) = sim.answers(ME)
        assert [(look.text, look.entities) for look in shown.looks] == [("bold", ()), ("bolder", ())]
        assert (sim.counted("sendMessage"), sim.counted("editMessageText")) == (2, 1)


class TestPlace:
    async def test_an_answer_goes_to_the_topic_and_message_of_its_question(self, sim: SimTelegram, ears: Ears) -> None:
        sim.group(GROUP, forum=True)
        topic = sim.open_topic(GROUP, ME)
        asked = sim.say(GROUP, "@claw_bot hi", user=ME, topic=topic)
        _, reply = await ears.question()
        await reply.typing()
        await reply.send(frame("hello"), "k")
        (shown,) = sim.answers(GROUP)
        assert (shown.topic, shown.reply_to) == (topic, asked.id)
        assert sim.counted("sendChatAction", Verdict.OK) == 1

    async def test_in_general_no_topic_is_named(self, sim: SimTelegram, ears: Ears) -> None:
        """Telegram refuses General's own number."""
        sim.group(GROUP, forum=True)
        sim.say(GROUP, "@claw_bot hi", user=ME)
        _, reply = await ears.question()
        await reply.typing()
        await reply.send(frame("hello"), "k")
        assert not any("message_thread_id" in call.fields for call in sim.calls)

    async def test_an_answer_survives_the_removal_of_its_question(self, sim: SimTelegram, ears: Ears) -> None:
        sim.group(GROUP)
        asked = sim.say(GROUP, "@claw_bot hi", user=ME)
        _, reply = await ears.question()
        sim.delete_question(asked)
        await reply.send(frame("hello"), "k")
        assert [shown.text for shown in sim.answers(GROUP)] == ["hello"]

    async def test_in_a_private_chat_nothing_is_quoted(self, sim: SimTelegram, reply: Reply) -> None:
        await reply.send(frame("hello"), "k")
        assert sim.answers(ME)[0].reply_to == 0

    async def test_a_chat_that_hangs_does_not_hold_up_another(self, sim: SimTelegram, ears: Ears, reply: Reply) -> None:
        sim.faults.add("sendMessage", Fault(Trouble.HANG, 3600))
        slow = asyncio.create_task(reply.send(frame("slow"), "k"))
        sim.say(8, "hi")
        _, other = await ears.question(1)
        await other.send(frame("fast"), "k")
        assert [shown.text for shown in sim.answers(8)] == ["fast"]
        with pytest.raises(Unsure):
            await slow


class TestDrafts:
    @pytest.fixture
    async def drafting(self, sim: SimTelegram) -> AsyncIterator[tuple[TelegramAdapter, Ears]]:
        """An adapter with drafts switched on, and what it hears."""
        settings = TelegramSettings(token=SecretStr(sim.token), base_url=sim.url, drafts=True)
        adapter, ears = TelegramAdapter(settings), Ears()
        task = asyncio.create_task(adapter.run(ears.receive))
        await sim.online()
        yield adapter, ears
        task.cancel()
        await asyncio.wait((task,))

    @pytest.fixture
    async def asked(self, sim: SimTelegram, drafting: tuple[TelegramAdapter, Ears]) -> TelegramReply:
        """Where the answer to a private question goes."""
        sim.say(ME, "hi")
        _, reply = await drafting[1].question()
        assert isinstance(reply, TelegramReply)
        return reply

    async def test_they_are_off_unless_they_are_wanted(self, reply: Reply) -> None:
        assert isinstance(reply, Drafting)
        assert reply.drafts is None

    async def test_one_is_no_message_and_goes_with_the_first_one(self, sim: SimTelegram, asked: TelegramReply) -> None:
        await asked.draft(frame("**He**"))
        await asked.draft(frame("**Hello**"))
        assert (sim.draft(ME), sim.answers(ME)) == ("Hello", [])
        await asked.send(frame("**Hello**.", State.FINAL), "k")
        assert (sim.draft(ME), [shown.text for shown in sim.answers(ME)]) == (None, ["Hello."])
        shown = [(draft.number, [mark.type for mark in draft.entities]) for draft in sim.drafts(ME)]
        assert shown == [(sim.screens[ME][0].id, ["bold"])] * 2

    async def test_telegrams_own_stop_names_the_reply(
        self, sim: SimTelegram, drafting: tuple[TelegramAdapter, Ears], asked: TelegramReply
    ) -> None:
        """There is no message yet that it could name. What was written stays until it becomes one."""
        await asked.draft(frame("He"))
        sim.stop_draft(ME)
        await drafting[1].count(2)
        event, _ = drafting[1].heard[1]
        assert isinstance(event, Pressed)
        assert (event.control, event.post, event.by.id) == ("stop", asked.ref, ME)
        assert event.conversation == (await drafting[1].question())[0].conversation
        assert sim.draft(ME) == "He"

    async def test_they_have_a_bucket_and_a_faster_pace_of_their_own(self, asked: TelegramReply) -> None:
        drafts = asked.drafts
        assert drafts is not None
        assert drafts.bucket.key != asked.limits.edits.key
        assert drafts.pace.by_age[0][1] < asked.limits.pace.by_age[0][1]
        assert drafts.renew < 30

    async def test_groups_have_none(self, drafting: tuple[TelegramAdapter, Ears]) -> None:
        assert drafting[0].reply(f"{GROUP}/0/5").drafts is None

    async def test_what_answers_no_message_has_none(self, drafting: tuple[TelegramAdapter, Ears]) -> None:
        """The question's number names the draft."""
        assert drafting[0].reply(f"{ME}/0/0").drafts is None

    async def test_a_refused_one_is_the_last_of_all_chats(
        self, sim: SimTelegram, drafting: tuple[TelegramAdapter, Ears], asked: TelegramReply
    ) -> None:
        sim.refuse_drafts(ME)
        with pytest.raises(Rejected):
            await asked.draft(frame("He"))
        assert asked.drafts is None
        assert drafting[0].reply("8/0/5").drafts is None

    async def test_a_server_that_does_not_know_them_refuses_them(self) -> None:
        async with SimTelegram(lacks={"sendMessageDraft"}) as sim, Bot(sim.token, f"{sim.url}/bot") as bot:
            sim.say(ME, "hi")
            mode = DraftMode(TelegramSettings(token=SecretStr("1:x"), drafts=True))
            renderer = Renderer(4096, 100)
            limits = TelegramSettings(token=SecretStr("1:x")).limits(ME, renderer)
            place = Place(ME, 0, 1)
            reply = TelegramReply(place, Calls(place, lambda: bot, Closed(), Moves()), limits, renderer, 1024, mode)
            with pytest.raises(Rejected):
                await reply.draft(frame("He"))
            assert reply.drafts is None

    @pytest.mark.parametrize("trouble", [Trouble.LIMITED, Trouble.ERROR, Trouble.RESET_AFTER])
    async def test_any_other_failure_is_no_refusal(
        self, sim: SimTelegram, asked: TelegramReply, trouble: Trouble
    ) -> None:
        sim.faults.add("sendMessageDraft", Fault(trouble))
        with pytest.raises((Limited, Unreachable, Unsure)):
            await asked.draft(frame("He"))
        assert asked.drafts is not None

    async def test_a_text_that_shows_nothing_is_no_refusal(self, sim: SimTelegram, asked: TelegramReply) -> None:
        with pytest.raises(Rejected):
            await asked.draft(frame("```"))
        assert asked.drafts is not None
        assert sim.counted("sendMessageDraft") == 0


class TestFiles:
    PICTURE = File("latency.png", b"png")
    TEXT = File("answer.md", b"text")

    async def test_a_picture_carries_a_short_text_as_its_caption(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("**The chart**", State.FINAL, self.PICTURE), "k")
        await reply.post(post.ref).edit(frame("The table", State.FINAL))
        (shown,) = sim.answers(ME)
        assert (shown.text, shown.look.file) == ("The table", self.PICTURE)

    async def test_a_long_text_and_a_picture_are_two_messages(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(answer := frame("x" * 1025, State.FINAL, self.PICTURE), "k")
        await completed(post, answer)
        assert [(len(one.text), one.look.file) for one in sim.answers(ME)] == [(1025, None), (0, self.PICTURE)]

    async def test_another_try_sends_only_the_file_that_is_missing(self, sim: SimTelegram, reply: Reply) -> None:
        sim.faults.add("sendDocument", Fault(Trouble.ERROR))
        answer = frame("The rest is in the file.", State.FINAL, self.TEXT)
        post = await reply.send(answer, "k")
        with pytest.raises(Unreachable):
            await post.edit(answer)
        await completed(post, answer)
        assert [one.look.file for one in sim.answers(ME)] == [None, self.TEXT]
        assert [call.method for call in sim.calls if call.chat == ME] == ["sendMessage", "sendDocument", "sendDocument"]

    @pytest.mark.parametrize("begun", [frame("The"), frame("The end", State.FINAL, PICTURE)], ids=["text", "picture"])
    async def test_a_file_that_is_there_is_not_added_after_a_restart(
        self, sim: SimTelegram, reply: Reply, begun: Frame
    ) -> None:
        """All that is left then is the ref."""
        post = await reply.send(begun, "k")
        final = frame("The end", State.FINAL, *(begun.files or (self.TEXT,)))
        await post.edit(final)
        await completed(post, final)
        again = reply.post(post.ref)
        await again.edit(final)
        await completed(again, final)
        assert [one.look.file for one in sim.answers(ME) if one.look.file] == list(final.files)

    async def test_an_edit_adds_a_file_once(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("The"), "k")
        final = frame("The end", State.FINAL, self.TEXT)
        for _ in range(2):
            await post.edit(final)
            await completed(post, final)
        assert [one.look.file for one in sim.answers(ME)] == [None, self.TEXT]

    async def test_all_that_an_answer_needs_stays_within_the_limits_of_the_chat(
        self, ears: Ears, reply: Reply, sim: SimTelegram
    ) -> None:
        """Here a text with four files is five calls, and three a second are taken."""
        files = tuple(File(f"{number}.md", b"text") for number in range(4))
        async with LiveReply(reply, key="k", budgets=Budgets(), clock=SystemClock()) as live:
            await live.finish("Five messages.", State.FINAL, files)
        made = [call.at for call in sim.calls if call.chat == ME]
        assert [one.look.file for one in sim.answers(ME)] == [None, *files]
        assert all(later - earlier >= 1.0 for earlier, later in zip(made, made[3:], strict=False))

    async def test_a_file_that_is_refused_leaves_a_word_in_the_message(self, sim: SimTelegram, reply: Reply) -> None:
        """The text above it must not point at what is not there."""
        sim.refuse_files(ME)
        async with LiveReply(reply, key="k", budgets=Budgets(), clock=SystemClock()) as live:
            with pytest.raises(Forbidden):
                await live.finish("The rest is in the file.", State.FINAL, (self.TEXT,))
        assert [one.text for one in sim.answers(ME)] == [words.CUT_OFF.strip("*")]


class TestLimits:
    async def test_sends_edits_and_typing_of_a_chat_share_a_bucket(self, reply: Reply) -> None:
        limits = reply.limits
        assert limits.sends == limits.edits == limits.typing
        assert (limits.sends.key, limits.bot.key) == ("telegram:7", "telegram")

    async def test_a_group_is_slower_than_a_private_chat(self, harness: TelegramHarness) -> None:
        private, group = (harness.adapter.reply(f"{chat}/0/0").limits for chat in (ME, GROUP))
        assert (private.pace.by_age[0], group.pace.by_age[0]) == ((0, 1.0), (0, 3.5))
        assert group.sends.rates[-1].calls == 20


class TestTrouble:
    async def test_an_answer_that_comes_drop_by_drop_is_given_up(self) -> None:
        """Every step of the call is within its limit, and it would never end."""
        dripping = httpx.MockTransport(lambda request: httpx.Response(200, stream=Dripping()))
        async with Transport(httpx_kwargs={"transport": dripping}) as transport:
            bot = Bot("123:x", "https://example.org/bot", request=transport)
            calls = Calls(Place(ME), lambda: bot, Closed(), Moves(), Patience(call=0.1))
            with pytest.raises(Unsure):
                await calls.send_text(Drawn("Hello", ()), None)

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
        self, sim: SimTelegram, reply: Reply, trouble: Trouble, error: type[Exception]
    ) -> None:
        sim.faults.add("sendMessage", Fault(trouble))
        with pytest.raises(error):
            await reply.send(frame("x"), "k")

    async def test_a_refused_typing_sign_names_the_wait(self, sim: SimTelegram, reply: Reply) -> None:
        sim.faults.add("sendChatAction", Fault(Trouble.LIMITED, 14_000))
        with pytest.raises(Limited) as refused:
            await reply.typing()
        assert refused.value.retry_after == 14_000

    async def test_a_blocked_bot_is_forbidden_to_write(self, sim: SimTelegram, reply: Reply) -> None:
        sim.shut(ME)
        with pytest.raises(Forbidden):
            await reply.send(frame("x"), "k")

    @pytest.mark.parametrize("why", ["bot was blocked by the user", "bot was kicked from the group chat"])
    async def test_where_it_is_forbidden_nothing_is_tried_until_somebody_turns_to_the_bot(
        self, sim: SimTelegram, ears: Ears, reply: Reply, why: str
    ) -> None:
        sim.shut(ME, why)
        file = File("answer.md", b"y")
        calls = (
            reply.send(frame("x"), "k"),
            reply.typing(),
            reply.send(frame("y"), "l"),
            reply.send(frame("", State.FINAL, file), "m"),
        )
        for call in calls:
            with pytest.raises(Forbidden, match=why):
                await call
        assert sim.counted(chat=ME) == 1
        sim.shut(ME, "")
        sim.say(ME, "/start")
        _, again = await ears.question(1)
        await again.send(frame("z"), "n")
        assert [shown.text for shown in sim.answers(ME)] == ["z"]

    async def test_another_chat_is_not_closed_with_it(self, sim: SimTelegram, ears: Ears, reply: Reply) -> None:
        sim.shut(ME)
        with pytest.raises(Forbidden):
            await reply.send(frame("x"), "k")
        sim.say(8, "hi")
        _, other = await ears.question(1)
        await other.send(frame("y"), "k")
        assert [shown.text for shown in sim.answers(8)] == ["y"]

    async def test_a_removed_message_is_gone(self, sim: SimTelegram, reply: Reply) -> None:
        post = await reply.send(frame("x"), "k")
        sim.delete_question(sim.answers(ME)[0])
        with pytest.raises(Gone):
            await post.edit(frame("y"))

    async def test_too_long_a_text_is_rejected_whole(self, sim: SimTelegram, reply: Reply) -> None:
        with pytest.raises(Rejected):
            await reply.send(frame("x" * 4097), "k")
        assert sim.answers(ME) == []
