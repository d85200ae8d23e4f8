"""Long answers, seen from a whole bot that draws as the platforms do."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from clawdbot.chat import Limits
from clawdbot.testing.engine import Script
from clawdbot.testing.memory import limits
from clawdbot.testing.rig import Rig
from clawdbot_discord import render as discord
from clawdbot_telegram.render import Renderer

NewRig = Callable[..., Rig]

PLATFORMS = {
    "discord": replace(limits(name="discord"), fits=discord.fits, size=discord.SIZE),
    "telegram": replace(limits(name="telegram"), fits=Renderer(4096, 100).fits, size=4096),
}
MOST = 8 + 1
"""Messages: those of the text and the one with the rest."""


def long_answer(characters: int) -> str:
    """Markdown of that length: numbered words in paragraphs, lists, tables and code."""
    blocks = (
        "{0} {1} **{2}** {3} `{4}` {5}, {6} {7} {8} {9}.\n\n",
        "- {0} {1} {2}\n  - {3} {4} {5}\n- {6} {7} {8} {9}\n\n",
        "```python\n{0} = {1}\n{2} = {3}\n\n{4} = {5}\n{6} = {7}\n{8} = {9}\n```\n\n",
        "| {0} | {1} |\n|---|---|\n| {2} | {3} |\n| {4} | {5} |\n| {6} | {7} |\n| {8} | {9} |\n\n",
    )
    written, number = "", 0
    while len(written) < characters:
        block = blocks[number // 10 % len(blocks)]
        written += block.format(*(f"word{count:05}" for count in range(number, number + 10)))
        number += 10
    return written[:characters]


@pytest.mark.parametrize("allowed", PLATFORMS.values(), ids=PLATFORMS)
async def test_sixty_thousand_characters_are_a_few_messages_and_a_file(rig: NewRig, allowed: Limits) -> None:
    """Nothing of it is lost: messages and file together have every word once, in its order."""
    text = long_answer(60_000)
    bot = rig(lambda request: Script([text[at : at + 3000] for at in range(0, len(text), 3000)], gap=0.1))
    async with bot.running():
        answer = bot.platform.say("Write a book", allowed=allowed)
        await bot.idle()

    assert len(answer.screen.frames) <= MOST
    (file,) = answer.screen.frames[-1].files
    assert file.name == "answer.md"
    shown = "\n".join([*answer.screen.texts[:-1], file.data.decode()])
    assert _words(shown) == _words(text)
    assert all(allowed.fits(part) for part in answer.screen.texts)


@pytest.mark.parametrize("allowed", PLATFORMS.values(), ids=PLATFORMS)
async def test_a_growing_answer_never_shows_a_word_twice(rig: NewRig, allowed: Limits) -> None:
    """Whatever is on the screen is a beginning of the text; a message that is full is left alone."""
    text = long_answer(6_000)
    bot = rig(lambda request: Script([text[at : at + 61] for at in range(0, len(text), 61)], gap=0.2))
    async with bot.running():
        answer = bot.platform.say("Write a page", allowed=allowed)
        await bot.idle()

    parts: list[str] = []
    for seen in answer.screen.history:
        parts[seen.part : seen.part + 1] = [seen.text]
        shown = _words("\n".join(parts))
        # The last word may be cut in half by the end of the text so far.
        assert shown[:-1] == _words(text)[: len(shown) - 1]
    assert _words("\n".join(parts)) == _words(text)
    assert max(seen.part for seen in answer.screen.history) >= 1


def _words(text: str) -> list[str]:
    return re.findall(r"word\d+", text)


@pytest.mark.parametrize(
    "tokens",
    [
        ["<think>", "They ", "greet me.", "</think>", "\n\n", "Hello ", "there."],
        ["<think>\n", "They ", "say <think>", " to me.\n</think>", "\n\n", "Hello ", "there."],
        ["They ", "greet me.", "\n</think>\n\n", "Hello ", "there."],
    ],
    ids=["tags", "a tag in a thought", "opened by the template"],
)
async def test_the_answer_remains_when_the_thought_is_over(rig: NewRig, tokens: list[str]) -> None:
    """Some models are put into their thought by the chat template: only its end can be seen in what they write."""
    bot = rig(lambda request: Script(tokens, gap=1.0))
    async with bot.running():
        answer = bot.platform.say("Hi")
        await bot.idle()

    assert answer.screen.texts == ["Hello there."]
