"""Discord breaks in every way it has: the bot comes back by itself, and the other platform does not notice."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from clawdbot.app import supervise
from clawdbot.chat import Event, Frame, Reply, State
from clawdbot.errors import Unauthorized
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.rig import MemoryPlatform
from clawdbot_discord import DiscordAdapter

from .discord_bot import settings_for

GROWING = Frame("A heron", State.STREAMING)
DONE = Frame("A heron is a bird.", State.FINAL)


class Service:
    """Discord and another platform under their supervisors; one pair of ears each."""

    def __init__(self, sim: SimDiscord, clock: ManualClock, settings: dict[str, object]) -> None:
        self.sim = sim
        self.clock = clock
        self.ears = Ears()
        self.other = MemoryPlatform(clock)
        self._heard_beside: list[Reply] = []
        self.adapter = DiscordAdapter(settings_for(sim, **settings), clock)
        self.discord = asyncio.create_task(supervise("discord", self.adapter, self.ears.receive, clock, set()))
        self.beside = asyncio.create_task(supervise("memory", self.other, self._hear, clock, set()))

    async def wait(self, work: Awaitable[object]) -> None:
        """Let time pass until ``work`` is done: a tenth of a second for every turn of the real network."""
        task = asyncio.ensure_future(work)
        async with asyncio.timeout(20):
            while not task.done():
                await self.clock.advance(0.1)
                await asyncio.wait((task,), timeout=0.01)
        await task

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until ``condition`` holds on Discord."""
        await self.wait(self.sim.until(condition))

    async def check_other(self) -> None:
        """The other platform is served, whatever Discord does."""
        reply = self.other.say("hi")
        assert reply in self._heard_beside
        assert not self.beside.done()

    def _hear(self, event: Event, reply: Reply) -> Awaitable[None]:
        self._heard_beside.append(reply)
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


@asynccontextmanager
async def serving(sim: SimDiscord, clock: ManualClock, **settings: object) -> AsyncIterator[Service]:
    async with sim:
        service = Service(sim, clock, settings)
        await service.other.online.wait()
        try:
            yield service
        finally:
            for task in (service.discord, service.beside):
                task.cancel()
            await asyncio.wait((service.discord, service.beside))


async def test_a_refused_first_handshake_is_tried_again_with_a_new_client(clock: ManualClock) -> None:
    """discord.py dies of it with an AttributeError."""
    sim = SimDiscord(clock=clock)
    sim.gateway.refusals = 2
    async with serving(sim, clock) as service:
        await service.until(lambda: sim.gateway.refusals == 0)
        await service.check_other()
        await service.until(lambda: sim.gateway.connected)
        sim.say(sim.channel, "hi")
        message, _ = await service.ears.question()

    assert message.text == "hi"
    assert (sim.gateway.refusals, sim.gateway.identified) == (0, 1)


async def test_tries_come_later_and_later(clock: ManualClock) -> None:
    sim = SimDiscord(clock=clock)
    sim.faults.add("GET me", *4 * [Fault(Trouble.BAD_GATEWAY)])
    async with serving(sim, clock) as service:
        await service.until(lambda: sim.gateway.connected)
        await service.check_other()
    tries = [call.at for call in sim.calls_of("GET me")]
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses == [pytest.approx(pause, abs=0.9) for pause in (1, 2, 4, 8)]


@pytest.mark.parametrize("code", [4000, 4007, 4009])
async def test_a_connection_that_discord_hangs_up_is_made_again(clock: ManualClock, code: int) -> None:
    sim = SimDiscord(clock=clock)
    async with serving(sim, clock) as service:
        await service.until(lambda: sim.gateway.connected)
        await sim.gateway.hang_up(code)
        await service.until(lambda: not sim.gateway.connected)
        sim.say(sim.channel, "are you there?")
        await service.wait(service.ears.question())
        assert len(service.ears.heard) == 1


async def test_a_token_that_is_withdrawn_ends_the_service_of_discord_alone(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    sim = SimDiscord(clock=clock)
    async with serving(sim, clock) as service:
        await service.until(lambda: sim.gateway.connected)
        await sim.gateway.hang_up(4004)
        with pytest.raises(Unauthorized):
            await service.wait(service.discord)
        await service.check_other()
    assert "discord is not served: Discord refuses the token. Reset it" in caplog.text


async def test_a_missing_intent_ends_the_service_of_discord_alone(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the owner can switch it on; the log says where."""
    sim = SimDiscord(clock=clock, message_content=False)
    async with serving(sim, clock) as service:
        with pytest.raises(Unauthorized):
            await service.wait(service.discord)
        await service.check_other()
    assert "switch on 'Message Content Intent'" in caplog.text


async def test_after_a_long_outage_what_was_missed_is_answered(clock: ManualClock) -> None:
    """The client is built anew, on the clock's time; discord.py alone would wait up to 17 minutes."""
    sim = SimDiscord(clock=clock)
    async with serving(sim, clock, patience=30.0) as service:
        await service.until(lambda: sim.gateway.connected)
        sim.say(sim.channel, "hi")
        await service.ears.question()
        sim.gateway.refusals = 1000
        sim.gateway.forget()
        sim.gateway.drop()
        await service.until(lambda: not sim.gateway.connected)
        sim.say(sim.channel, "are you there?")
        await clock.advance(31)
        await service.check_other()
        sim.gateway.refusals = 0
        await service.wait(service.ears.question(1))
        await service.until(lambda: sim.gateway.connected)
        assert [event.text for event, _ in (await service.ears.question(0), await service.ears.question(1))] == [
            "hi",
            "are you there?",
        ]


async def test_an_answer_grows_on_in_the_next_session(clock: ManualClock) -> None:
    """Its message was sent by a client that is closed by now."""
    sim = SimDiscord(clock=clock)
    async with serving(sim, clock, patience=30.0) as service:
        await service.until(lambda: sim.gateway.connected)
        sim.say(sim.channel, "What is a heron?")
        _, reply = await service.ears.question()
        post = await reply.send(GROWING, "part-0")
        sim.gateway.refusals = 1000
        sim.gateway.forget()
        sim.gateway.drop()
        await service.until(lambda: not sim.gateway.connected)
        await clock.advance(31)
        sim.gateway.refusals = 0
        await service.until(lambda: sim.gateway.identified == 2)
        await post.edit(DONE)
        assert [shown.text for shown in sim.answers(sim.channel)[0].history] == [GROWING.text, DONE.text]


async def test_no_token_is_in_what_an_outage_writes(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the log nor in the tracebacks that it prints, at any level."""
    caplog.set_level(logging.DEBUG)
    sim = SimDiscord(clock=clock)
    sim.faults.add("GET me", Fault(Trouble.BAD_GATEWAY), Fault(Trouble.RESET_BEFORE), Fault(Trouble.LIMITED, 1.0))
    sim.gateway.refusals = 1
    async with serving(sim, clock) as service:
        await service.until(lambda: sim.gateway.connected)
        sim.faults.add("POST message", Fault(Trouble.RESET_BEFORE))
        sim.say(sim.channel, "hi")
        _, reply = await service.ears.question()
        try:
            await reply.send(GROWING, "part-0")
        except Exception:
            logging.getLogger("test").exception("the send failed")
    written = caplog.text
    assert "failed and is started again" in written
    assert "the send failed" in written
    assert sim.token not in written
