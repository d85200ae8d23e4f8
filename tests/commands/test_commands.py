"""What people can ask of the bot itself, on a whole bot."""

from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.commands.commands import TABLE, called, number
from clawdbot.menu import COMMANDS
from clawdbot.sessions.ticket import may_change
from clawdbot.testing.rig import ADA, ADMIN, BOB, Rig, question, slow, turns

NewRig = Callable[..., Rig]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/new", "new"),
        ("/new now please ", "new"),
        ("/new\nnow", "new"),
        ("/Latency", "latency"),
        ("/usr/bin is what?", ""),
        ("/2 of 3", ""),
        ("/ new", ""),
        ("/", ""),
        ("what is /new", ""),
        ("", ""),
    ],
)
def test_a_command_is_a_name_behind_a_slash(text: str, expected: str) -> None:
    """A path or a fraction is a question."""
    assert called(text) == expected


@pytest.mark.parametrize("text", ["42", "<@42>", "<@!42>"])
def test_a_person_is_named_by_number(text: str) -> None:
    """As it is, or as Discord writes a mention."""
    assert number(text) == 42


def test_every_command_of_the_menus_does_something() -> None:
    """And nothing can be done that no menu shows."""
    assert list(TABLE) == [command.name for command in COMMANDS]


async def test_help_lists_what_the_asker_may_use(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        user, admin = bot.platform.say("/help", ADA), bot.platform.say("/help", ADMIN)
        await bot.idle()

    mine = [line.split(":")[0] for line in user.screen.texts[0].splitlines()]
    assert mine == ["/new", "/stop", "/retry", "/undo", "/persona", "/model", "/usage", "/help", "/latency me"]
    assert "/latency: " in admin.screen.texts[0]
    assert user.screen.frames[0].private


async def test_latency_shows_times_engine_and_machine_with_a_chart(rig: NewRig) -> None:
    """In private, in one message, the chart attached."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await bot.idle()
        said = bot.platform.say("/latency", ADMIN)
        await bot.app.sessions.idle()

    (frame,) = said.screen.frames
    assert frame.private
    assert "p50    p95    p99" in frame.text
    assert "1 answer" in frame.text
    assert "scripted" in frame.text
    assert [(file.name, file.data[:4]) for file in frame.files] == [("latency.png", b"\x89PNG")]


async def test_latency_before_the_first_answer_has_no_chart(rig: NewRig) -> None:
    """Also while the model loads."""
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        said = bot.platform.say("/latency", ADMIN)
        await bot.clock.settle()
        await bot.app.sessions.idle()

    (frame,) = said.screen.frames
    assert "no answers" in frame.text
    assert "starting" in frame.text
    assert frame.files == ()


async def test_latency_me_shows_ones_own_answers_alone(rig: NewRig) -> None:
    """To everybody, in private, the newest first; what others asked is in nobody's table but theirs."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count", ADA)
        await bot.idle()
        bot.platform.say("Count", BOB)
        await bot.idle()
        said = bot.platform.say("/latency me", ADA)
        await bot.app.sessions.idle()

    (frame,) = said.screen.frames
    assert frame.private
    assert frame.text.split("```")[1].split("\n")[1:-1] == [
        "first word       tok/s cached  total",
        "1.00 s               1     0% 4.00 s",
    ]


@pytest.mark.parametrize("text", ["/latency", "/latency all", "/latency 2", "/latency you"])
async def test_latency_of_others_is_for_admins(rig: NewRig, text: str) -> None:
    bot = rig()
    async with bot.running():
        said = bot.platform.say(text, ADA)
        await bot.app.sessions.idle()

    assert said.screen.texts == [words.ADMINS_ONLY]


async def test_new_belongs_to_its_conversation_while_an_answer_is_written(rig: NewRig) -> None:
    """What is being written belongs to the old conversation."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(1.5)
        said = bot.platform.say("/new")
        await bot.idle()
        bot.platform.say("Again")
        await bot.idle()

    assert said.screen.texts == [words.NEW]
    assert [question(request.prompt) for request in bot.requests] == ["Count", "Again"]
    assert len(turns(bot.requests[1].prompt)) == 2


async def test_commands_answer_while_the_conversation_is_busy(rig: NewRig) -> None:
    """They wait for no turn and take no slot."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(0.5)
        said = bot.platform.say("/help")
        await bot.rest()

        assert said.screen.texts != []


def test_whoever_asked_and_admins_may_change_an_answer() -> None:
    assert may_change(1, 1, admin=False)
    assert may_change(1, 2, admin=True)
    assert not may_change(1, 2, admin=False)
