"""Several models in one bot: each conversation has one of them, and none takes another one down."""

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.app import adopt
from clawdbot.chat import Person, State
from clawdbot.engine.protocol import Request
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import EngineUnavailable
from clawdbot.models import FIRST_PAUSE
from clawdbot.settings.config import AnswerSettings, Persona, SessionSettings
from clawdbot.testing.engine import CharacterTokenizer, Script
from clawdbot.testing.engines import ScriptedEngines
from clawdbot.testing.rig import ADA, ADMIN, Rig, question, silent, slow, turns

NewRig = Callable[..., Rig]

BROKEN = EngineUnavailable("There is no such model.", "Name another one.")
SHIFT = 100_000
"""What lies between the ids of two tokenizers of the same text."""


class Shifted(CharacterTokenizer):
    """Another tokenizer."""

    @property
    def fingerprint(self) -> str:
        return "shifted"

    async def encode(self, text: str) -> list[int]:
        return [SHIFT + token for token in await super().encode(text)]


def large(request: Request) -> Script:
    """What the other model says."""
    return Script(["Large: ", question([token % SHIFT if token > 0 else token for token in request.prompt])])


def offer(bot: Rig, **models: EngineSettings) -> None:
    """Let the bot have these models from its next start on, beside the default one."""
    bot.settings = bot.settings.model_copy(update={"models": models})
    bot.others = {name: ScriptedEngines(large, bot.clock) for name in models}


@pytest.fixture
def bot(rig: NewRig) -> Rig:
    """With the models "demo", which is the default, and "large"."""
    bot = rig()
    offer(bot, large=EngineSettings(about="Knows more"))
    return bot


async def says(bot: Rig, text: str, by: Person = ADA, *, chat: int = 1, private: bool = True) -> str:
    """What somebody gets for ``text``."""
    answer = bot.platform.say(text, by, chat=chat, private=private)
    await bot.idle()
    return "".join(answer.screen.texts)


# Choosing


async def test_the_chosen_model_answers_where_it_was_chosen(bot: Rig) -> None:
    """And nowhere else."""
    async with bot.running():
        assert await says(bot, "/model LARGE") == words.CHOSEN.format(kind="model", name="large")

        assert await says(bot, "Hello") == "Large: Hello"
        assert await says(bot, "Hello", chat=2) == "You said: Hello"
        assert [timing.model for timing in bot.timings] == ["large", "demo"]


async def test_models_are_listed_with_what_is_said_about_them(bot: Rig) -> None:
    async with bot.running():
        said = await says(bot, "/model")

    assert said == (
        "The model here is demo.\n\n* demo\n* large: Knows more\n\n"
        "/model and a name chooses another one for this conversation."
    )


async def test_whoever_chooses_a_model_is_told_that_it_is_not_there(bot: Rig) -> None:
    """And in the list."""
    offer(bot, large=EngineSettings(about="Knows more"), huge=EngineSettings())
    bot.others["large"].loaded.clear()
    bot.others["huge"].trouble = BROKEN
    async with bot.running():
        await bot.rest()
        said = await says(bot, "/model")
        chosen = await says(bot, "/model huge")

    assert "* demo\n* large: Knows more; is still loading\n* huge: cannot be used just now\n" in said
    assert chosen == "From now on the model here is huge. It cannot be used just now."


async def test_a_choice_is_kept_over_a_restart(bot: Rig) -> None:
    async with bot.running():
        await says(bot, "/model large")
        await bot.stop()
    async with bot.running():
        assert await says(bot, "Hello") == "Large: Hello"


async def test_a_model_that_is_gone_gives_way_to_the_default(bot: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """As after an upgrade of the configuration; the log says so, and the choice counts again when it is back."""
    async with bot.running():
        await says(bot, "/model large")
        await bot.stop()
    offer(bot)
    with caplog.at_level(logging.WARNING):
        async with bot.running():
            assert await says(bot, "Hello") == "You said: Hello"
            assert await says(bot, "/model") == "The model here is demo. There is no other model."
            await bot.stop()
    offer(bot, large=EngineSettings())
    async with bot.running():
        assert await says(bot, "Hello") == "Large: Hello"

    assert "memory:1:0 has chosen the model 'large', which is not there any more; 'demo' takes its place" in caplog.text


async def test_a_group_has_the_model_that_its_admin_chose(bot: Rig) -> None:
    async with bot.running():
        assert await says(bot, "/model large", private=False) == words.ADMINS_CHOOSE
        await says(bot, "/model large", ADMIN, private=False)

        assert await says(bot, "Hello", private=False) == "Large: Ada: Hello"


# One conversation, two models


async def test_a_conversation_goes_on_with_another_model(bot: Rig) -> None:
    """It is told what was said before, in its own tokens."""
    bot.others["large"].tokenizer = Shifted()
    async with bot.running():
        await says(bot, "One")
        await says(bot, "/model large")
        await says(bot, "Two")
        await says(bot, "/model demo")
        await says(bot, "Three")

    assert {token > SHIFT for token in bot.others["large"].requests[-1].prompt if token > 0} == {True}
    before = [text for _, text in turns(bot.requests[-1].prompt)]
    assert before == ["One", "You said: One", "Two", "Large: Two", "Three", ""]


async def test_a_question_to_a_small_model_shortens_nothing_for_the_large_one(rig: NewRig) -> None:
    """Each keeps its own beginning over a restart, too: one that moved would cost the engine's prefix cache."""
    bot = rig(answers=AnswerSettings(system_prompt="", max_tokens=20))
    offer(bot, small=EngineSettings())
    bot.others["small"].info = replace(bot.info, context=160)
    async with bot.running():
        for number in range(5):
            await says(bot, f"Question number {number}, of some length")
        await says(bot, "/model small")
        await says(bot, "Two")
        await bot.stop()
    first = turns(bot.others["small"].requests[-1].prompt)[0][1]
    async with bot.running():
        await says(bot, "3")
        await says(bot, "/model demo")
        await says(bot, "Four")

    assert first != "Question number 0, of some length"
    assert turns(bot.others["small"].requests[-1].prompt)[0][1] == first
    seen = [text for _, text in turns(bot.requests[-1].prompt)]
    assert (seen[0], len(seen)) == ("Question number 0, of some length", 16)


async def test_usage_counts_what_the_model_of_the_conversation_has_left(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(system_prompt="", max_tokens=20))
    offer(bot, small=EngineSettings())
    bot.others["small"].info = replace(bot.info, context=160)
    async with bot.running():
        for number in range(5):
            await says(bot, f"Question number {number}, of some length")
        await says(bot, "/model small")
        await says(bot, "Two")
        small = await says(bot, "/usage")
        await says(bot, "/model demo")
        large = await says(bot, "/usage")

    assert ("6 questions with answers" in small, "6 questions with answers" in large) == (False, True)


async def test_an_interrupted_answer_is_continued_by_the_model_that_is_there_now(bot: Rig) -> None:
    bot.script = slow
    bot.others["large"].tokenizer = Shifted()
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        bot.engine.die()
        await bot.idle()
        await says(bot, "/model large")
        bot.platform.press("continue", answer)
        await bot.idle()

    begun = bot.others["large"].requests[-1].prompt[-len("One two ") :]
    assert "".join(chr(token - SHIFT) for token in begun) == "One two "
    assert answer.screen.texts == ["One two Large: Count"]


async def test_an_answer_is_written_anew_by_the_model_that_is_chosen_now(bot: Rig) -> None:
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        await says(bot, "/model large")
        await says(bot, "/retry")

    assert answer.screen.texts == ["Large: Hello"]


# What is about one model alone


async def test_each_model_has_its_own_way_to_answer(rig: NewRig) -> None:
    """What its table leaves out is as in [answers]; what the persona says comes first."""
    bot = rig(answers=AnswerSettings(system_prompt="Help.", temperature=0.9, max_tokens=500))
    offer(bot, large=EngineSettings(system_prompt="Think.", temperature=0.2, max_tokens=900))
    pirate = Persona(system_prompt="Arr.", max_tokens=50)
    bot.settings = bot.settings.model_copy(update={"personas": {"pirate": pirate}})
    async with bot.running():
        await says(bot, "/model large")
        await says(bot, "Hello")
        await says(bot, "/persona pirate")
        await says(bot, "Hello")
        await says(bot, "Hello", chat=2)

    asked = [request for request in (*bot.others["large"].requests, *bot.requests) if request.conversation]
    assert [turns(request.prompt)[0][1] for request in asked] == ["Think.", "Arr.", "Help."]
    chosen = [(one.sampling.max_tokens, one.sampling.temperature, one.sampling.top_p) for one in asked]
    assert chosen == [(900, 0.2, 0.95), (50, 0.2, 0.95), (500, 0.9, 0.95)]


async def test_each_model_has_its_own_places(rig: NewRig) -> None:
    """A crowd before one keeps nobody out of another, neither in line nor by the limit of what may wait."""
    bot = rig(silent, sessions=SessionSettings(concurrent=2, waiting=1))
    offer(bot, large=EngineSettings(concurrent=1))
    async with bot.running():
        await says(bot, "/model large", chat=9)
        for chat in (1, 2, 3):
            bot.platform.say("Hello", chat=chat)
        await bot.advance(1.0)
        refused = bot.platform.say("Hello", ADMIN, chat=4)
        answered = bot.platform.say("Hello", ADMIN, chat=9)
        await bot.advance(1.0)

        assert refused.screen.texts == [words.FULL.format(waiting=1)]
        assert answered.screen.texts == ["Large: Hello"]
        assert [model.admission.concurrent for model in bot.app.models] == [2, 1]


async def test_what_can_be_sent_is_what_the_chosen_model_reads(bot: Rig) -> None:
    """A picture is refused where the model sees none, and named as readable where it does."""
    bot.others["large"].info = replace(bot.info, images=2)
    async with bot.running():
        await bot.rest()
        await says(bot, "/model large", chat=2)
        sent = [bot.platform.say("", chat=chat, files={"song.mp3": b"x", "a.png": b"x"}) for chat in (1, 2)]
        await bot.idle()

    said = [words.READABLE, words.READABLE_WITH_PICTURES]
    assert [answer.screen.texts for answer in sent] == [
        [words.UNREADABLE.format(names="song.mp3", what=what)] for what in said
    ]


async def test_usage_is_measured_by_the_model_that_answers(bot: Rig) -> None:
    bot.others["large"].info = replace(bot.info, context=4096)
    async with bot.running():
        await says(bot, "Hello")
        before = await says(bot, "/usage")
        await says(bot, "/model large")
        after = await says(bot, "/usage")

    assert ("of 8,192 tokens" in before, "of 4,096 tokens" in after) == (True, True)


async def test_latency_is_told_for_each_model(bot: Rig) -> None:
    async with bot.running():
        await says(bot, "/model large")
        for chat in (1, 1, 2):
            await says(bot, "Hello", chat=chat)
        said = await says(bot, "/latency", ADMIN)

    assert "\nlarge: 2\n" in said
    assert "\ndemo: 1\n" in said
    assert "**large:** `scripted` · none · script 1" in said


async def test_how_a_model_answers_can_change_while_it_runs(bot: Rig) -> None:
    """And what is said about it."""
    async with bot.running():
        await says(bot, "/model large")
        models = {"large": EngineSettings(about="Knows all", temperature=0.1)}
        adopt(bot.app, bot.settings.model_copy(update={"models": models}))
        await says(bot, "Hello")
        listed = await says(bot, "/model")

    assert bot.others["large"].requests[-1].sampling.temperature == 0.1
    assert "* large: Knows all" in listed


async def test_each_model_reads_its_own_opening_ahead(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(system_prompt="Help. " * 50))
    offer(bot, large=EngineSettings(system_prompt="Think. " * 50))
    async with bot.running():
        await bot.rest()

    ahead = [turns(engines.requests[0].prompt)[0][1][:5] for engines in (bot, bot.others["large"])]
    assert ahead == ["Help.", "Think"]


# One that is not there


async def test_a_model_that_loads_keeps_its_questions_and_nobody_elses(bot: Rig) -> None:
    bot.others["large"].loaded.clear()
    async with bot.running():
        await says(bot, "/model large")
        waits = bot.platform.say("Hello")
        await bot.advance(2.0)
        assert waits.screen.texts == [f"{words.LOADING} {words.ANOTHER_MODEL}"]
        other = bot.platform.say("Hello", chat=2)
        await bot.advance(1.0)
        assert other.screen.texts == ["You said: Hello"]
        bot.others["large"].loaded.set()
        await bot.idle()

    assert waits.screen.texts == ["Large: Hello"]


async def test_who_waits_for_a_model_may_choose_another_one(bot: Rig) -> None:
    """The question that waits is answered by that."""
    bot.others["large"].loaded.clear()
    async with bot.running():
        await says(bot, "/model large")
        waits = bot.platform.say("Hello")
        await bot.advance(2.0)
        bot.platform.say("/model demo")
        await bot.idle()

        assert waits.screen.texts == ["You said: Hello"]


async def test_a_model_that_cannot_be_started_says_so_and_takes_nothing_down(
    bot: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """Its admin finds the reason in the log; when it is mended it answers."""
    bot.others["large"].trouble = BROKEN
    async with bot.running():
        await says(bot, "/model large")
        answer = bot.platform.say("Hello")
        await bot.idle()
        assert answer.screen.texts == [words.MODEL_DOWN.format(name="large")]
        assert answer.screen.states == [State.FAILED]
        assert await says(bot, "Hello", chat=2) == "You said: Hello"
        bot.others["large"].trouble = None
        await bot.advance(FIRST_PAUSE)

        assert await says(bot, "Hello") == "Large: Hello"
    assert "the model large cannot be used; next try in 10 s: There is no such model. Name another one." in caplog.text


async def test_a_model_whose_servers_are_away_is_soon_told_as_such(bot: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """The servers are tried further: when they come, it answers without anybody's doing."""
    away = RemoteSettings(endpoints=("http://one/v1",), away_after=5.0)
    offer(bot, large=EngineSettings(kind="remote", remote=away))
    bot.others["large"].loaded.clear()
    async with bot.running():
        await says(bot, "/model large")
        answer = bot.platform.say("Hello")
        await bot.advance(4.0)
        assert answer.screen.texts == [f"{words.LOADING} {words.ANOTHER_MODEL}"]
        await bot.advance(2.0)
        await bot.idle()
        assert answer.screen.texts == [words.MODEL_DOWN.format(name="large")]
        bot.others["large"].loaded.set()
        await bot.rest()

        assert await says(bot, "Hello") == "Large: Hello"
    assert "the engine of large is not there after 5 s; that is tried further" in caplog.text


async def test_servers_that_are_away_do_not_end_a_bot_whose_other_model_fails(bot: Rig) -> None:
    """They may come; a bot ends where each of its models has failed."""
    bot.trouble = BROKEN
    away = RemoteSettings(endpoints=("http://one/v1",), away_after=5.0)
    offer(bot, large=EngineSettings(kind="remote", remote=away))
    bot.others["large"].loaded.clear()
    async with bot.running():
        await bot.advance(60.0)
        bot.others["large"].loaded.set()
        await bot.rest()
        await says(bot, "/model large")

        assert await says(bot, "Hello") == "Large: Hello"


async def test_whose_question_a_model_that_is_down_left_can_have_it_answered_by_another(bot: Rig) -> None:
    bot.others["large"].trouble = BROKEN
    async with bot.running():
        await says(bot, "/model large")
        answer = bot.platform.say("Hello")
        await bot.idle()
        await says(bot, "/model demo")
        await says(bot, "/retry")

    assert answer.screen.texts == ["You said: Hello"]


async def test_a_default_that_cannot_be_started_leaves_the_others(bot: Rig) -> None:
    bot.trouble = BROKEN
    async with bot.running():
        assert await says(bot, "Hello") == words.MODEL_DOWN.format(name="demo")
        await says(bot, "/model large")
        assert await says(bot, "Hello") == "Large: Hello"


async def test_a_bot_without_any_model_ends(bot: Rig) -> None:
    """With what the admin has to mend, as it does with its only one."""
    bot.trouble = bot.others["large"].trouble = BROKEN
    async with bot.running() as life:
        await bot.rest()
        with pytest.raises(ExceptionGroup) as caught:
            await life

    assert caught.value.subgroup(EngineUnavailable) is not None


async def test_a_model_that_dies_in_mid_answer_disturbs_no_other(bot: Rig) -> None:
    """What was written stays, marked; its next question waits until it is back; the other answers all the time."""
    bot.others["large"].script = slow
    bot.script = slow
    async with bot.running():
        await says(bot, "/model large")
        answers = [bot.platform.say("Count", chat=chat) for chat in (1, 2)]
        await bot.advance(2.5)
        bot.others["large"].engine.die()
        await bot.idle()
        again = bot.platform.say("Count")
        await bot.idle()

    assert answers[0].screen.texts == [f"One two\n\n{words.INTERRUPTED_MARK}"]
    assert [answer.screen.texts for answer in (answers[1], again)] == [["One two three four."]] * 2
    assert (len(bot.engines), len(bot.others["large"].engines)) == (1, 2)


async def test_a_model_that_died_and_cannot_be_opened_again_says_so(bot: Rig) -> None:
    """Who waits for it is told as soon as that is known: nobody knows how long it takes."""
    async with bot.running():
        await says(bot, "/model large")
        await bot.rest()
        bot.others["large"].trouble = BROKEN
        bot.others["large"].engine.die()
        waits = bot.platform.say("Hello")
        await bot.idle()

        assert waits.screen.texts == [words.MODEL_DOWN.format(name="large")]
        assert [model.host.phase for model in bot.app.models] == [Phase.READY, Phase.DOWN]


async def test_a_model_never_sleeps_under_an_answer_that_came_to_it_by_a_late_choice(bot: Rig) -> None:
    offer(bot, large=EngineSettings(sleep_after=5.0))
    bot.others["large"].engines_sleep = True
    bot.others["large"].script = lambda request: Script(["One ", "two."], gap=720.0)
    bot.loaded.clear()
    async with bot.running():
        waits = bot.platform.say("Hello")
        await bot.advance(2.0)
        bot.platform.say("/model large")
        await bot.idle()

    assert waits.screen.texts == ["One two."]
    assert bot.others["large"].engine.naps == 0


async def test_a_model_sleeps_and_wakes_by_itself(bot: Rig) -> None:
    """While another one is awake."""
    offer(bot, large=EngineSettings(sleep_after=5.0))
    async with bot.running():
        await bot.advance(300.0)
        asleep = [model.host.phase for model in bot.app.models]
        await says(bot, "/model large")

        assert await says(bot, "Hello") == "Large: Hello"
        assert asleep == [Phase.READY, Phase.ASLEEP]
