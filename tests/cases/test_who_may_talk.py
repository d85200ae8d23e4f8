"""Who may talk to the bot, and how much, seen from a whole bot."""

import re
from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.chat import Person
from clawdbot.menu import COMMANDS
from clawdbot.people.pairing import LIFE, MOST_TRIES_OF_ALL, MOST_TRIES_OF_ONE, new_code
from clawdbot.settings.config import Quota, SessionSettings
from clawdbot.testing.rig import ADA, ADMIN, BOB, EVE, Rig, echo, silent, slow

NewRig = Callable[..., Rig]

FOR_ADMINS = [command.name for command in COMMANDS if command.admins_only]
REFUSED = words.REFUSED.format(id=EVE.id)


async def code_from(bot: Rig) -> str:
    """A code that the admin has just been given."""
    given = bot.platform.say("/pair", ADMIN, chat=9, private=True)
    await bot.idle()
    (text,) = given.screen.texts
    (code,) = re.findall(r"`/pair ([A-Z0-9-]+)`", text)
    return str(code)


async def says(bot: Rig, text: str, by: Person, *, chat: int = 3, private: bool = True) -> list[str]:
    """What somebody gets for ``text``."""
    answer = bot.platform.say(text, by, chat=chat, private=private)
    await bot.idle()
    return answer.screen.texts


# Admins decide


async def test_an_admin_lets_somebody_in_and_keeps_them_out_again(rig: NewRig) -> None:
    """By number, at once, and over restarts."""
    bot = rig()
    async with bot.running():
        assert await says(bot, f"/allow {EVE.id}", ADMIN) == [words.LET_IN.format(id=EVE.id)]
        assert await says(bot, "Hello", EVE, private=False) == ["You said: Eve: Hello"]
        await bot.stop()
    async with bot.running():
        assert await says(bot, "Hello", EVE) == ["You said: Hello"]
        assert await says(bot, f"/deny {EVE.id}", ADMIN) == [words.KEPT_OUT.format(id=EVE.id)]
        assert await says(bot, "Hello", EVE) == [REFUSED]
        await bot.stop()
    async with bot.running():
        assert await says(bot, "Hello", EVE) == []
        assert await says(bot, "Hello", EVE, private=False) == []


async def test_who_is_kept_out_is_kept_out_of_what_the_settings_allow(rig: NewRig) -> None:
    """And the answer that they wait for ends."""
    bot = rig(silent)
    async with bot.running():
        bot.platform.say("Hello", BOB, chat=2)
        await bot.rest()
        bot.platform.say(f"/deny {BOB.id}", ADMIN)
        await bot.rest()
        after = bot.platform.say("Hello?", BOB)
        await bot.rest()

        assert after.screen.texts == [words.REFUSED.format(id=BOB.id)]
        assert len(bot.requests) == len(bot.engine.aborted) == 1


async def test_who_is_kept_out_is_so_in_the_middle_of_a_burst(rig: NewRig) -> None:
    """Questions that were said before, but not taken in yet, are not taken in any more."""
    bot = rig(silent, quota=Quota(messages_per_day=1000), sessions=SessionSettings(share=100))
    async with bot.running():
        for chat in range(50):
            bot.platform.say("Hello", ADA, chat=chat)
        bot.platform.say(f"/deny {ADA.id}", ADMIN)
        for _ in range(20):
            await bot.rest()

        assert bot.app.sessions.tickets == []


async def test_no_admin_locks_another_one_out(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        said = await says(bot, f"/deny {ADMIN.id}", ADMIN)

        assert said == [words.ADMIN_STAYS.format(id=ADMIN.id)]
        assert await says(bot, "Hello", ADMIN) == ["You said: Hello"]


@pytest.mark.parametrize("whom", ["", "Eve", "@eve", "3 4", "-3", "0", "³", str(2**63), "<@3", "3>", "<@&3>"])
async def test_only_a_number_says_whom(rig: NewRig, whom: str) -> None:
    bot = rig()
    async with bot.running():
        assert await says(bot, f"/allow {whom}", ADMIN) == [words.WHOM.format(name="allow")]
        assert await says(bot, "Hello", EVE) == [REFUSED]


@pytest.mark.parametrize("name", FOR_ADMINS)
async def test_a_command_for_admins_says_nothing_to_others(rig: NewRig, name: str) -> None:
    """The same short sentence whatever they ask for, and whether or not it would have worked."""
    bot = rig()
    async with bot.running():
        for behind in ("", f" {EVE.id}", f" {await code_from(bot)}"):
            assert await says(bot, f"/{name}{behind}", ADA) == [words.ADMINS_ONLY]
            assert await says(bot, f"/{name}{behind}", ADA, private=False) == [words.ADMINS_ONLY]
        assert await says(bot, "Hello", EVE) == [REFUSED]


# Codes


async def test_a_code_lets_one_person_into_a_private_chat(rig: NewRig) -> None:
    """It works once, in private alone, and what it brought outlives a restart."""
    bot = rig()
    async with bot.running():
        code = await code_from(bot)
        assert await says(bot, f"/pair {code.lower()}", EVE) == [words.PAIRED]
        assert await says(bot, "Hello", EVE) == ["You said: Hello"]
        assert await says(bot, "Hello", EVE, chat=5, private=False) == [REFUSED]
        assert await says(bot, f"/pair {code}", Person(4, "Dan"), chat=4) == [words.REFUSED.format(id=4)]
        await bot.stop()
    async with bot.running():
        assert await says(bot, "Hello", EVE) == ["You said: Hello"]
        assert await says(bot, "Hello", Person(4, "Dan"), chat=4) == []


async def test_a_code_is_never_good_in_a_group(rig: NewRig) -> None:
    """And is good nowhere after it was read by all."""
    bot = rig()
    async with bot.running():
        code = await code_from(bot)
        assert await says(bot, f"/pair {code}", EVE, private=False) == [REFUSED]
        assert await says(bot, f"/pair {code}", EVE) == []
        assert await says(bot, "Hello", EVE) == []


@pytest.mark.parametrize("by", [ADA, ADMIN])
async def test_a_code_that_was_said_in_a_group_is_good_no_more(rig: NewRig, by: Person) -> None:
    """Whoever said it: others have read it."""
    bot = rig()
    async with bot.running():
        code = await code_from(bot)
        await says(bot, f"/pair {code}", by, private=False)
        assert await says(bot, f"/pair {code}", EVE) == [REFUSED]


async def test_no_code_is_made_where_others_read_it(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        assert await says(bot, "/pair", ADMIN, private=False) == [words.IN_PRIVATE]


async def test_a_code_expires(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        code = await code_from(bot)
        await bot.advance(LIFE)
        assert await says(bot, f"/pair {code}", EVE) == [REFUSED]


async def test_a_code_brings_nobody_back_who_is_kept_out(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        await says(bot, f"/deny {EVE.id}", ADMIN)
        assert await says(bot, f"/pair {await code_from(bot)}", EVE) == [REFUSED]
        assert await says(bot, "Hello", EVE) == []


async def test_a_wrong_code_is_answered_as_anything_else_is(rig: NewRig) -> None:
    """Once, in the same words: nobody learns that there are codes."""
    bot = rig()
    async with bot.running():
        guess = bot.platform.say(f"/pair {new_code()}", EVE, private=True)
        other = bot.platform.say("Hello", Person(4, "Dan"), chat=4, private=True)
        await bot.idle()
        later = [await says(bot, f"/pair {new_code()}", EVE), await says(bot, "Hello", Person(4, "Dan"), chat=4)]

    assert guess.screen.texts == [REFUSED]
    assert [frame.text.replace("4", "3") for frame in other.screen.frames] == guess.screen.texts
    assert later == [[], []]


async def test_nobody_tries_many_codes(rig: NewRig) -> None:
    """Also when all are tried in one moment; the right one then comes too late, until an hour is over."""
    bot = rig()
    async with bot.running():
        right = await code_from(bot)
        for code in (*(new_code() for _ in range(MOST_TRIES_OF_ONE)), right):
            bot.platform.say(f"/pair {code}", EVE, private=True)
        await bot.idle()
        assert await says(bot, "Hello", EVE) == []
        await bot.advance(3600.0)
        assert await says(bot, f"/pair {await code_from(bot)}", EVE) == [words.PAIRED]


async def test_not_even_many_people_try_many_codes(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        for guess in range(MOST_TRIES_OF_ALL):
            bot.platform.say(f"/pair {new_code()}", Person(100 + guess, "Dan"), chat=100 + guess, private=True)
        await bot.idle()
        assert await says(bot, f"/pair {await code_from(bot)}", EVE) == [REFUSED]


# Quotas


async def test_a_limited_person_gets_one_notice_and_not_one_for_each_message(rig: NewRig) -> None:
    """It says when the window is over; the model is not asked, and others are not limited by it."""
    bot = rig(quota=Quota(messages_per_hour=2))
    async with bot.running():
        await bot.advance(2400.0 - bot.clock.wall() % 3600.0)
        mine = [await says(bot, f"Question {number}", ADA) for number in range(5)]
        other = await says(bot, "Hello", BOB)
        asked = len(bot.requests)
        await bot.advance(1200.0)
        next_hour = [await says(bot, "Again", ADA) for _ in range(4)]

    notice = [words.QUOTA.format(window="an hour", wait="20 min")]
    assert mine == [["You said: Question 0"], ["You said: Question 1"], notice, [], []]
    assert (other, asked) == (["You said: Hello"], 3)
    assert next_hour[:2] == [["You said: Again"]] * 2
    assert [bool(said) for said in next_hour[2:]] == [True, False]


async def test_a_burst_meets_the_quota_as_it_is(rig: NewRig) -> None:
    """None of the questions was stored when the last one came."""
    bot = rig(quota=Quota(messages_per_day=3), sessions=SessionSettings(queue=100))
    async with bot.running():
        answers = [bot.platform.say("Hello", ADA, chat=chat) for chat in range(50)]
        await bot.idle()

    assert len(bot.requests) == 3
    assert sum(bool(answer.calls) for answer in answers) == 4


async def test_tokens_are_counted_from_what_the_engine_used(rig: NewRig) -> None:
    """The answer that passes the limit is still given to its end."""
    bot = rig(echo, quota=Quota(tokens_per_day=30))
    async with bot.running():
        first = await says(bot, "x" * 40, ADA)
        second = await says(bot, "Hello", ADA)

    assert first == [f"You said: {'x' * 40}"]
    assert second[0].startswith("That was all that I may do for one person in a day.")
    assert len(bot.requests) == 1


async def test_a_quota_holds_over_a_restart_and_so_does_its_one_notice(rig: NewRig) -> None:
    bot = rig(quota=Quota(messages_per_day=1))
    async with bot.running():
        await says(bot, "One", ADA)
        assert len(await says(bot, "Two", ADA)) == 1
        await bot.stop()
    async with bot.running():
        assert await says(bot, "Three", ADA) == []


async def test_a_redelivered_message_meets_no_quota(rig: NewRig) -> None:
    """Nobody is told about a limit for what was answered already."""
    bot = rig(quota=Quota(messages_per_day=1))
    async with bot.running():
        answer = bot.platform.say("One", ADA, id="7")
        await bot.idle()
        bot.platform.say("One", ADA, id="7")
        await bot.idle()

    assert answer.screen.texts == ["You said: One"]


async def test_admins_and_commands_have_no_quota(rig: NewRig) -> None:
    bot = rig(quota=Quota(messages_per_hour=1, tokens_per_hour=1))
    async with bot.running():
        assert [await says(bot, "Hello", ADMIN) for _ in range(3)] == [["You said: Hello"]] * 3
        await says(bot, "Hello", ADA)
        assert await says(bot, "/new", ADA) == [words.NEW]


async def test_what_is_refused_for_another_reason_counts_for_nothing(rig: NewRig) -> None:
    bot = rig(quota=Quota(messages_per_day=1), sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        for _ in range(3):
            await says(bot, "x" * 11, ADA)
        assert await says(bot, "Hello", ADA) == ["You said: Hello"]


async def test_how_much_somebody_asked_cannot_be_read(rig: NewRig) -> None:
    """Then nothing is answered, and that is said."""
    bot = rig(quota=Quota(messages_per_day=1))
    async with bot.running():
        bot.execute("ALTER TABLE timing RENAME TO elsewhere")
        assert await says(bot, "Hello", ADA) == [words.NOT_KEPT]
        bot.execute("ALTER TABLE elsewhere RENAME TO timing")
    assert bot.requests == []


# The audit


async def test_the_audit_tells_what_was_decided_and_by_whom(rig: NewRig) -> None:
    """Numbers, places and reasons, and nothing of what anybody said."""
    bot = rig(quota=Quota(messages_per_day=1))
    async with bot.running():
        for text in ("my secret", "my secret", "my secret"):
            await says(bot, text, ADA, chat=1)
            await says(bot, text, EVE)
        await says(bot, "/latency my secret", ADA, chat=1)
        await says(bot, f"/pair {new_code()}", EVE)
        code = await code_from(bot)
        await says(bot, f"/pair {code}", EVE)
        await says(bot, f"/allow {EVE.id}", ADMIN, chat=9)
        await says(bot, f"/deny {EVE.id}", ADMIN, chat=9)
        shown = bot.platform.say("/audit", ADMIN, chat=9, private=True)
        await bot.idle()

    (frame,) = shown.screen.frames
    lines = [line.partition("  ")[2] for line in frame.text.splitlines() if "  " in line]
    assert frame.private
    assert lines[::-1] == [
        "allowed (user): memory 1, in memory:1:0",
        "refused (stranger): memory 3, in memory:3:0",
        "quota reached (messages_per_day): memory 1, in memory:1:0",
        "refused (/latency): memory 1, in memory:1:0",
        "wrong code: memory 3, in memory:3:0",
        "allowed (admin): memory 9, in memory:9:0",
        "code made: memory 9, in memory:9:0",
        "paired: memory 3 by 9, in memory:3:0",
        "granted: memory 3 by 9, in memory:9:0",
        "revoked: memory 3 by 9, in memory:9:0",
    ]
    assert "secret" not in frame.text
    assert code not in frame.text


async def test_the_audit_is_shown_in_private_alone(rig: NewRig) -> None:
    """Not every platform can hide an answer in a group."""
    bot = rig()
    async with bot.running():
        assert await says(bot, "/audit", ADMIN, private=False) == [words.IN_PRIVATE]


async def test_an_audit_that_takes_no_note_keeps_nobody_from_talking(rig: NewRig) -> None:
    """And lets nobody in."""
    bot = rig()
    async with bot.running():
        with bot.refusing("INSERT ON audit"):
            assert await says(bot, "Hello", ADA) == ["You said: Hello"]
            assert await says(bot, "Hello", EVE) == [REFUSED]
            assert (await says(bot, f"/allow {EVE.id}", ADMIN))[0].startswith(words.FAILED)
        assert await says(bot, "Hello", EVE) == []


async def test_what_was_ruled_is_old_and_what_was_noted_goes(rig: NewRig) -> None:
    """After ``keep_days`` (30) the audit forgets; who may talk stays as it is."""
    bot = rig(slow)
    async with bot.running():
        await says(bot, f"/allow {EVE.id}", ADMIN)
        assert "granted" in (await says(bot, "/audit", ADMIN))[0]
        await bot.stop()
    await bot.clock.advance(31 * 86_400.0)
    async with bot.running():
        assert "granted" not in (await says(bot, "/audit", ADMIN))[0]
        assert await says(bot, "Count", EVE) == ["One two three four."]
