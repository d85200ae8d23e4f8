"""What the page is told."""

from dataclasses import replace

from clawdbot.abilities import Phase
from clawdbot.chat import Rate
from clawdbot.delivery.pace import Room
from clawdbot.engine.admission import Depth
from clawdbot.errors import Limited
from clawdbot.latency.observed import Call, Received
from clawdbot.ops.gauges import Gauges, Gpu
from clawdbot.ops.look import KEPT, Look
from clawdbot.ops.readings import ModelReading, Readings
from clawdbot.testing.engine import INFO

from ..latency.answers import ANSWER

READY = Readings(
    closing=False,
    models=(ModelReading("small", Phase.READY, INFO, Depth(2, 1, 1)),),
    connected={"discord": True},
    answers=3,
)
IDLE = Gauges((), 0.0, 0)


def test_an_answer_is_told_with_its_stages_and_not_with_its_conversation() -> None:
    look = Look()
    look.observe(replace(ANSWER, conversation="discord:314159265:0"))
    (told,) = look.answers(None)["answers"]

    assert [name for name, _ in told["stages"]][-1] == "complete"
    assert (told["ttft"], told["visible"]) == (ANSWER.first_token, ANSWER.first_visible)
    assert "314159265" not in str(told)


def test_an_answer_of_which_nothing_was_seen_has_no_stages() -> None:
    look = Look()
    look.observe(replace(ANSWER, first_visible=None, state="stopped"))
    (told,) = look.answers(None)["answers"]

    assert (told["stages"], told["state"]) == ([], "stopped")


def test_a_reader_gets_all_at_first_and_then_what_is_new() -> None:
    look = Look()
    look.recall([replace(ANSWER, at=1.0), replace(ANSWER, at=2.0)])
    look.observe(replace(ANSWER, at=3.0))
    first = look.answers(None)
    told = look.told
    look.observe(replace(ANSWER, at=4.0))

    assert (first["all"], [one["at"] for one in first["answers"]]) == (True, [1.0, 2.0, 3.0])
    new = look.answers(told)
    assert (new["all"], [one["at"] for one in new["answers"]]) == (False, [4.0])
    assert look.answers(look.told)["answers"] == []


def test_what_is_kept_is_bounded() -> None:
    look = Look()
    look.recall(replace(ANSWER, at=float(number)) for number in range(3 * KEPT))
    for _ in range(KEPT + 1):
        look.observe(ANSWER)

    assert len(look.answers(None)["answers"]) == KEPT
    assert len(look.answers(0)["answers"]) == KEPT


def test_a_platform_is_told_with_its_calls_refusals_and_limits() -> None:
    look = Look()
    look.observe(Call("discord", "edit", 0.1, None))
    look.observe(Call("discord", "edit", 0.1, Limited(7.0)))
    look.observe(Received("discord", "question"))
    rooms = {
        "discord": Room((Rate(50, 1.0),), (2,), 0.0),
        "discord:1:edit": Room((Rate(5, 5.0),), (2,), 6.4),
        "discord:1:send": Room((Rate(5, 5.0),), (1,), 0.0),
        "discord:2:send": Room((Rate(5, 5.0),), (0,), 0.0),
    }
    (told,) = look.now(READY, IDLE, rooms)["platforms"]

    assert told == {
        "name": "discord",
        "state": "connected",
        "calls": 2,
        "limited": 1,
        "waited": 7,
        "rates": "2 of 50 in 1 s",
        "places": "2 in use, 1 closed for up to 6 s",
    }


def test_machine_engine_and_line_are_told() -> None:
    gauges = Gauges((Gpu("NVIDIA H200", 0.5, 2**30, 2**31),), 1.5, 2**30)
    told = Look().now(READY, gauges, {})

    assert ("in line for the engine", "2") in told["facts"]
    assert ("GPU 0", "NVIDIA H200, 50% busy, 1.0 of 2.0 GiB") in told["facts"]
    assert told["engine"][:3] == [("model", "small"), ("state", "ready"), ("runs", "scripted")]
    assert told["reasons"] == []


def test_an_engine_that_starts_says_so() -> None:
    told = Look().now(replace(READY, models=(replace(READY.default, phase=Phase.LOADING, engine=None),)), IDLE, {})

    assert told["reasons"] == ["The engine is starting."]
    assert told["engine"] == [("model", "small"), ("state", "loading")]
