"""Slash commands: how they reach the core, and how they are answered."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.abilities import Suggests
from clawdbot.chat import Adapter, File, Frame, Reply, State
from clawdbot.delivery.layout import Layout
from clawdbot.errors import Gone, Limited, Unreachable, Unsure
from clawdbot.menu import COMMANDS
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, Interaction, SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS

SECRET = Frame("p50 210 ms", State.FINAL, private=True)
PUBLIC = Frame("A heron is a bird.", State.FINAL)
APOLOGY = Frame("That went wrong.", State.FAILED)


class Scene:
    """A Discord where time passes only when the test says so."""

    def __init__(self, sim: SimDiscord, ears: Ears, clock: ManualClock) -> None:
        self.sim = sim
        self.ears = ears
        self.clock = clock

    async def call(self, name: str) -> tuple[Interaction, Reply]:
        """Somebody calls a command; what Discord knows of it and where the answer goes."""
        interaction = self.sim.slash(self.sim.channel, name)
        _, reply = await self.ears.question(len(self.ears.heard))
        return interaction, reply


def on(clock: ManualClock, **others: object) -> DiscordHarness:
    def build(sim: SimDiscord) -> Adapter:
        given = {"token": sim.token, "api_url": sim.rest_url, "gateway_url": sim.gateway_url, "keep_warm": 0.0}
        return DiscordAdapter(DiscordSettings.model_validate(given | others), clock)

    return DiscordHarness(build, CONTROLS, SimDiscord(clock=clock))


@pytest.fixture
async def scene(clock: ManualClock) -> AsyncIterator[Scene]:
    harness = on(clock)
    async with harness, running(harness) as ears:
        await harness.sim.until(lambda: bool(harness.sim.interactions.commands))
        yield Scene(harness.sim, ears, clock)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
async def test_a_command_reaches_the_core_as_text(scene: Scene, name: str) -> None:
    scene.sim.slash(scene.sim.channel, name)
    event, _ = await scene.ears.question()
    assert event.text == f"/{name}"
    assert event.author.id == scene.sim.user.id
    assert event.conversation.chat == scene.sim.channel.id


async def test_a_command_asks_only_for_what_the_core_looks_at(scene: Scene) -> None:
    commands = scene.sim.interactions.commands[0]
    asked = {command["name"]: [option["name"] for option in command.get("options") or []] for command in commands}
    assert asked == {command.name: [command.argument] if command.argument else [] for command in COMMANDS}


async def test_an_argument_stands_behind_the_name(scene: Scene) -> None:
    scene.sim.slash(scene.sim.channel, "allow", number="42")
    event, _ = await scene.ears.question()
    assert event.text == "/allow 42"


async def test_commands_work_in_private_chats(scene: Scene) -> None:
    scene.sim.slash(scene.sim.private(), "new")
    event, _ = await scene.ears.question()
    assert event.conversation.private


async def test_an_answer_that_is_ready_is_the_acknowledgement(scene: Scene) -> None:
    """One call, no "thinking" in between."""
    called, reply = await scene.call("latency")
    await reply.send(SECRET, "part-0")
    assert [post.text for post in called.answers] == [SECRET.text]
    assert len(called.answers[0].history) == 1
    assert len(scene.sim.calls_of("POST callback")) == 1


async def test_a_private_answer_is_seen_by_the_caller_alone(scene: Scene) -> None:
    _, reply = await scene.call("latency")
    await reply.send(SECRET, "part-0")
    other = scene.sim.add_user("bob")
    assert [post.text for post in scene.sim.channel.seen_by(scene.sim.user)] == [SECRET.text]
    assert scene.sim.channel.seen_by(other) == []


async def test_an_answer_that_takes_its_time_is_announced(scene: Scene) -> None:
    """Discord gives up on a command that is not acknowledged within 3 s."""
    called, reply = await scene.call("latency")
    await scene.clock.advance(2.0)
    await scene.sim.until(lambda: called.acknowledged_at is not None)
    await scene.clock.advance(10.0)
    await reply.send(SECRET, "part-0")
    assert [shown.thinking for shown in called.answers[0].history] == [True, False]
    assert (called.answers[0].text, called.answers[0].only_for) == (SECRET.text, scene.sim.user.id)


async def test_an_apology_follows_what_was_answered(scene: Scene) -> None:
    called, reply = await scene.call("latency")
    await reply.send(SECRET, "part-0")
    await reply.send(APOLOGY, "apology")
    assert [(post.text, post.only_for) for post in called.answers] == [
        (SECRET.text, scene.sim.user.id),
        (APOLOGY.text, None),
    ]


async def test_a_long_private_answer_is_seen_once_whatever_gets_lost(scene: Scene) -> None:
    """Discord knows no nonce for further messages of a command: so there is one, which may be written again."""
    called, reply = await scene.call("audit")
    text = "\n".join(f"{number} was let in" for number in range(400))
    scene.sim.faults.add("POST callback", Fault(Trouble.RESET_AFTER))
    scene.sim.faults.add("PATCH answer", Fault(Trouble.RESET_AFTER))

    allowed = reply.limits.messages
    assert allowed is not None
    (frame,) = Layout(reply.limits, allowed - 1).final(text, State.NOTICE, private=True)
    for _ in range(2):
        with pytest.raises(Unsure):
            await reply.send(frame, "part-0")
    await reply.send(frame, "part-0")
    assert [(post.text, post.only_for) for post in called.answers] == [(words.ATTACHED, scene.sim.user.id)]
    assert [file[1].decode() for file in called.answers[0].now.files] == [text]


async def test_an_answer_can_be_changed(scene: Scene) -> None:
    called, reply = await scene.call("latency")
    post = await reply.send(Frame("Drawing …", State.WAITING, private=True), "part-0")
    chart = Frame("Done.", State.NOTICE, files=(File("latency.png", b"\x89PNG"),), private=True)
    await post.edit(chart)
    await reply.post(post.ref).edit(chart)
    assert called.answers[0].text == "Done."
    assert called.answers[0].now.files == (("latency.png", b"\x89PNG"),)
    assert called.answers[0].now.buttons == ()


async def test_nobody_is_pinged_by_an_answer(scene: Scene) -> None:
    called, reply = await scene.call("help")
    post = await reply.send(Frame("@everyone", State.FINAL), "part-0")
    await post.edit(Frame("@everyone again", State.FINAL))
    await reply.send(Frame("@everyone more", State.FINAL), "part-1")
    assert {shown.pinged for each in called.answers for shown in each.history} == {()}


async def test_an_answer_whose_receipt_got_lost_is_not_doubled(scene: Scene) -> None:
    """Discord says that the command was acknowledged before: then the first try did land."""
    called, reply = await scene.call("latency")
    scene.sim.faults.add("POST callback", Fault(Trouble.RESET_AFTER))
    with pytest.raises(Unsure):
        await reply.send(SECRET, "part-0")
    await reply.send(SECRET, "part-0")
    assert [post.text for post in called.answers] == [SECRET.text]


async def test_an_answer_that_did_not_land_can_be_tried_again(scene: Scene) -> None:
    called, reply = await scene.call("latency")
    scene.sim.faults.add("POST callback", Fault(Trouble.BAD_GATEWAY))
    with pytest.raises(Unreachable):
        await reply.send(SECRET, "part-0")
    await reply.send(SECRET, "part-0")
    assert [post.text for post in called.answers] == [SECRET.text]


async def test_an_apology_whose_receipt_got_lost_is_found_in_the_channel(scene: Scene) -> None:
    """Discord takes no nonce for what follows the answer to a command."""
    called, reply = await scene.call("help")
    await reply.send(PUBLIC, "part-0")
    scene.sim.faults.add("POST answer", Fault(Trouble.RESET_AFTER))
    with pytest.raises(Unsure):
        await reply.send(APOLOGY, "apology")
    post = await reply.send(APOLOGY, "apology")
    await post.edit(replace(APOLOGY, text="Sorry."))
    assert [post.text for post in called.answers] == [PUBLIC.text, "Sorry."]


async def test_a_private_apology_whose_receipt_got_lost_is_doubled_and_known_as_unsure(scene: Scene) -> None:
    """It is in no channel, and no nonce is taken: it is told as `Unsure`, which the core counts."""
    called, reply = await scene.call("help")
    await reply.send(SECRET, "part-0")
    private = replace(APOLOGY, private=True)
    scene.sim.faults.add("POST answer", Fault(Trouble.RESET_AFTER))
    with pytest.raises(Unsure):
        await reply.send(private, "apology")
    await reply.send(private, "apology")
    assert [post.text for post in called.answers] == [SECRET.text, APOLOGY.text, APOLOGY.text]


async def test_a_refusal_says_how_long(scene: Scene) -> None:
    _, reply = await scene.call("latency")
    await reply.send(SECRET, "part-0")
    scene.sim.faults.add("POST answer", Fault(Trouble.LIMITED, 3.5))
    with pytest.raises(Limited) as refusal:
        await reply.send(SECRET, "part-1")
    assert refusal.value.retry_after == 3.5


async def test_a_command_has_a_budget_of_its_own(scene: Scene) -> None:
    """Its calls count neither for the channel nor for the whole bot."""
    _, reply = await scene.call("latency")
    channel = DiscordSettings(token=SecretStr("t")).limits(scene.sim.channel.id)
    keys = {bucket.key for bucket in (channel.sends, channel.edits, channel.bot)}
    assert keys.isdisjoint({reply.limits.sends.key, reply.limits.edits.key, reply.limits.bot.key})


async def test_a_call_for_a_command_is_counted_once(scene: Scene) -> None:
    """A call spends from its own bucket and from the bot's: with one for both, half of the calls would be left."""
    _, reply = await scene.call("latency")
    assert reply.limits.bot.key not in {reply.limits.sends.key, reply.limits.edits.key}


async def test_after_its_time_a_public_answer_goes_to_the_channel(scene: Scene) -> None:
    """Discord's token lives for 15 minutes."""
    called, reply = await scene.call("help")
    await scene.clock.advance(2.0)
    await scene.sim.until(lambda: called.acknowledged_at is not None)
    await scene.clock.advance(15 * 60)
    post = await reply.send(PUBLIC, "part-0")
    await post.edit(Frame("A heron is a large bird.", State.FINAL))
    assert scene.sim.answers(scene.sim.channel)[-1].text == "A heron is a large bird."


async def test_after_its_time_a_private_answer_is_not_made_public(scene: Scene) -> None:
    called, reply = await scene.call("latency")
    post = await reply.send(SECRET, "part-0")
    await scene.clock.advance(15 * 60)
    with pytest.raises(Gone):
        await reply.send(SECRET, "part-1")
    with pytest.raises(Gone):
        await post.edit(SECRET)
    assert len(called.answers) == 1
    assert scene.sim.answers(scene.sim.channel) == []


async def test_a_command_that_discord_gave_up_on_is_answered_in_the_channel(scene: Scene) -> None:
    """The acknowledgement came too late, for example because the gateway lagged."""
    called, reply = await scene.call("help")
    called.at -= 4.0
    with pytest.raises(Gone):
        await reply.send(SECRET, "part-0")
    await reply.send(PUBLIC, "part-0")
    assert [post.text for post in scene.sim.answers(scene.sim.channel)] == [PUBLIC.text]


async def test_an_answer_that_discord_takes_no_more_is_gone(scene: Scene) -> None:
    """Its clock decides, not ours."""
    called, reply = await scene.call("latency")
    post = await reply.send(SECRET, "part-0")
    called.at -= 901
    with pytest.raises(Gone):
        await post.edit(SECRET)


async def test_commands_are_registered_once(clock: ManualClock) -> None:
    """Discord allows 200 registrations a day; a restart is no reason for one."""
    harness = on(clock)
    async with harness:
        async with running(harness):
            await harness.until(lambda: len(harness.sim.calls_of("PUT commands")) == 1)
        async with running(harness):
            await harness.until(lambda: len(harness.sim.calls_of("GET commands")) == 2)
            harness.say("hi")
            await harness.until(lambda: harness.sim.gateway.identified == 2)
        assert len(harness.sim.calls_of("PUT commands")) == 1


async def test_changed_commands_are_registered_again(clock: ManualClock) -> None:
    harness = on(clock)
    harness.sim.interactions.register(0, [{"name": "old", "description": "Was here"}])
    async with harness, running(harness):
        await harness.until(lambda: len(harness.sim.calls_of("PUT commands")) == 1)
        shown = [(command["name"], command["description"]) for command in harness.sim.interactions.commands[0]]
        assert shown == [(command.name, command.about) for command in COMMANDS]


async def test_one_guild_can_have_them_at_once(clock: ManualClock) -> None:
    sim_guild = SimDiscord(clock=clock).world.guild
    harness = on(clock, command_guild=sim_guild)
    async with harness, running(harness):
        await harness.until(lambda: bool(harness.sim.interactions.commands))
        assert list(harness.sim.interactions.commands) == [sim_guild]


NAMES = [*(f"tutor-{number}" for number in range(30)), "a tutor of birds", "x" * 101]


@pytest.fixture
async def suggesting(clock: ManualClock) -> AsyncIterator[SimDiscord]:
    """The bot has suggestions for /persona."""
    harness = on(clock)
    async with harness:
        adapter = harness.adapter
        assert isinstance(adapter, Suggests)
        adapter.suggest_by(lambda command, where, by: [f"{command} {where.chat} {by.id}", *NAMES])
        async with running(harness):
            await harness.sim.until(lambda: bool(harness.sim.interactions.commands))
            yield harness.sim


async def offered(sim: SimDiscord, typed: str) -> list[str]:
    asked = sim.complete(sim.channel, "persona", "name", typed)
    await sim.until(lambda: asked.suggested is not None)
    return asked.suggested or []


async def test_names_are_offered_while_one_is_typed(suggesting: SimDiscord) -> None:
    """Those that hold what was typed, what begins so first; Discord takes 25, none of more than 100 characters."""
    assert await offered(suggesting, "BIRD") == ["a tutor of birds"]
    assert (await offered(suggesting, "tutor"))[:2] == ["tutor-0", "tutor-1"]
    assert len(await offered(suggesting, "")) == 25
    assert await offered(suggesting, "xx") == []


async def test_what_is_offered_depends_on_who_types_where(suggesting: SimDiscord) -> None:
    expected = f"persona {suggesting.channel.id} {suggesting.user.id}"

    assert await offered(suggesting, "persona") == [expected]


async def test_nothing_is_offered_where_anything_may_be_meant(suggesting: SimDiscord) -> None:
    with pytest.raises(LookupError):
        suggesting.complete(suggesting.channel, "allow", "number")
