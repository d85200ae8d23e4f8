"""A bot in the company of people who mean it harm.

``--fuzz N`` plays N inputs instead of a few hundred. Each slice of them is a bot of its own; a failure names slice and
input, and the same slice plays the same again.
"""

import asyncio
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path
from random import Random
from random import seed as seed_all

import pytest

from clawdbot.engine.protocol import Role
from clawdbot.people.quota import HOUR
from clawdbot.settings.config import Quota, SessionSettings
from clawdbot.testing.virtual_time import VirtualLoop

from . import texts
from .conftest import SLICE
from .judge import Happened
from .look import Errors, look
from .moves import Delivery, Scene, draw
from .people import BOB
from .stage import GROUP, Stage, staged
from .voices import TEMPLATES, Voice, plain_voice, voice

BYSTANDING = 0.3
"""How often Bob's answer is being written when it happens."""
CRASHING = 0.15
"""How often the bot is killed while it deals with it."""
MOMENTS = (0.0, 0.0, 0.01, 0.2, 0.4, 1.0, 2.0, 4.0)
"""Seconds after it at which that happens; 0: within a few turns of the loop, before the store has anything of it."""
TURNS = 4
PASSING = 0.05
"""How often an hour passes before it, and everybody may ask anew."""
QUOTAS = (Quota(), Quota(messages_per_hour=5))
FAMILIES = tuple(TEMPLATES)
SETTINGS = tuple(
    SessionSettings(groups=groups, busy=busy)
    for groups in ("shared", "per_user")
    for busy in ("queue", "interrupt", "refuse")
)


def test_nobody_does_harm_in_any_way_that_comes_to_mind(tmp_path: Path, fuzz_slice: int) -> None:
    """A token is a character here."""
    play(tmp_path, fuzz_slice, plain_voice())


@pytest.mark.engine
def test_nobody_does_harm_to_a_real_chat_template(tmp_path: Path, fuzz_slice_of_tokens: int) -> None:
    """With the tokenizers that come with vLLM; each slice has the template of another family."""
    play(tmp_path, fuzz_slice_of_tokens, voice(FAMILIES[fuzz_slice_of_tokens % len(FAMILIES)]))


def play(folder: Path, number: int, heard: Voice) -> None:
    """Play slice ``number``: whatever goes wrong in it is said at its end."""
    seed_all(number)  # the jitter of the bot's own retries comes from there
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        harm = runner.run(_play(folder, number, heard))
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])


async def _play(folder: Path, number: int, heard: Voice) -> list[object]:
    settings, quota = SETTINGS[number % len(SETTINGS)], QUOTAS[number // 2 % len(QUOTAS)]
    harm: list[object] = []
    async with staged(folder, heard, settings, quota) as stage:
        company = Company(stage, Random(f"fuzz {number}"), settings, quota)
        for count in range(SLICE):
            harm += [(f"slice {number}, input {count}", *found) for found in await company.act()]
        harm += [
            ("a control token in a prompt", heard.steered(prompt), prompt[-200:])
            for prompt in await _steered(stage, heard)
        ]
        harm += [("a control token of a text", text[:200]) for text in stage.engine.tokenizer.leaks]
    return harm


class Company:
    """People who do one thing after the other to one bot."""

    def __init__(self, stage: Stage, random: Random, settings: SessionSettings, quota: Quota) -> None:
        self._stage = stage
        self._random = random
        self._settings = settings
        self._quota = quota
        self._scene = Scene(random, stage.platform, stage.clock)
        self._refused: dict[int, str] = {}

    async def act(self) -> list[tuple[object, ...]]:
        """Let somebody do something; what is wrong when it is over."""
        stage, errors = self._stage, Errors()
        with errors.heard():
            if self._random.random() < PASSING:
                await stage.wait(HOUR)
            bystander = await self._bystander() if self._random.random() < BYSTANDING else None
            before = look(stage.database, stage.platform)
            what, deliveries = draw(self._scene)
            for one in deliveries:
                stage.tell(one.event, one.reply)
            if crashed := self._random.random() < CRASHING:
                await self._crash()
            await stage.rest()
        after = look(stage.database, stage.platform)
        self._scene.past += [one for one in deliveries if not one.again]
        limit, hour = self._quota.messages_per_hour, int(stage.clock.wall() // HOUR)
        happened = Happened(
            deliveries, before, after, self._settings.groups, limit, hour, crashed, bystander, self._refused
        )
        harm = [*happened.harm(), *(("an error", text) for text in errors.found)]
        return [(what, *one, [repr(each.event)[:600] for each in deliveries[:3]]) for one in harm]

    async def _crash(self) -> None:
        if moment := self._random.choice(MOMENTS):
            await self._stage.wait(moment)
        else:
            for _ in range(self._random.randrange(TURNS)):
                await asyncio.sleep(0)
        await self._stage.crash()

    async def _bystander(self) -> Delivery:
        """Bob has asked something and his answer is being written."""
        asked = self._scene.message(BOB, texts.said(self._random), self._random.choice((0, GROUP)))
        self._stage.tell(asked.event, asked.reply)
        await self._stage.wait(1.0)
        return asked


async def _steered(stage: Stage, heard: Voice) -> list[list[int]]:
    """The prompts with a control token where the template has none."""
    found = []
    for prompt in stage.engine.prompts:
        has = heard.steered(prompt)
        if not any([has == pattern async for pattern in _patterns(heard, len(has))]):
            found.append(prompt)
    return found


async def _patterns(heard: Voice, longest: int) -> AsyncIterator[list[int]]:
    """The control tokens of prompts with 1, 2, … questions, and of what is read of them before the next question."""
    roles: list[Role] = ["user"]
    while True:
        pieces = await heard.tokenizer.pieces(roles)
        pattern, ahead = (heard.steered(list(chain(*some))) for some in (pieces, pieces[:-1]))
        if len(ahead) > longest:
            return
        yield pattern
        yield ahead
        roles += ["assistant", "user"]
