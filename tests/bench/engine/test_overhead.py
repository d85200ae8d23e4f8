"""The engine called directly against the whole bot, both on an engine that writes by a script."""

from pathlib import Path

import pytest

from clawdbot.app import open_app
from clawdbot.bench.engine.hearing import Heard
from clawdbot.bench.engine.overhead import ANSWERS, Console, compare, question, readable
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Chunk
from clawdbot.latency.observed import answers
from clawdbot.latency.timing import Timing
from clawdbot.settings.config import Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine, opened


async def test_the_same_kind_of_question_goes_both_ways_in_turns() -> None:
    clock = SystemClock()
    engine = ScriptedEngine(lambda request: Script(["One", " two"]), clock)

    found = await compare(engine, clock, pairs=3)

    ways = ["raw" if request.id.startswith("raw") else "bot" for request in engine.requests]
    assert ways == ["raw", "bot", "bot", "raw", "raw", "bot"]
    assert len({len(request.prompt) for request in engine.requests}) == 1
    assert len({tuple(request.prompt) for request in engine.requests}) == 6
    assert (found.raw.n, found.bot.n) == (3, 3)
    assert 0 < found.bot.p50 < 5
    assert found.added.n == 3
    assert found.to_map().keys() == {"raw_ttft", "bot_ttft", "added", "pairs"}


async def test_the_bots_half_is_drawn_by_the_console_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing of it reaches the terminal at which the bench runs."""
    clock = SystemClock()
    engine = ScriptedEngine(lambda request: Script(["One", " two"]), clock)
    timings: list[Timing] = []
    settings = Settings(store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"))
    async with open_app(settings, lambda: opened(engine), clock, answers(timings.append)) as app:
        console = Console(app, timings)

        seconds = await console.ask(0)

    assert seconds == timings[0].first_visible
    assert timings[0].platform == "console"
    assert "One two" in console.screen.getvalue()
    assert capsys.readouterr().out == ""


async def test_a_failed_answer_has_no_time(tmp_path: Path) -> None:
    """Least of all that of the question before."""
    clock, timings = SystemClock(), list[Timing]()
    scripts = iter([Script(["One", " two"]), Script([], fails=True)])
    engine = ScriptedEngine(lambda request: next(scripts), clock)
    settings = Settings(store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"), answers=ANSWERS)
    async with open_app(settings, lambda: opened(engine), clock, answers(timings.append)) as app:
        console = Console(app, timings)

        seconds = [await console.ask(pair) for pair in range(2)]

    assert [one is None for one in seconds] == [False, True]


def test_a_text_is_readable_when_it_has_two_characters_that_are_seen() -> None:
    """The bot shows no less; time that it spends waiting for the second one is the engine's."""
    heard = Heard(
        1.0, [(2.0, Chunk("**", [1])), (3.0, Chunk("A", [2])), (4.0, Chunk("da", [3])), (5.0, Chunk("!", [4]))]
    )

    assert readable(heard) == 3.0
    assert readable(Heard(1.0, [(2.0, Chunk(" ", [1]))])) is None


def test_questions_are_as_long_as_each_other() -> None:
    assert len({len(question(number)) for number in range(0, 2000, 7)}) == 1
