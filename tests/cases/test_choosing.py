"""Personas, models and /usage, seen from a whole bot."""

import logging
from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.chat import Conversation, Person
from clawdbot.settings.config import AnswerSettings, Persona, Quota, SessionSettings
from clawdbot.store import Decision
from clawdbot.testing.rig import ADA, ADMIN, BOB, EVE, Rig, turns

NewRig = Callable[..., Rig]

TUTOR = Persona(system_prompt="Teach.", about="Explains step by step", temperature=0.1, max_tokens=77)
PIRATE = Persona(system_prompt="Arr.")
USUAL = AnswerSettings(system_prompt="Help.", temperature=0.9, max_tokens=500)


@pytest.fixture
def bot(rig: NewRig) -> Rig:
    """With two personas beside the default."""
    bot = rig(answers=USUAL)
    settle(bot, tutor=TUTOR, pirate=PIRATE)
    return bot


def settle(bot: Rig, **personas: Persona) -> None:
    """Let these be the personas from the next start on."""
    bot.settings = bot.settings.model_copy(update={"personas": personas})


async def says(bot: Rig, text: str, by: Person = ADA, *, chat: int = 1, private: bool = True) -> str:
    """What somebody gets for ``text``."""
    answer = bot.platform.say(text, by, chat=chat, private=private)
    await bot.idle()
    return "".join(answer.screen.texts)


async def opening(bot: Rig, *, chat: int = 1) -> str:
    """What the prompt of a question begins with."""
    await says(bot, "Hello", chat=chat)
    return turns(bot.requests[-1].prompt)[0][1]


async def test_a_persona_answers_where_it_was_chosen(bot: Rig) -> None:
    """With its own system prompt and way of choosing words; what it leaves out is as usual. Nowhere else."""
    async with bot.running():
        assert await says(bot, "/persona Tutor") == words.CHOSEN.format(kind="persona", name="tutor")

        assert await opening(bot) == "Teach."
        chosen = bot.requests[-1].sampling
        assert (chosen.max_tokens, chosen.temperature, chosen.top_p) == (77, 0.1, USUAL.top_p)
        assert await opening(bot, chat=2) == "Help."


async def test_a_persona_is_kept_over_restarts_and_new_conversations(bot: Rig) -> None:
    """/new forgets what was said, not who answers."""
    async with bot.running():
        await says(bot, "/persona tutor")
        await bot.stop()
    async with bot.running():
        await says(bot, "/new")

        assert await opening(bot) == "Teach."


async def test_default_is_the_persona_of_the_answers(bot: Rig) -> None:
    async with bot.running():
        for name in ("tutor", "default"):
            await says(bot, f"/persona {name}")
        await bot.stop()
    async with bot.running():
        assert await opening(bot) == "Help."


async def test_the_history_stays_when_the_persona_changes(bot: Rig) -> None:
    async with bot.running():
        await says(bot, "One")
        await says(bot, "/persona pirate")
        await says(bot, "Two")

    assert [text for _, text in turns(bot.requests[-1].prompt)] == ["Arr.", "One", "You said: One", "Two", ""]


async def test_a_persona_that_is_gone_gives_way_to_the_default(bot: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """The log says so, and it counts again when it is back."""
    async with bot.running():
        await says(bot, "/persona tutor")
        await bot.stop()
    settle(bot, pirate=PIRATE)
    with caplog.at_level(logging.WARNING):
        async with bot.running():
            assert await opening(bot) == "Help."
            await bot.stop()
    settle(bot, tutor=TUTOR)
    async with bot.running():
        assert await opening(bot) == "Teach."

    assert "memory:1:0 has chosen the persona 'tutor', which is not there any more" in caplog.text


async def test_personas_are_listed(bot: Rig) -> None:
    async with bot.running():
        said = await says(bot, "/persona")

    assert said == (
        "The persona here is default.\n\n* default\n* tutor: Explains step by step\n* pirate\n\n"
        "/persona and a name chooses another one for this conversation."
    )


async def test_an_unknown_persona_is_refused_with_the_names(bot: Rig) -> None:
    async with bot.running():
        assert await says(bot, "/persona @everyone") == words.NO_SUCH_CHOICE.format(
            kind="persona", names="default, tutor, pirate"
        )
        assert await opening(bot) == "Help."


async def test_where_several_people_talk_admins_choose(bot: Rig) -> None:
    """And nobody else; who tried is in the audit."""
    async with bot.running():
        refused = await says(bot, "/persona tutor", private=False)
        noted = [(entry.decision, entry.reason) for entry in await bot.app.store.access.last(9)]
        chosen = await says(bot, "/persona pirate", ADMIN, private=False)
        await says(bot, "Hello", BOB, private=False)

    assert refused == words.ADMINS_CHOOSE
    assert (Decision.REFUSED, "/persona") in noted
    assert chosen == words.CHOSEN.format(kind="persona", name="pirate")
    assert turns(bot.requests[-1].prompt)[0][1] == "Arr."


async def test_where_each_has_their_own_conversation_each_chooses(bot: Rig) -> None:
    bot.settings = bot.settings.model_copy(update={"sessions": SessionSettings(groups="per_user")})
    async with bot.running():
        await says(bot, "/persona tutor", private=False)
        openings = []
        for person in (ADA, BOB):
            await says(bot, "Hello", person, private=False)
            openings.append(turns(bot.requests[-1].prompt)[0][1])

    assert openings == ["Teach.", "Help."]


async def test_a_choice_that_cannot_be_kept_is_not_made(bot: Rig) -> None:
    async with bot.running():
        with bot.refusing("INSERT ON choice"):
            assert await says(bot, "/persona tutor") == words.FAILED

        assert await opening(bot) == "Help."


async def test_there_is_one_model(bot: Rig) -> None:
    """It can be chosen, no other one can, and where a model's folder lies is nobody's business."""
    bot.settings = bot.settings.model_copy(
        update={"engine": bot.settings.engine.model_copy(update={"model": "/srv/models/Heron-7B"})}
    )
    async with bot.running():
        assert await says(bot, "/model") == "The model here is Heron-7B. There is no other model."
        assert await says(bot, "/model heron-7b") == words.CHOSEN.format(kind="model", name="Heron-7B")
        assert await says(bot, "/model gpt") == words.NO_SUCH_CHOICE.format(kind="model", names="Heron-7B")


async def test_names_are_suggested_to_people_who_may_talk(bot: Rig) -> None:
    async with bot.running():
        where = Conversation("memory", 1)
        suggest = bot.platform.suggest

        assert suggest("persona", where, ADA) == ("default", "tutor", "pirate")
        assert suggest("model", where, ADA) == ("demo",)
        assert suggest("allow", where, ADMIN) == ()
        assert suggest("persona", where, EVE) == ()


# /usage


async def test_usage_shows_ones_own_hour_and_day_and_the_conversation(rig: NewRig) -> None:
    """What the engine read and wrote for them, and what the next prompt has before its question."""
    bot = rig(quota=Quota(messages_per_day=20, tokens_per_hour=5000))
    async with bot.running():
        for text in ("One", "Two"):
            await says(bot, text)
        await says(bot, "Three", BOB, chat=2)
        said = await says(bot, "/usage")

    # Prompts of 8 and 30 tokens, answers of 2 each; two exchanges of 16 characters with 14 tokens of the template.
    assert said == (
        "This hour: 2 messages, 42 of 5,000 tokens.\n"
        "This day: 2 of 20 messages, 42 tokens.\n"
        "This conversation: 2 questions with answers, 46 of 8,192 tokens."
    )


async def test_an_admin_has_no_limits_to_be_shown(rig: NewRig) -> None:
    bot = rig(quota=Quota(messages_per_day=20))
    async with bot.running():
        said = await says(bot, "/usage", ADMIN)

    assert said.startswith("This hour: 0 messages, 0 tokens.\nThis day: 0 messages, 0 tokens.\n")


async def test_usage_works_while_the_model_loads(rig: NewRig) -> None:
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        said = await says(bot, "/usage")

    assert said.endswith("This conversation: 0 questions with answers.")


async def test_usage_says_that_a_conversation_is_over(rig: NewRig) -> None:
    """And nothing else does."""
    bot = rig(sessions=SessionSettings(idle_reset=2.0))
    async with bot.running():
        await says(bot, "One")
        await bot.advance(3 * 3600.0)

        assert (await says(bot, "/usage")).endswith("It is over: your next question begins a new one.")
        assert await says(bot, "Two") == "You said: Two"
        assert "1 question with answers" in await says(bot, "/usage")


async def test_usage_is_for_ones_own_eyes(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("/usage", ADA, private=False)
        await bot.idle()

    assert answer.screen.frames[0].private
