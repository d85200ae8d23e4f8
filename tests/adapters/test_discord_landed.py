"""A send of which nobody knows whether it landed: on Discord it is settled, and no part stands there twice."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from clawdbot.chat import Adapter, Frame, Post, Reply, State
from clawdbot.errors import Forbidden, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.engine import Script
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter
from clawdbot_discord.controls import CONTINUE, CONTROLS, control_of, key_of

from .discord_bot import DiscordBot, settings_for

GROWING = Frame("A heron", State.STREAMING)
DONE = Frame("A heron is a bird.", State.FINAL)
LOST = Fault(Trouble.RESET_AFTER)
LONG = 400.0
"""Seconds after which Discord has forgotten a nonce."""


class Scene:
    """A question, where its answer goes, and time that passes when the test says so."""

    def __init__(self, sim: SimDiscord, reply: Reply, adapter: Adapter, clock: ManualClock) -> None:
        self.sim = sim
        self.reply = reply
        self.adapter = adapter
        self.clock = clock

    async def lose(self, frame: Frame, key: str) -> None:
        """Send a part that lands although no answer comes back; then long pass."""
        self.sim.faults.add("POST message", LOST)
        with pytest.raises(Unsure):
            await self.reply.send(frame, key)
        await self.clock.advance(LONG)

    def restart(self) -> Reply:
        """Where the answer goes for a process that knows nothing but the reply's name."""
        return self.adapter.reply(self.reply.ref)

    @property
    def texts(self) -> list[str]:
        return [post.text for post in self.sim.answers(self.sim.channel)]


@pytest.fixture
async def scene(clock: ManualClock) -> AsyncIterator[Scene]:
    sim = SimDiscord(clock=clock)
    harness = DiscordHarness(lambda server: DiscordAdapter(settings_for(server, lookback=0.0), clock), CONTROLS, sim)
    async with harness, running(harness) as ears:
        sim.say(sim.channel, "What is a heron?")
        _, reply = await ears.question()
        yield Scene(sim, reply, harness.adapter, clock)


def number_of(post: Post) -> int:
    return int(post.ref)


@pytest.mark.parametrize("frame", [GROWING, DONE, Frame("A heron", State.STREAMING, last=False)])
async def test_a_part_that_landed_is_found_when_its_nonce_is_forgotten(scene: Scene, frame: Frame) -> None:
    await scene.lose(frame, "part-0")
    post = await scene.reply.send(frame, "part-0")
    assert scene.texts == [frame.text]
    assert number_of(post) == scene.sim.answers(scene.sim.channel)[0].id


async def test_a_growing_part_is_found_whatever_it_said(scene: Scene) -> None:
    """Its button carries the key; the text has grown since."""
    await scene.lose(GROWING, "part-0")
    post = await scene.reply.send(DONE, "part-0")
    await post.edit(DONE)
    assert scene.texts == [DONE.text]


async def test_a_later_part_is_found_too(scene: Scene) -> None:
    await scene.reply.send(Frame("One.", State.FINAL, last=False), "part-0")
    await scene.lose(Frame("Two.", State.FINAL), "part-1")
    await scene.reply.send(Frame("Two.", State.FINAL), "part-1")
    assert scene.texts == ["One.", "Two."]


async def test_a_final_part_is_found_whatever_its_footnote_said(scene: Scene) -> None:
    """A new process does not know how fast the answer was."""
    await scene.lose(replace(DONE, footnote="first word 0.24 s"), "part-0")
    post = await scene.restart().send(DONE, "part-0")
    await post.edit(DONE)
    assert scene.texts == [DONE.text]


@pytest.mark.parametrize("frame", [GROWING, DONE])
async def test_a_new_process_finds_what_the_old_one_sent_last(scene: Scene, frame: Frame) -> None:
    await scene.lose(frame, "part-0")
    post = await scene.restart().send(DONE, "part-0")
    await post.edit(DONE)
    assert scene.texts == [DONE.text]


async def test_a_part_that_did_not_land_is_sent(scene: Scene) -> None:
    scene.sim.faults.add("POST message", Fault(Trouble.RESET_BEFORE))
    with pytest.raises(Unsure):
        await scene.reply.send(DONE, "part-0")
    await scene.clock.advance(LONG)
    await scene.reply.send(DONE, "part-0")
    assert scene.texts == [DONE.text]


async def test_another_answer_with_the_same_words_is_not_taken_for_it(scene: Scene) -> None:
    """It points at another question, or grows with another key."""
    other = scene.sim.say(scene.sim.channel, "And what is that?")
    elsewhere = scene.adapter.reply(f"{scene.sim.channel.id}:{other.id}")
    await elsewhere.send(DONE, "other-0")
    await elsewhere.send(GROWING, "other-1")
    await scene.clock.advance(LONG)
    reply = scene.restart()
    await reply.send(DONE, "part-0")
    await reply.send(GROWING, "part-1")
    assert scene.texts == [DONE.text, GROWING.text, DONE.text, GROWING.text]


async def test_what_a_person_said_is_not_taken_for_it(scene: Scene) -> None:
    scene.sim.say(scene.sim.channel, DONE.text, mention_bot=False)
    await scene.clock.advance(LONG)
    await scene.restart().send(DONE, "part-0")
    assert scene.texts == [DONE.text]


async def test_nobody_looks_while_the_nonce_is_known(scene: Scene) -> None:
    """The same send again is one call, and Discord itself says what there is."""
    scene.sim.faults.add("POST message", LOST)
    with pytest.raises(Unsure):
        await scene.reply.send(GROWING, "part-0")
    await scene.reply.send(GROWING, "part-0")
    await scene.restart().send(GROWING, "part-0")
    assert scene.texts == [GROWING.text]
    assert scene.sim.calls_of("GET messages") == []


async def test_nobody_looks_for_what_was_not_tried(scene: Scene) -> None:
    """A long wait for the model is no reason for a call before the first word."""
    await scene.clock.advance(LONG)
    await scene.reply.send(GROWING, "part-0")
    assert scene.sim.calls_of("GET messages") == []


async def test_without_an_answer_to_the_look_nothing_is_sent(scene: Scene) -> None:
    """It may be tried again: a look has no effect."""
    await scene.lose(DONE, "part-0")
    scene.sim.faults.add("GET messages", LOST, LOST)  # the HTTP library itself repeats a GET once
    with pytest.raises(Unreachable):
        await scene.reply.send(DONE, "part-0")
    await scene.reply.send(DONE, "part-0")
    assert scene.texts == [DONE.text]


async def test_a_channel_that_was_closed_meanwhile_says_so(scene: Scene) -> None:
    await scene.lose(DONE, "part-0")
    scene.sim.channel.closed = 50001
    with pytest.raises(Forbidden):
        await scene.reply.send(DONE, "part-0")


async def test_the_key_of_a_part_stands_in_its_button_as_long_as_it_grows(scene: Scene) -> None:
    post = await scene.reply.send(GROWING, "part-0")
    await post.edit(Frame("A heron is", State.STREAMING))
    (answer,) = scene.sim.answers(scene.sim.channel)
    assert [key_of(button) for shown in answer.history for button in shown.buttons] == ["part-0", "part-0"]


async def test_a_crash_between_a_send_and_its_receipt_leaves_one_message(tmp_path: Path) -> None:
    """The process is killed while nobody knows whether the first part is there, and Discord forgets the nonce."""
    async with SimDiscord(nonce_life=0.0) as sim:
        bot = DiscordBot(sim, tmp_path, lambda _: Script(["A heron ", "is a bird."], gap=60.0), nonce_life=0.0)
        async with bot.running():
            await sim.online()
            sim.faults.add("POST message", Fault(Trouble.TIMEOUT_AFTER, 30.0))
            sim.say(sim.channel, "What is a heron?")
            await sim.until(lambda: [post.text for post in sim.answers(sim.channel)] == ["A heron"])
        async with bot.running():
            await sim.until(lambda: len(sim.answers(sim.channel)[0].history) == 2)
            (answer,) = sim.answers(sim.channel)
            assert [control_of(button) for button in answer.now.buttons] == ["continue"]


async def test_an_answer_that_a_crash_cut_off_is_continued_by_a_press(tmp_path: Path) -> None:
    """Its button was drawn by one process and is pressed in the next."""
    async with SimDiscord() as sim:
        bot = DiscordBot(sim, tmp_path, lambda _: Script(["A heron ", "is a bird."], gap=60.0))
        async with bot.running():
            await sim.online()
            sim.say(sim.channel, "What is a heron?")
            await sim.until(lambda: bool(sim.answers(sim.channel)))
        async with bot.running():
            await sim.until(lambda: len(sim.answers(sim.channel)[0].history) == 2)
        bot.script = lambda _: Script(["is a bird."])
        async with bot.running():
            await sim.until(lambda: sim.gateway.connected)
            pressed = sim.press(sim.answers(sim.channel)[0], CONTINUE)
            await sim.until(lambda: sim.answers(sim.channel)[0].text == "A heron is a bird.")
            assert pressed.acknowledged_at is not None
            assert len(sim.answers(sim.channel)) == 1
