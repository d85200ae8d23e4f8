"""Pictures for an engine on servers elsewhere: chats over real HTTP to simulated ones."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from PIL import Image

from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request, Said, Sampling, exhaust
from clawdbot.engine.remote.engine import RemoteEngine
from clawdbot.engine.remote.opening import MANY, Remote, open_remote
from clawdbot.engine.remote.refusals import refusal
from clawdbot.engine.remote.waits import Waits
from clawdbot.errors import GenerationFailed, PicturesRefused, PromptTooLong
from clawdbot.testing.engine import IMAGE_TOKENS, CharacterTokenizer, Script
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.serving import Asked, Break, SimVllm

RED, BLUE = Image.new("RGB", (40, 30), "red"), Image.new("RGB", (30, 40), "blue")
TURNS = (Said("system", "Be brief."), Said("user", "Hi"), Said("assistant", "Hello."), Said("user", "What is that?"))
SOON = Waits(connect=5.0, first_token=0.5, token=0.5, check=5.0)
"""For servers that fall silent."""


def said(request: Request) -> Script:
    return Script(["A ", "heron."])


@asynccontextmanager
async def two(sees: int | None) -> AsyncIterator[tuple[SimVllm, SimVllm]]:
    async with SimVllm(said, sees=sees) as home, SimVllm(said, sees=sees) as other:
        yield home, other


@asynccontextmanager
async def remote(*sims: SimVllm, images: int | None = None, waits: Waits | None = None) -> AsyncIterator[RemoteEngine]:
    """The engine on these servers."""
    urls = tuple(sim.url for sim in sims)
    wanted = Remote(urls, "", "", 0, 512, 0, interval=0.02, waits=waits or Waits(), key=None, images=images)
    async with open_remote(wanted, SystemClock(), lambda name: CharacterTokenizer()) as engine:
        yield engine


def asking(*pictures: Image.Image, turns: tuple[Said, ...] = TURNS) -> Request:
    return Request("r", [1, 2, 3], Sampling(64, 0.5, 0.9), pictures, "discord:1", turns)


async def text_of(engine: RemoteEngine, request: Request) -> str:
    async with aclosing(engine.generate(request)) as chunks:
        return "".join([chunk.text async for chunk in chunks])


def chats(sim: SimVllm) -> list[Asked]:
    """What came as a chat and was more than a look whether it takes pictures."""
    return [asked for asked in sim.asked if asked.chat and asked.sampling.max_tokens > 1]


# What goes out and what comes back


async def test_pictures_go_out_with_all_that_was_said() -> None:
    """In their order, with the last question, and with all that chooses the answer."""
    async with SimVllm(said, sees=2) as sim, remote(sim) as engine:
        text = await text_of(engine, asking(RED, BLUE))

    (asked,) = chats(sim)
    assert asked.chat is not None
    assert text == "A heron."
    assert asked.chat.turns == TURNS
    assert [picture.size for picture in asked.chat.images] == [(40, 30), (30, 40)]
    assert [picture.getpixel((9, 9)) for picture in asked.chat.images] == [(254, 0, 0), (0, 0, 254)]
    assert (asked.sampling, bool(asked.session)) == (Sampling(64, 0.5, 0.9), True)


async def test_its_tokens_and_what_it_took_come_back() -> None:
    """The history keeps the tokens as written; how many a picture has only the server knows."""
    async with SimVllm(said, sees=2) as sim, remote(sim) as engine, aclosing(engine.generate(asking(RED))) as answer:
        chunks = [chunk async for chunk in answer]

    usage = chunks[-1].usage
    assert [token for chunk in chunks for token in chunk.tokens] == [ord(letter) for letter in "A heron."]
    assert usage is not None
    assert usage.prompt_tokens == len(chats(sim)[0].prompt) + IMAGE_TOKENS
    assert (usage.cached_tokens, chunks[-1].finish) == (0, "stop")


async def test_an_answer_goes_on_where_it_was_cut() -> None:
    turns = (*TURNS, Said("assistant", "It is "))
    async with SimVllm(said, sees=2) as sim, remote(sim) as engine:
        await text_of(engine, asking(RED, turns=turns))

    assert "".join(map(chr, chats(sim)[0].prompt[-6:])) == "It is "


async def test_a_question_without_pictures_goes_out_as_tokens() -> None:
    """No template and no tokenizer of the server's stands between it and its first token."""
    async with SimVllm(said, sees=2) as sim, remote(sim) as engine:
        await text_of(engine, asking())

    assert chats(sim) == []
    assert sim.asked[-1].prompt == (1, 2, 3)


async def test_closing_an_answer_closes_its_connection() -> None:
    async with SimVllm(said, sees=2) as sim, remote(sim) as engine:
        sim.script = lambda request: Script(["A "] * 100, gap=0.01)
        async with aclosing(engine.generate(asking(RED))) as chunks:
            async for _ in chunks:
                break
        await sim.until(lambda: sim.aborted == 1)


@pytest.mark.parametrize("trouble", [Trouble.ERROR, Trouble.RESET_BEFORE, Trouble.HANG, Trouble.LIMITED])
async def test_what_fails_before_the_first_token_is_asked_of_the_next_server(trouble: Trouble) -> None:
    async with two(sees=2) as (home, other), remote(home, other, waits=SOON) as engine:
        home.faults.add("chat", Fault(trouble))
        text = await text_of(engine, asking(RED))

    assert text == "A heron."
    assert (home.faults.injected.total(), len(chats(other))) == (1, 1)


async def test_what_breaks_in_mid_answer_is_asked_of_nobody_else() -> None:
    async with two(sees=2) as (home, other), remote(home, other) as engine:
        for sim in (home, other):
            sim.break_after(1, Break.RESET)
        with pytest.raises(GenerationFailed):
            await exhaust(engine, asking(RED))

    assert len(chats(home)) + len(chats(other)) == 1


# What a server takes


@pytest.mark.parametrize(("sees", "known"), [(2, MANY), (0, 0), (None, 0)], ids=["some", "none", "no chats"])
async def test_whether_it_takes_pictures_is_tried_when_it_opens(sees: int | None, known: int) -> None:
    """Nothing that vLLM says of its models tells; how many it takes it says when there are too many."""
    async with SimVllm(said, sees=sees) as sim, remote(sim) as engine:
        assert engine.info.images == known


async def test_the_second_server_is_tried_when_the_first_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with two(sees=2) as (first, second):
        first.faults.add("chat", Fault(Trouble.ERROR))
        async with remote(first, second) as engine:
            assert engine.info.images == MANY

    assert f"{first.url}: whether it takes pictures does not show" in caplog.text


@pytest.mark.parametrize("sees", [2, 0])
async def test_where_no_try_shows_it_the_first_question_does(sees: int, caplog: pytest.LogCaptureFixture) -> None:
    """Servers that are ill for a moment while the engine opens would have no pictures until it is opened again."""
    async with two(sees=sees) as (first, second):
        for sim in (first, second):
            sim.faults.add("chat", Fault(Trouble.ERROR))
        async with remote(first, second) as engine:
            if sees:
                assert await text_of(engine, asking(RED)) == "A heron."
            else:
                with pytest.raises(PicturesRefused):
                    await exhaust(engine, asking(RED))
            assert engine.info.images == MANY

    assert f"{second.url}: whether it takes pictures does not show" in caplog.text


async def test_what_is_set_is_not_asked() -> None:
    async with SimVllm(said, sees=2) as sim, remote(sim, images=1) as engine:
        assert engine.info.images == 1
        assert not any(asked.chat for asked in sim.asked)


async def test_a_router_that_knows_no_chats_takes_no_pictures() -> None:
    """Whatever the settings say; it may be of another kind than the one behind it, so each gets its try."""
    async with two(sees=None) as (home, other), remote(home, other, images=5) as engine:
        with pytest.raises(PicturesRefused):
            await exhaust(engine, asking(RED))

    assert home.called["chat"] >= 1
    assert other.called["chat"] >= 1


@pytest.mark.parametrize(("sees", "limit"), [(1, 1), (0, None)])
async def test_what_it_does_not_take_is_refused_with_what_it_says(sees: int, limit: int | None) -> None:
    """And asked of nobody else: all servers have the same model."""
    async with two(sees=sees) as (home, other), remote(home, other, images=5) as engine:
        with pytest.raises(PicturesRefused) as refused:
            await exhaust(engine, asking(RED, BLUE))

    assert refused.value.limit == limit
    assert home.called["chat"] + other.called["chat"] == 1


async def test_what_does_not_fit_is_refused_with_numbers() -> None:
    async with SimVllm(said, sees=9, context=1000) as sim, remote(sim) as engine:
        with pytest.raises(PromptTooLong) as refused:
            await exhaust(engine, asking(RED, BLUE))

    assert refused.value.limit == 999
    assert refused.value.tokens > 1000


@pytest.mark.parametrize(
    ("reason", "numbers"),
    [
        (
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure",
            (9000, 8191, False),
        ),
        (
            "The decoder prompt (length 8192) plus the number of requested output tokens (at least 1) is longer than "
            "the maximum model length of 8192. Make sure",
            (8192, 8191, False),
        ),
        ("Input length (300) exceeds model's maximum context length (256).", (300, 255, False)),
        (
            "This model's maximum context length is 256 tokens. However, your prompt contains 300 input tokens, "
            "which exceeds this limit even without any output tokens.",
            (300, 255, False),
        ),
        (
            "This model's maximum context length is 256 tokens. However, your prompt contains at least 257 input "
            "tokens, which exceeds this limit even without any output tokens.",
            (257, 255, True),
        ),
        (
            "This model's maximum context length is 256 tokens. However, your prompt contains 25700 characters (more "
            "than 25600 characters, which is the upper bound for 256 input tokens). Please reduce the length",
            (257, 255, True),
        ),
    ],
)
def test_the_ways_in_which_vllm_says_that_it_is_too_long(reason: str, numbers: tuple[int, int, bool]) -> None:
    """A size that it did not count to its end is the least that it can be; characters are no tokens."""
    found: Any = refusal(f"400: {reason}")

    assert (found.tokens, found.limit, found.least) == numbers
