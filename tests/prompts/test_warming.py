"""What is read before anybody asks: the system prompt at every start, a forgotten conversation when somebody types."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from clawdbot.chat import Conversation, Person, Typing
from clawdbot.commands.choices import Choice
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.host import FIRST_PAUSE
from clawdbot.engine.protocol import Request, Sampling
from clawdbot.engine.reuse import Reuse
from clawdbot.prompts.style import Style, Styles
from clawdbot.prompts.warming import PAUSE, Warming
from clawdbot.sessions.sessions import Capacity, Sessions
from clawdbot.settings.config import AnswerSettings, Persona
from clawdbot.store import open_store
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import INFO, Script, ScriptedEngine, opened
from clawdbot.testing.memory import MemoryReply
from clawdbot.testing.rig import ADA, EVE, Rig, echo, question, turns

NewRig = Callable[..., Rig]

KIND = AnswerSettings(system_prompt="Be kind. " * 50)
LONG = "Tell me about herons. " * 20
LONG_OPENING = "Be kind. " * (INFO.step_budget // 9 + 20)
"""Takes more than one step by itself."""


def ahead(bot: Rig) -> list[Request]:
    """What was read although nobody had asked."""
    return [request for request in bot.requests if request.id.startswith("ahead/")]


def asked(bot: Rig) -> list[Request]:
    """What somebody asked."""
    return [request for request in bot.requests if not request.id.startswith("ahead/")]


def endless(request: Request) -> Script:
    """The script of an engine that never has done with what it reads ahead."""
    return Script(["?"], first=inf) if request.id.startswith("ahead/") else echo(request)


async def types(bot: Rig, by: Person = ADA, chat: int = 1) -> None:
    await bot.platform.tell(Typing(Conversation("memory", chat), by), MemoryReply(bot.clock))
    await bot.rest()


async def talked(bot: Rig, *chats: int) -> None:
    """People have talked there, and since then the engine was started anew."""
    for chat in chats or (1,):
        bot.platform.say(LONG, chat=chat)
        await bot.idle()
    bot.engine.die()
    await bot.advance(FIRST_PAUSE)


# The system prompt


async def test_the_default_persona_is_read_at_the_start_and_each_history_with_its_own(rig: NewRig) -> None:
    bot = rig(answers=KIND)
    bot.settings = bot.settings.model_copy(update={"personas": {"tutor": Persona(system_prompt="Teach. " * 50)}})
    async with bot.running():
        bot.platform.say("/persona tutor")
        await bot.idle()
        await talked(bot, 1)
        await types(bot)

    openings = [turns(request.prompt)[0][1] for request in ahead(bot)]
    assert [opening.split(".")[0] for opening in openings] == ["Be kind", "Be kind", "Teach"]


async def test_every_engine_reads_the_system_prompt_when_it_is_there(rig: NewRig) -> None:
    """Whole blocks of it: the cache keeps no others. All prompts begin with exactly these tokens."""
    bot = rig(answers=KIND)
    async with bot.running():
        await bot.rest()
        bot.engine.die()
        await bot.advance(FIRST_PAUSE)
        bot.platform.say("Hello")
        await bot.idle()

    first, second = ahead(bot)
    assert [len(engine.requests) for engine in bot.engines] == [1, 2]
    assert first.prompt == second.prompt == asked(bot)[0].prompt[: len(first.prompt)]
    assert len(KIND.system_prompt) - INFO.cache_block < len(first.prompt) <= len(KIND.system_prompt) + 10
    assert len(first.prompt) % INFO.cache_block == 0
    assert first.sampling.max_tokens == 1


async def test_what_does_not_fill_a_block_is_not_read_ahead(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(system_prompt="Be kind."))
    async with bot.running():
        await bot.rest()

    assert bot.requests == []


async def test_a_question_does_not_wait_for_the_system_prompt(rig: NewRig) -> None:
    """Not even in the engine: what is read ahead makes way."""
    bot = rig(endless, answers=KIND)
    async with bot.running():
        await bot.rest()
        reading = ahead(bot)[0].id
        answer = bot.platform.say("Hello")
        await bot.idle()

        assert answer.screen.texts == ["You said: Hello"]
        assert bot.engine.aborted == {reading}


async def test_what_all_prompts_begin_with_makes_none_of_them_long(rig: NewRig) -> None:
    """A short question in a new conversation enters although a long one is being read."""
    bot = rig(endless_when_long, answers=AnswerSettings(system_prompt=LONG_OPENING))
    async with bot.running():
        await bot.rest()
        bot.platform.say("x" * 3000, chat=1)
        await bot.rest()
        answer = bot.platform.say("Hello", chat=2)
        await bot.advance(0.5)

        assert answer.screen.texts == ["Yes."]


async def test_a_question_that_comes_first_reads_it_for_all(rig: NewRig) -> None:
    """Such as one that waited for the engine: nothing is read ahead then, but later ones find it in the cache."""
    bot = rig(
        lambda request: (endless if request.id.startswith("ahead/") else endless_when_long)(request),
        answers=AnswerSettings(system_prompt=LONG_OPENING),
    )
    bot.loaded.clear()
    async with bot.running():
        bot.platform.say("Hello", chat=1)
        await bot.rest()
        bot.loaded.set()
        await bot.idle()
        bot.platform.say("x" * 3000, chat=2)
        await bot.rest()
        answer = bot.platform.say("Hello", chat=3)
        await bot.advance(0.5)

        assert answer.screen.texts == ["Yes."]


@pytest.fixture
async def warming(clock: ManualClock, tmp_path: Path) -> AsyncIterator[Warming]:
    """Without a bot around it."""
    style = Style(KIND.system_prompt, Sampling(10), history_share=0.5, most_messages=8)
    async with open_store(tmp_path / "clawdbot.sqlite3", clock) as store:
        admission = Admission(Policy(1, 1, 1.0), clock)
        yield Warming(
            "scripted",
            store=store,
            sessions=Sessions(Capacity(1, 1, 1), clock, lambda conversation: admission),
            admission=admission,
            reuse=Reuse(),
            clock=clock,
            styles=Styles(Choice("persona", {"default": ""}, store.choices), {"scripted": {"default": style}}),
        )


async def test_an_engine_that_is_gone_at_once_is_not_read_to(clock: ManualClock, warming: Warming) -> None:
    """Nothing stays behind: Python would warn of a coroutine that never began."""
    engine = ScriptedEngine(echo, clock)
    async with warming.around(lambda: opened(engine))():
        pass

    assert engine.requests == []


async def test_an_engine_closes_when_it_reads_nothing_any_more(clock: ManualClock, warming: Warming) -> None:
    engine = ScriptedEngine(endless, clock)
    running = []

    @asynccontextmanager
    async def opened_long() -> AsyncIterator[ScriptedEngine]:
        yield engine
        running.append(set(engine.running))

    async with warming.around(opened_long)():
        await clock.settle()
        running.append(set(engine.running))

    assert [len(requests) for requests in running] == [1, 0]


@pytest.mark.parametrize(("keeps", "read"), [(INFO.cache_tokens, 1), (0, 0)])
async def test_an_engine_without_a_prefix_cache_is_left_alone(
    clock: ManualClock, warming: Warming, keeps: int, read: int
) -> None:
    engine = ScriptedEngine(echo, clock, replace(INFO, cache_tokens=keeps))
    async with warming.around(lambda: opened(engine))():
        await clock.settle()

    assert len(engine.requests) == read


def endless_when_long(request: Request) -> Script:
    """The script of an engine that never has done with a document of x, which nobody reads ahead."""
    return Script(["?"], first=inf) if ord("x") in request.prompt[-100:] else Script(["Yes."])


# A conversation


async def test_a_forgotten_conversation_is_read_when_somebody_types(rig: NewRig) -> None:
    """Up to where the question will stand, so the next prompt begins with exactly that."""
    bot = rig()
    async with bot.running():
        await talked(bot)
        await types(bot)
        bot.platform.say("And storks?")
        await bot.idle()

    (read,) = ahead(bot)
    assert asked(bot)[-1].prompt[: len(read.prompt)] == read.prompt
    assert len(asked(bot)[-1].prompt) - len(read.prompt) == len("And storks?") + 3
    assert read.sampling.max_tokens == 1
    assert read.conversation == asked(bot)[-1].conversation != ""


async def test_what_the_engine_has_read_lately_is_not_read_again(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say(LONG)
        await bot.idle()
        await types(bot)

    assert ahead(bot) == []


async def test_what_was_read_ahead_counts_as_read(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        await talked(bot)
        await types(bot)
        await bot.advance(PAUSE)
        await types(bot)

    assert len(ahead(bot)) == 1


@pytest.mark.parametrize("why", ["a stranger", "nothing was said there", "an answer is on its way"])
async def test_it_is_left_alone_when(rig: NewRig, why: str) -> None:
    bot = rig(lambda request: Script(["?"], first=inf) if question(request.prompt) == "And?" else echo(request))
    async with bot.running():
        await talked(bot)
        if why == "an answer is on its way":
            bot.platform.say("And?")
            await bot.rest()
        await types(bot, EVE if why == "a stranger" else ADA, chat=2 if why == "nothing was said there" else 1)

        assert ahead(bot) == []


async def test_a_question_ends_what_is_read_ahead(rig: NewRig) -> None:
    """Wherever it is asked. Within a minute the same conversation is not begun again."""
    bot = rig(endless)
    async with bot.running():
        await talked(bot)
        await types(bot)
        answer = bot.platform.say("Hello", chat=2)
        await bot.idle()
        aborted = set(bot.engine.aborted)
        await types(bot)
        within_a_minute = len(ahead(bot))
        await bot.advance(PAUSE)
        await types(bot)

        assert answer.screen.texts == ["You said: Hello"]
        assert aborted == {ahead(bot)[0].id}
        assert (within_a_minute, len(ahead(bot))) == (1, 2)


async def test_one_conversation_is_read_at_a_time(rig: NewRig) -> None:
    bot = rig(endless)
    async with bot.running():
        await talked(bot, 1, 2)
        await types(bot, chat=1)
        await types(bot, chat=2)
        await bot.stop()

        (read,) = ahead(bot)
        assert bot.engine.aborted == {read.id}


async def test_the_bot_ends_without_waiting_for_what_is_read_ahead(rig: NewRig) -> None:
    bot = rig(endless)
    async with bot.running():
        await talked(bot)
        await types(bot)
        before = bot.clock.now()
        await bot.stop()

        assert bot.clock.now() == before
        assert bot.engine.aborted == {ahead(bot)[0].id}


async def test_nothing_is_asked_of_an_engine_that_is_gone(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        await talked(bot)
        bot.engine.die()
        await bot.rest()
        await types(bot)

        assert ahead(bot) == []


async def test_an_engine_that_dies_meanwhile_is_missed_by_nobody(rig: NewRig) -> None:
    bot = rig(endless)
    async with bot.running():
        await talked(bot)
        await types(bot)
        bot.engine.die()
        await bot.advance(FIRST_PAUSE)
        answer = bot.platform.say("Hello")
        await bot.idle()

        assert answer.screen.texts == ["You said: Hello"]
