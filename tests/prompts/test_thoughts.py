"""Thoughts that the chat template opens are never seen, and the history has them as the model wrote them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from clawdbot.prompts.thoughts import opened_at_end
from clawdbot.testing.engine import INFO, Script
from clawdbot.testing.rig import Rig, silent, turns

NewRig = Callable[..., Rig]

THOUGHT = ["They ", "greet me.", "\n</think>\n\n", "Hello ", "there."]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<|assistant|><think>\n", "<think>\n"),
        ("<|assistant|>\n<Thinking>", "<Thinking>"),
        ("<|assistant|><think>\n\n</think>\n\n", ""),
        ("<|assistant|>", ""),
    ],
)
def test_only_an_open_tag_at_the_end_opens_a_thought(text: str, tag: str) -> None:
    assert opened_at_end(text) == tag


async def test_a_thought_that_the_chat_template_opens_is_never_on_the_screen(rig: NewRig) -> None:
    """The model does not write its beginning, but the template says so before the first word."""
    bot = rig(lambda request: Script(THOUGHT, gap=1.0))
    bot.engines_think = True
    async with bot.running():
        answer = bot.platform.say("Hi")
        await bot.idle()

    assert {seen.text for seen in answer.screen.history} == {"Hello", "Hello there."}


async def test_the_history_has_a_thought_as_the_model_wrote_it(rig: NewRig) -> None:
    """With the template's tag before it, once: so the next prompt begins as this one did, for the prefix cache, too."""
    bot = rig(lambda request: Script(THOUGHT))
    bot.engines_think = True
    async with bot.running():
        for _ in range(2):
            bot.platform.say("Hi")
            await bot.idle()

    first, second = (request.prompt for request in bot.requests)
    assert turns(first)[-1] == ("assistant", "<think>\n")
    assert second[: len(first)] == first
    assert turns(second)[1:] == [
        ("assistant", f"<think>\n{''.join(THOUGHT)}"),
        ("user", "Hi"),
        ("assistant", "<think>\n"),
    ]


@pytest.mark.parametrize("model", ["scripted", "another"])
async def test_a_thought_that_was_interrupted_goes_on(rig: NewRig, model: str) -> None:
    """Also with another model whose template opens it, too: there is one tag, before what was written."""
    bot = rig(lambda request: Script(THOUGHT[:4], gap=1.0, fails=True))
    bot.engines_think = True
    async with bot.running():
        answer = bot.platform.say("Hi")
        await bot.idle()
    bot.info, bot.script = replace(INFO, model=model), lambda request: Script(THOUGHT[4:])
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.idle()

    assert turns(bot.requests[-1].prompt)[-1] == ("assistant", "<think>\n" + "".join(THOUGHT[:4]))
    assert answer.screen.texts == ["Hello there."]


async def test_an_engine_that_dies_before_a_word_of_its_thought_is_asked_again(rig: NewRig) -> None:
    """What the template opens is no text of the answer."""
    bot = rig(silent)
    bot.engines_think = True
    async with bot.running():
        answer = bot.platform.say("Hi")
        await bot.rest()
        bot.script = lambda request: Script(THOUGHT)
        bot.engine.die()
        await bot.idle()

    assert answer.screen.texts == ["Hello there."]
