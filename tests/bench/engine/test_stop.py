"""How soon a stop has its effect: judged from what was seen, measured on a bot whose engine writes by a script."""

from clawdbot.bench.engine.stop import Stops, drawn, measure
from clawdbot.bench.engine.stop_scene import MOMENTS, Stopped, judged
from clawdbot.chat import State
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.testing.engine import INFO, Script, ScriptedEngine
from clawdbot.testing.memory import Seen
from clawdbot.words import STOPPED_MARK

LONG = INFO.step_budget


def reader(request: Request) -> Script:
    """Long prompts take a while to be read; answers take a second."""
    return Script(["word "] * 200, first=0.05 if len(request.prompt) > LONG else 0.002, gap=0.005)


def seen(*texts: str, state: State = State.STREAMING) -> list[Seen]:
    return [Seen(0.0, 0, text, state) for text in texts]


def marked(text: str) -> list[Seen]:
    return seen(f"{text}\n\n{STOPPED_MARK}", state=State.STOPPED)


def test_text_that_was_written_before_the_press_is_none_after_it() -> None:
    """The mark may bring what was not shown yet."""
    assert judged([*seen("A"), *marked("A heron")], 1, "A heron") == (0, True)
    assert judged([*seen("A heron"), *marked("A heron")], 1, "A heron") == (0, False)


def test_text_that_was_written_after_the_press_counts() -> None:
    """In a growing look, below the mark, or in place of it."""
    assert judged([*seen("A"), *marked("A heron is")], 1, "A heron") == (1, True)
    assert judged([*seen("A", "A heron is"), *marked("A heron is")], 1, "A heron") == (2, True)
    assert judged([*seen("A"), *marked("A"), *seen("A")], 1, "A") == (1, False)


def test_a_notice_is_no_text() -> None:
    notice = seen("You are number 2 in line.", state=State.WAITING)
    assert judged([*notice, *notice, *seen(STOPPED_MARK, state=State.STOPPED)], 1, "") == (0, False)


def test_all_moments_are_drawn_equally_often() -> None:
    """In the same order for the same seed."""
    moments = drawn(30, 7)
    assert {moment: moments.count(moment) for moment in MOMENTS} == dict.fromkeys(MOMENTS, 10)
    assert moments == drawn(30, 7) != drawn(30, 8)


def test_the_file_has_all_stops_and_each_moment() -> None:
    found = Stops([Stopped("queued", 0.001, 0, caught_up=False), Stopped("writing", 0.003, 1, caught_up=True)], 2)
    told = found.to_map()

    assert told["press_to_abort"] == {"p50": 2.0, "p95": 2.9, "p99": 2.98, "max": 3.0, "n": 2}
    assert (told["text_after_stop"], told["caught_up"], told["leaked_blocks"]) == (1, 1, 2)


async def test_a_run_stops_answers_at_all_moments() -> None:
    """Each of them ends with a mark, and the engine has none of it left; the gauge is asked before and after."""
    engine, gauge = ScriptedEngine(reader, SystemClock()), iter([3, 5])
    found = await measure(engine, SystemClock(), used=lambda: next(gauge), stops=6, chats=2, seed=1)

    assert {one.moment for one in found.stops} == set(MOMENTS)
    assert all(0.0 <= one.seconds < 1.0 for one in found.stops)
    assert sum(one.after for one in found.stops) == 0
    assert found.leaked_blocks == 2
    assert engine.running == set()
