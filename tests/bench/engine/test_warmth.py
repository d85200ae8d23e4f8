"""A conversation that the engine has, has not, or has read again: on an engine that only notes what happens."""

from typing import Any

import pytest

from clawdbot.bench.engine.warmth import TRIES, Talk, Warmth, history_of, measure
from clawdbot.clock import SystemClock
from clawdbot.errors import EngineError
from clawdbot.prompts.prompt import Room
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine


class Notebook(ScriptedEngine):
    """Writes down what it is asked for, "forget" among it."""

    def __init__(self, *refusals: bool) -> None:
        """``refusals``: whether each emptying of the cache in turn is refused; later ones work."""
        super().__init__(lambda request: Script(["word "] * request.sampling.max_tokens), SystemClock())
        self.notes: list[str] = []
        self._refusals = list(refusals)

    async def forget(self) -> bool:
        self.notes += ["forget"] if (works := not (self._refusals and self._refusals.pop(0))) else []
        return works

    def generate(self, request: Any) -> Any:
        self.notes.append(request.id.partition("/")[0])
        return super().generate(request)


def talk_with(engine: Notebook, turns: int = 2) -> Talk:
    return Talk(engine, ManualClock(), "Be kind.", Room(4000, 3000), history_of(turns, 1))


@pytest.fixture
async def found() -> tuple[Notebook, Warmth]:
    """Three rounds."""
    engine = Notebook()
    return engine, await measure(talk_with(engine), 3)


async def test_each_way_finds_the_cache_as_its_name_says(found: tuple[Notebook, Warmth]) -> None:
    """And whichever is asked first changes; what is kept always comes after something that has read it."""
    engine, _ = found
    kept, cold, warmed = ["warmth"], ["forget", "warmth"], ["forget", "ahead", "warmth"]

    assert engine.notes == ["ahead", *kept, *cold, *warmed, *cold, *warmed, *kept, *warmed, *kept, *cold]


async def test_every_question_is_new_behind_the_same_beginning(found: tuple[Notebook, Warmth]) -> None:
    engine, warmth = found
    prompts = [request.prompt for request in engine.requests]

    assert {tuple(prompt[: warmth.tokens]) for prompt in prompts} == {tuple(prompts[0])}
    assert len({tuple(prompt) for prompt in prompts if len(prompt) > warmth.tokens}) == 9
    assert len({len(prompt) for prompt in prompts}) == 2


async def test_the_file_has_a_map_for_each_way(found: tuple[Notebook, Warmth]) -> None:
    written = found[1].to_map()

    assert written.keys() == {
        "prompt_tokens",
        "kept_ttft",
        "cold_ttft",
        "warmed_ttft",
        "reading",
        "cached_tokens",
    }
    assert found[1].ttft["warmed"].n == found[1].reading.n == 3
    assert written["cached_tokens"] == {"kept": [0] * 3, "cold": [0] * 3, "warmed": [0] * 3}


async def test_a_cache_that_is_still_in_use_is_emptied_a_little_later(clock: ManualClock) -> None:
    engine = Notebook(True, False)
    talk = Talk(engine, SystemClock(), "", Room(4000, 3000), [])

    await talk.forget()

    assert engine.notes == ["forget"]


async def test_a_cache_that_stays_in_use_is_an_error(through: Any, clock: ManualClock) -> None:
    """A figure called cold that is none would be worse than no figure."""
    engine = Notebook(*[True] * TRIES)

    with pytest.raises(EngineError, match="prefix cache"):
        await through(Talk(engine, clock, "", Room(4000, 3000), []).forget())
