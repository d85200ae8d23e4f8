"""A bot as a whole: adapters that fail, an engine that does not start, an orderly end."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from clawdbot.app import FIRST_PAUSE, LONGEST_PAUSE, STEADY, App, open_app, serve, supervise
from clawdbot.chat import Event, Receive, Reply, State
from clawdbot.engine.host import OpenEngine
from clawdbot.errors import AdapterError, EngineUnavailable, Limited, StoreError, Unauthorized
from clawdbot.sessions.sessions import LAST_WORDS
from clawdbot.settings.config import SessionSettings, Settings, StoreSettings
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.memory import Mishap
from clawdbot.testing.rig import Rig, echo, question, silent, slow
from clawdbot.words import INTERRUPTED_MARK

NewRig = Callable[..., Rig]
OpenApp = Callable[..., AbstractAsyncContextManager[App]]


class Moody:
    """An adapter that ends each `run` as it is told to; without a word it serves until it is cancelled."""

    def __init__(self, clock: ManualClock, *endings: BaseException | float | None) -> None:
        """``endings``: an error to raise, seconds to serve before the next one, or None to end by itself."""
        self.runs: list[float] = []
        """When `run` was called."""
        self.cancelled = False
        self._clock = clock
        self._endings = list(endings)
        self.serving = asyncio.Event()

    async def run(self, receive: Receive) -> None:
        self.runs.append(self._clock.now())
        while self._endings:
            ending = self._endings.pop(0)
            if ending is None:
                return
            if isinstance(ending, BaseException):
                raise ending
            await self._clock.sleep(ending)
        self.serving.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled = True

    def reply(self, ref: str) -> Reply:
        raise NotImplementedError


async def ignore(event: Event, reply: Reply) -> None:
    """Hear nothing."""


@pytest.fixture
def app(clock: ManualClock, tmp_path: Path) -> OpenApp:
    """Opens all but adapters; without an engine of its own it has one that repeats questions."""

    def app(open_engine: OpenEngine | None = None) -> AbstractAsyncContextManager[App]:
        settings = Settings(store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"))
        return open_app(
            settings, open_engine or (lambda: opened(ScriptedEngine(echo, clock))), clock, lambda timing: None
        )

    return app


# One adapter


async def test_an_adapter_that_fails_is_run_again_after_growing_pauses(clock: ManualClock) -> None:
    adapter = Moody(clock, *(AdapterError("no network") for _ in range(12)))
    supervising = asyncio.create_task(supervise("moody", adapter, ignore, clock, set()))
    await clock.advance(3600.0)
    supervising.cancel()

    pauses = [after - before for before, after in zip(adapter.runs, adapter.runs[1:], strict=False)]
    assert pauses[:5] == [FIRST_PAUSE, 2.0, 4.0, 8.0, 16.0]
    assert pauses[-1] == LONGEST_PAUSE
    assert adapter.serving.is_set()


async def test_an_adapter_that_was_healthy_is_run_again_soon(clock: ManualClock) -> None:
    failures = [AdapterError("no network")] * 4
    adapter = Moody(clock, *failures, STEADY + 1.0, AdapterError("dropped"))
    supervising = asyncio.create_task(supervise("moody", adapter, ignore, clock, set()))
    await clock.advance(3600.0)
    supervising.cancel()

    assert adapter.runs[-1] - adapter.runs[-2] == STEADY + 1.0 + FIRST_PAUSE


async def test_a_fault_that_nobody_foresaw_is_logged_and_survived(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = Moody(clock, ZeroDivisionError("a bug"))
    supervising = asyncio.create_task(supervise("moody", adapter, ignore, clock, set()))
    await clock.advance(FIRST_PAUSE)
    supervising.cancel()

    assert adapter.serving.is_set()
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_an_adapter_that_is_cut_off_from_within_is_run_again(clock: ManualClock) -> None:
    """A cancellation that leaks out of a library is no order to end."""
    adapter = Moody(clock, asyncio.CancelledError())
    supervising = asyncio.create_task(supervise("moody", adapter, ignore, clock, set()))
    await clock.advance(FIRST_PAUSE)
    assert adapter.serving.is_set()
    supervising.cancel()
    await asyncio.wait({supervising})

    assert supervising.cancelled()


async def test_a_refused_token_is_not_tried_again(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    """A sentence without a traceback: only the owner can mend it."""
    adapter = Moody(clock, Unauthorized("The token is refused."))

    with pytest.raises(Unauthorized):
        await supervise("moody", adapter, ignore, clock, set())
    assert len(adapter.runs) == 1
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.ERROR, None)]


async def test_an_adapter_may_end_by_itself(clock: ManualClock) -> None:
    """As the console does at the end of its input."""
    adapter = Moody(clock, None)
    await supervise("moody", adapter, ignore, clock, set())

    assert len(adapter.runs) == 1


# Several adapters


async def test_an_adapter_that_fails_takes_no_other_down(app: OpenApp, clock: ManualClock) -> None:
    failing = Moody(clock, *(AdapterError("no network") for _ in range(100)))
    healthy = Moody(clock)
    stop = asyncio.Event()
    async with app() as one:
        serving = asyncio.create_task(serve(one, {"a": failing, "b": healthy}, clock, stop, 0.0))
        await healthy.serving.wait()
        await clock.advance(600.0)
        assert not healthy.cancelled
        stop.set()
        await serving

    assert len(healthy.runs) == 1
    assert len(failing.runs) > 5
    assert healthy.cancelled


async def test_one_refused_token_leaves_the_others_served(app: OpenApp, clock: ManualClock) -> None:
    refused, healthy = Moody(clock, Unauthorized("no")), Moody(clock)
    stop = asyncio.Event()
    async with app() as one:
        serving = asyncio.create_task(serve(one, {"a": refused, "b": healthy}, clock, stop, 0.0))
        await healthy.serving.wait()
        await clock.settle()
        assert not serving.done()
        stop.set()
        await serving


async def test_without_any_accepted_token_the_bot_ends(app: OpenApp, clock: ManualClock) -> None:
    adapters = {name: Moody(clock, Unauthorized(name)) for name in ("a", "b")}
    with pytest.RaisesGroup(Unauthorized):
        async with app() as one:
            await serve(one, adapters, clock, asyncio.Event(), 0.0)


async def test_the_bot_ends_when_its_adapters_have_ended(app: OpenApp, clock: ManualClock) -> None:
    async with app() as one:
        await serve(one, {"a": Moody(clock, None)}, clock, asyncio.Event(), 10.0)


async def test_somebody_else_may_stand_in_front_of_the_bot(app: OpenApp, clock: ManualClock) -> None:
    """What `receive` is given instead of the bot's own hears everything."""
    told: list[Receive] = []

    class Listening(Moody):
        async def run(self, receive: Receive) -> None:
            told.append(receive)

    async with app() as one:
        await serve(one, {"a": Listening(clock)}, clock, asyncio.Event(), 0.0, ignore)
    assert told == [ignore]


# The engine


async def test_an_engine_that_cannot_start_ends_the_bot(app: OpenApp, clock: ManualClock) -> None:
    """It is for the admin to mend; the adapters are stopped and the error comes out."""

    def impossible() -> AbstractAsyncContextManager[ScriptedEngine]:
        raise EngineUnavailable("There is no such model.", "Choose another.")

    adapter = Moody(clock)
    with pytest.RaisesGroup(EngineUnavailable):
        async with app(impossible) as one:
            await serve(one, {"a": adapter}, clock, asyncio.Event(), 10.0)
    assert adapter.cancelled or not adapter.runs


async def test_what_was_asked_of_an_engine_that_cannot_start_is_kept(rig: NewRig) -> None:
    """The next start answers it."""
    bot = rig()
    bot.loaded.clear()
    async with bot.running() as life:
        answer = bot.platform.say("Hello")
        await bot.advance(2.0)
        bot.trouble = EngineUnavailable("There is not enough memory.", "Choose a smaller model.")
        bot.loaded.set()
        with pytest.RaisesGroup(EngineUnavailable):
            await bot.play(life)
    bot.trouble = None
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]


async def test_a_database_that_cannot_be_opened_is_said_at_once(clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "clawdbot.sqlite3"
    path.write_text("This is no database, however long one reads it. " * 50)
    settings = Settings(store=StoreSettings(path=path))

    with pytest.raises(StoreError):
        async with open_app(settings, lambda: opened(ScriptedEngine(echo, clock)), clock, lambda timing: None):
            raise AssertionError("it opened")


# The end


async def test_running_answers_may_finish_when_the_bot_is_told_to_end(rig: NewRig) -> None:
    bot = rig(slow, sessions=SessionSettings(drain=10.0))
    async with bot.running() as life:
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        begun = bot.clock.now()
        await bot.stop()

        assert life.done()
        assert bot.clock.now() - begun < 4.0
    assert answer.screen.texts == ["One two three four."]
    assert answer.screen.states == [State.FINAL]


async def test_what_takes_longer_is_marked_as_interrupted(rig: NewRig) -> None:
    """What was written stays, is not written anew by the next start, and is part of the history."""
    bot = rig(slow, sessions=SessionSettings(drain=0.5))
    async with bot.running():
        answer = bot.platform.say("Count")
        queued = bot.platform.say("And then?")
        await bot.advance(2.2)
        await bot.stop()
    bot.script = echo
    async with bot.running():
        bot.platform.say("Go on")
        await bot.idle()

    assert answer.screen.texts == [f"One two\n\n{INTERRUPTED_MARK}"]
    assert queued.screen.texts == [INTERRUPTED_MARK]
    assert [question(request.prompt) for request in bot.requests] == ["Count", "Go on"]
    assert "One two" in "".join(chr(token) for token in bot.requests[1].prompt if token > 0)


async def test_what_is_asked_while_the_bot_ends_is_for_the_next_start(rig: NewRig) -> None:
    """It is stored, no time is given to it, and the next start answers it."""
    bot = rig(slow, sessions=SessionSettings(drain=10.0))
    async with bot.running() as life:
        bot.platform.say("Count")
        await bot.advance(1.5)
        ending = asyncio.create_task(bot.stop())
        await bot.clock.settle()
        late = bot.platform.say("Hello", chat=2)
        await ending
        assert life.done()
    assert late.calls == []
    async with bot.running():
        await bot.idle()

    assert late.screen.texts == ["One two three four."]
    assert [question(request.prompt) for request in bot.requests] == ["Count", "Hello"]


async def test_a_platform_that_refuses_for_hours_does_not_hold_up_the_end(rig: NewRig) -> None:
    """The next start delivers what it would not take."""
    bot = rig(sessions=SessionSettings(drain=10.0))
    async with bot.running():
        answer = bot.platform.say("Hello")
        answer.inject("send", Mishap(Limited(14_000.0)))
        await bot.rest()
        begun = bot.clock.now()
        await bot.stop()
        assert bot.clock.now() - begun <= 10.0 + LAST_WORDS
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert len(bot.requests) == 1


async def test_a_bot_that_ends_while_the_model_reads_leaves_nothing_running(rig: NewRig) -> None:
    bot = rig(silent, sessions=SessionSettings(drain=1.0))
    async with bot.running():
        answer = bot.platform.say("Think")
        await bot.rest()
        await bot.stop()

    assert answer.screen.texts == [INTERRUPTED_MARK]
    assert bot.engine.running == set()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert others == set()
