"""Answers in Discord's channels: one message that grows, and what becomes of calls that go wrong."""

from collections.abc import AsyncIterator

import pytest

from clawdbot.chat import File, Frame, Rate, Reply, State
from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, Post, Rates, Shown, SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter
from clawdbot_discord.controls import CONTROLS, control_of

from .discord_bot import settings_for

GROWING = Frame("A heron", State.STREAMING)
DONE = Frame("A heron is a bird.", State.FINAL)


class Scene:
    """A question that was asked in a channel, and where its answer goes."""

    def __init__(self, sim: SimDiscord, ears: Ears, question: Post, reply: Reply, adapter: DiscordAdapter) -> None:
        self.sim = sim
        self.ears = ears
        self.question = question
        self.reply = reply
        self.adapter = adapter

    @property
    def answer(self) -> Post:
        """The bot's only message."""
        (post,) = self.sim.answers(self.sim.channel)
        return post


def controls_of(shown: Shown) -> list[str | None]:
    """What the buttons of a message are for."""
    return [control_of(button) for button in shown.buttons]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    def build(sim: SimDiscord) -> DiscordAdapter:
        return DiscordAdapter(settings_for(sim))

    sim = SimDiscord(rates=Rates(whole_bot=Rate(1000, 1.0)))
    harness = DiscordHarness(build, CONTROLS, sim)
    async with harness, running(harness) as ears:
        question = sim.say(sim.channel, "What is a heron?")
        _, reply = await ears.question()
        adapter = harness.adapter
        assert isinstance(adapter, DiscordAdapter)
        yield Scene(sim, ears, question, reply, adapter)


async def test_a_footnote_is_subtext(scene: Scene) -> None:
    """Discord draws it small and grey below the text, also below code; with no room to spare it still fits."""
    post = await scene.reply.send(Frame("A heron", State.STREAMING), "k")
    texts = ["A heron.", "```py\nx = 1\n```", "x" * (2000 - len("\n-# fast"))]
    for text in texts:
        await post.edit(Frame(text, State.FINAL, footnote="fast"))
    assert [look.text for look in scene.answer.history[1:]] == [f"{text}\n-# fast" for text in texts]
    assert scene.reply.limits.fits(f"{texts[-1]}\n\n*fast*")


async def test_the_first_part_points_at_the_question(scene: Scene) -> None:
    """And the asker is not pinged by it: they are looking already."""
    await scene.reply.send(DONE, "part-0")
    assert scene.answer.replies_to == scene.question.id
    assert scene.answer.now.pinged == ()


async def test_only_the_first_part_does(scene: Scene) -> None:
    await scene.reply.send(Frame("One.", State.FINAL, last=False), "part-0")
    await scene.reply.send(Frame("Two.", State.FINAL), "part-1")
    assert [post.replies_to for post in scene.sim.answers(scene.sim.channel)] == [scene.question.id, None]


async def test_an_answer_to_a_deleted_question_is_still_sent(scene: Scene) -> None:
    scene.sim.delete_question(scene.question)
    await scene.reply.send(DONE, "part-0")
    assert scene.answer.text == DONE.text


async def test_nobody_is_pinged_by_a_send(scene: Scene) -> None:
    """A model can be talked into any text."""
    text = f"@everyone @here <@{scene.sim.user.id}> <@&{scene.sim.world.bot_role}>"
    await scene.reply.send(Frame(text, State.STREAMING), "part-0")
    assert scene.answer.now.pinged == ()


async def test_nobody_is_pinged_by_an_edit(scene: Scene) -> None:
    """Discord reads mentions in edits as well."""
    post = await scene.reply.send(GROWING, "part-0")
    await post.edit(Frame("@everyone look", State.STREAMING))
    await post.edit(Frame("@everyone look, a heron", State.FINAL))
    assert [shown.pinged for shown in scene.answer.history] == [(), (), ()]


async def test_a_part_is_sent_once_however_often_it_is_tried(scene: Scene) -> None:
    """The key is Discord's nonce: after a time-out the same send finds the message that is there already."""
    scene.sim.faults.add("POST message", Fault(Trouble.TIMEOUT_AFTER, 0.05))
    with pytest.raises(Unsure):
        await scene.reply.send(GROWING, "part-0")
    post = await scene.reply.send(GROWING, "part-0")
    assert post.ref == str(scene.answer.id)


async def test_stop_is_below_the_last_part_only(scene: Scene) -> None:
    first = await scene.reply.send(GROWING, "part-0")
    await first.edit(Frame("A heron", State.STREAMING, last=False))
    await scene.reply.send(Frame("is a bird", State.STREAMING), "part-1")
    assert [controls_of(post.now) for post in scene.sim.answers(scene.sim.channel)] == [[], ["stop"]]


@pytest.mark.parametrize("state", [State.FINAL, State.STOPPED])
async def test_a_finished_answer_can_be_written_anew(scene: Scene, state: State) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    await post.edit(Frame("A heron", state))
    assert [controls_of(shown) for shown in scene.answer.history] == [["stop"], ["regenerate"]]


@pytest.mark.parametrize("state", [State.FAILED, State.NOTICE])
async def test_what_is_no_answer_has_no_controls(scene: Scene, state: State) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    await post.edit(Frame("A heron", state))
    assert [controls_of(shown) for shown in scene.answer.history] == [["stop"], []]


async def test_an_interrupted_answer_can_be_continued(scene: Scene) -> None:
    """Below its last part only, also when a new process marks what an earlier one has sent."""
    post = await scene.reply.send(GROWING, "part-0")
    again = scene.adapter.reply(scene.reply.ref).post(post.ref)
    await again.edit(Frame("A heron", State.INTERRUPTED, last=False))
    await again.edit(Frame("A heron", State.INTERRUPTED))
    assert [controls_of(shown) for shown in scene.answer.history] == [["stop"], [], ["continue"]]


async def test_a_notice_can_be_stopped_too(scene: Scene) -> None:
    await scene.reply.send(Frame("Two others are before you.", State.WAITING), "part-0")
    assert controls_of(scene.answer.now) == ["stop"]


async def test_link_previews_come_also_when_another_process_has_begun(scene: Scene) -> None:
    post = await scene.reply.send(Frame("See https://herons.example", State.STREAMING), "part-0")
    await scene.adapter.reply(scene.reply.ref).post(post.ref).edit(Frame("See https://herons.example", State.FINAL))
    assert [shown.previews for shown in scene.answer.history] == [False, True]


async def test_link_previews_come_with_the_last_frame(scene: Scene) -> None:
    """While the text grows they would come and go and move what stands below."""
    post = await scene.reply.send(GROWING, "part-0")
    await post.edit(Frame("See https://herons.example", State.STREAMING))
    await post.edit(Frame("See https://herons.example for more.", State.FINAL))
    assert [shown.previews for shown in scene.answer.history] == [False, False, True]


async def test_files_are_attached_to_a_new_message(scene: Scene) -> None:
    await scene.reply.send(Frame("Look:", State.FINAL, files=(File("chart.png", b"\x89PNG"),)), "part-0")
    assert scene.answer.now.files == (("chart.png", b"\x89PNG"),)


async def test_files_can_come_with_an_edit_and_be_repeated(scene: Scene) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    frame = Frame("The rest:", State.FINAL, files=(File("answer.md", b"rest"),))
    await post.edit(frame)
    await post.edit(frame)
    assert scene.answer.now.files == (("answer.md", b"rest"),)


async def test_the_last_edit_takes_files_away_that_it_does_not_have(scene: Scene) -> None:
    """An answer that is written anew may need none; until it is complete they stay."""
    post = await scene.reply.send(Frame("Look:", State.FINAL, files=(File("a.md", b"x"),)), "part-0")
    await post.edit(GROWING)
    growing = scene.answer.now.files
    await post.edit(DONE)
    assert growing == (("a.md", b"x"),)
    assert scene.answer.now.files == ()


async def test_typing_is_shown(scene: Scene) -> None:
    await scene.reply.typing()
    assert [call.place for call in scene.sim.calls_of("POST typing")] == [str(scene.sim.channel.id)]


async def test_each_kind_of_call_has_its_bucket_in_each_channel(scene: Scene) -> None:
    limits = scene.reply.limits
    others = scene.adapter.reply("7:0").limits
    keys = {bucket.key for of in (limits, others) for bucket in (of.sends, of.edits, of.typing) if bucket}
    assert len(keys) == 6
    assert limits.bot == others.bot


async def test_the_call_that_takes_the_last_place_returns_at_once(scene: Scene) -> None:
    """discord.py holds it back for the rest of the window, though it had its effect."""
    post = await scene.reply.send(GROWING, "part-0")
    started = scene.sim.clock.now()
    for number in range(5):
        await post.edit(Frame(f"A heron {number}", State.STREAMING))
    assert scene.sim.clock.now() - started < 4.0


async def test_one_call_too_many_is_refused_here_and_not_by_discord(scene: Scene) -> None:
    """The headers said so: the wait is what is left of the window, and no refusal is counted against the bot."""
    post = await scene.reply.send(GROWING, "part-0")
    for number in range(5):
        await post.edit(Frame(f"A heron {number}", State.STREAMING))
    with pytest.raises(Limited) as refusal:
        await post.edit(DONE)
    assert 0 < refusal.value.retry_after <= 5.0
    assert not refusal.value.everywhere
    assert {call.status for call in scene.sim.calls_of("PATCH message")} == {200}


async def test_another_channel_is_not_held_up_by_a_full_one(scene: Scene) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    for number in range(5):
        await post.edit(Frame(f"A heron {number}", State.STREAMING))
    birds = scene.sim.add_channel("birds")
    elsewhere = await scene.adapter.reply(f"{birds.id}:0").send(GROWING, "part-0")
    await elsewhere.edit(DONE)
    assert [shown.text for shown in scene.sim.answers(birds)] == [DONE.text]
    assert {call.status for call in scene.sim.calls_of("PATCH message")} == {200}


async def test_a_refusal_for_the_whole_bot_says_so(scene: Scene) -> None:
    scene.sim.windows.whole_bot.close(scene.sim.clock.now(), 3.0)
    with pytest.raises(Limited) as refusal:
        await scene.reply.send(GROWING, "part-0")
    assert refusal.value.everywhere
    assert refusal.value.retry_after == pytest.approx(3.0, abs=0.5)


async def test_a_long_wait_is_given_as_it_is(scene: Scene) -> None:
    scene.sim.faults.add("POST message", Fault(Trouble.LIMITED, 14_000.0))
    with pytest.raises(Limited) as refusal:
        await scene.reply.send(GROWING, "part-0")
    assert refusal.value.retry_after == 14_000.0


async def test_an_old_answer_ends_though_few_of_its_edits_are_taken(clock: ManualClock) -> None:
    """Discord rations edits of messages older than an hour and says how long to wait; what is there stays whole."""

    def build(sim: SimDiscord) -> DiscordAdapter:
        return DiscordAdapter(settings_for(sim), clock)

    harness = DiscordHarness(build, CONTROLS, SimDiscord(clock=clock))
    async with harness, running(harness) as ears:
        harness.say("Tell me all about herons.")
        _, reply = await ears.question()
        post = await reply.send(GROWING, "part-0")
        await clock.advance(3601)
        for number in range(3):
            await post.edit(Frame(f"A heron {number}", State.STREAMING))
        with pytest.raises(Limited) as refusal:
            await post.edit(DONE)
        await clock.advance(refusal.value.retry_after)
        await post.edit(DONE)
        assert refusal.value.retry_after == 20.0
        assert harness.screen() == [DONE.text]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Trouble.ERROR, Unreachable),
        (Trouble.BAD_GATEWAY, Unreachable),
        (Trouble.RESET_BEFORE, Unsure),
        (Trouble.RESET_AFTER, Unsure),
        (Trouble.TIMEOUT_AFTER, Unsure),
        (Trouble.HANG, Unsure),
    ],
)
async def test_what_goes_wrong_on_the_way_has_its_name(
    scene: Scene, trouble: Trouble, kind: type[DeliveryError]
) -> None:
    """Known at once, without tries in secret; whoever asked may try again, and an edit then is right in any case."""
    post = await scene.reply.send(GROWING, "part-0")
    scene.sim.faults.add("PATCH message", Fault(trouble, 0.05))
    with pytest.raises(kind):
        await post.edit(DONE)
    assert len(scene.sim.calls_of("PATCH message")) == 1
    await post.edit(DONE)
    assert scene.answer.text == DONE.text


async def test_a_deleted_answer_is_gone(scene: Scene) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    scene.sim.delete_question(scene.answer)
    with pytest.raises(Gone):
        await post.edit(DONE)


async def test_a_deleted_channel_is_gone(scene: Scene) -> None:
    scene.sim.channel.gone = True
    with pytest.raises(Gone):
        await scene.reply.send(GROWING, "part-0")


@pytest.mark.parametrize("code", [50001, 50007, 50013])
async def test_a_place_where_the_bot_may_not_write_is_forbidden(scene: Scene, code: int) -> None:
    scene.sim.channel.closed = code
    with pytest.raises(Forbidden):
        await scene.reply.send(GROWING, "part-0")


async def test_where_the_bot_may_not_write_nothing_is_tried_until_somebody_speaks_to_it(scene: Scene) -> None:
    """Ten thousand refused calls in ten minutes shut a bot out of Discord altogether."""
    post = await scene.reply.send(GROWING, "part-0")
    scene.sim.channel.closed = 50013
    with pytest.raises(Forbidden):
        await post.edit(DONE)
    refused = len(scene.sim.calls)
    for call in (post.edit(DONE), scene.reply.send(DONE, "part-1"), scene.reply.typing()):
        with pytest.raises(Forbidden):
            await call
    assert len(scene.sim.calls) == refused
    scene.sim.channel.closed = 0
    scene.sim.say(scene.sim.channel, "And now?")
    _, reply = await scene.ears.question(1)
    await reply.send(DONE, "part-2")


async def test_other_channels_are_open_all_the_while(scene: Scene) -> None:
    scene.sim.channel.closed = 50013
    with pytest.raises(Forbidden):
        await scene.reply.send(GROWING, "part-0")
    other = scene.sim.add_channel("birds")
    await scene.adapter.reply(f"{other.id}:0").send(GROWING, "part-0")
    assert [post.text for post in scene.sim.answers(other)] == [GROWING.text]


async def test_a_deleted_message_closes_nothing(scene: Scene) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    scene.sim.delete_question(scene.answer)
    with pytest.raises(Gone):
        await post.edit(DONE)
    await scene.reply.send(DONE, "part-1")
    assert scene.answer.text == DONE.text


async def test_where_earlier_messages_may_not_be_read_the_answer_points_at_none(scene: Scene) -> None:
    """Discord refuses a reference without that permission; a question there is answered all the same.

    By another try: each is one call, and is counted.
    """
    scene.sim.channel.history_hidden = True
    with pytest.raises(Unreachable):
        await scene.reply.send(DONE, "part-0")
    await scene.reply.send(DONE, "part-0")
    assert (scene.answer.text, scene.answer.replies_to) == (DONE.text, None)
    scene.sim.say(scene.sim.channel, "And an egret?")
    _, reply = await scene.ears.question(1)
    await reply.send(DONE, "part-1")
    assert [call.code for call in scene.sim.calls_of("POST message")] == [160002, 0, 0]


async def test_a_crowded_channel_gets_no_call_of_any_kind(scene: Scene) -> None:
    """The limit is one for all who write there and for all that they do; no header tells of it."""
    post = await scene.reply.send(GROWING, "part-0")
    scene.sim.channel.crowded_until = scene.sim.clock.now() + 30.0
    with pytest.raises(Limited) as refusal:
        await post.edit(DONE)
    assert refusal.value.retry_after == pytest.approx(30.0, abs=1.0)
    assert not refusal.value.everywhere
    refused = len(scene.sim.calls)
    for call in (post.edit(DONE), scene.reply.send(DONE, "part-1"), scene.reply.typing()):
        with pytest.raises(Limited) as refusal:
            await call
        assert 25.0 < refusal.value.retry_after < 30.0
    assert len(scene.sim.calls) == refused


async def test_a_refused_typing_sign_is_a_refusal_like_others(scene: Scene) -> None:
    scene.sim.faults.add("POST typing", Fault(Trouble.LIMITED, 3.5))
    with pytest.raises(Limited) as refusal:
        await scene.reply.typing()
    assert refusal.value.retry_after == 3.5


async def test_an_empty_message_is_rejected(scene: Scene) -> None:
    with pytest.raises(Rejected):
        await scene.reply.send(Frame("  \n", State.FINAL), "part-0")
    assert scene.sim.answers(scene.sim.channel) == []
