"""An engine on servers elsewhere, over real HTTP to simulated ones."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager

import pytest

from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Chunk, Request, Sampling
from clawdbot.engine.remote.engine import RemoteEngine
from clawdbot.engine.remote.opening import Remote, open_remote
from clawdbot.engine.remote.waits import Waits
from clawdbot.errors import EngineDead, EngineUnavailable, GenerationFailed
from clawdbot.testing.engine import CharacterTokenizer, Script
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.serving import Break, SimVllm

KEY = "sk-this-is-never-told-to-anybody"
SOON = Waits(connect=5.0, first_token=0.5, token=0.5, check=5.0)
"""For servers that fall silent."""
WORDS = ["A ", "heron ", "is ", "a ", "bird."]

Opening = AbstractAsyncContextManager[RemoteEngine]


def said(request: Request) -> Script:
    return Script(WORDS)


def remote(
    *sims: SimVllm, key: str | None = None, model: str = "", context: int = 0, waits: Waits | None = None
) -> Opening:
    """The engine on these servers."""
    wanted = Remote(
        endpoints=tuple(sim.url for sim in sims),
        model=model,
        tokenizer="",
        context=context,
        step_budget=512,
        cache_tokens=0,
        interval=0.02,
        waits=waits or Waits(),
        key=key,
    )
    return open_remote(wanted, SystemClock(), lambda name: CharacterTokenizer())


@asynccontextmanager
async def served(count: int = 1, **options: object) -> AsyncIterator[list[SimVllm]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(SimVllm(said, **options)) for _ in range(count)]  # type: ignore[arg-type]


async def chunks_of(engine: RemoteEngine, conversation: str = "", prompt: str = "What is a heron?") -> list[Chunk]:
    request = Request("r", [ord(character) for character in prompt], Sampling(64, 0.5, 0.9), conversation=conversation)
    async with aclosing(engine.generate(request)) as chunks:
        return [chunk async for chunk in chunks]


async def text_of(engine: RemoteEngine, conversation: str = "") -> str:
    return "".join(chunk.text for chunk in await chunks_of(engine, conversation))


async def listen(engine: RemoteEngine, heard: list[str]) -> None:
    async with aclosing(engine.generate(Request("r", [65], Sampling(64)))) as chunks:
        async for chunk in chunks:
            heard.append(chunk.text)


def answered(sim: SimVllm) -> int:
    """How many answers were asked of a server, those apart that an opening asks for to try it."""
    return len([asked for asked in sim.asked if asked.sampling.max_tokens > 1])


# What goes out and what comes back


async def test_a_prompt_goes_out_as_tokens_with_all_that_chooses_the_answer() -> None:
    async with served() as (sim,), remote(sim) as engine:
        await chunks_of(engine, "discord:1")

    asked = sim.asked[-1]
    assert "".join(map(chr, asked.prompt)) == "What is a heron?"
    assert asked.sampling == Sampling(64, 0.5, 0.9)


async def test_the_engine_knows_what_its_servers_say_of_themselves() -> None:
    """And no more: how they cut their steps they tell nobody."""
    async with served(2) as sims, remote(*sims) as engine:
        info = engine.info

    assert (info.model, info.device, info.version, info.context) == ("demo", "2 servers", "vLLM 0.0.1", 4096)
    assert (info.cache_tokens, info.cache_block) == (2 * 32 * 100, 32)
    assert (info.chunked_prefill, info.step_budget, info.long_prefill) == (None, 512, None)


async def test_times_are_those_that_the_server_tells() -> None:
    """As lengths, since its clock is another: they are counted back from the first token's arrival."""
    async with served() as (sim,), remote(sim) as engine:
        usage = (await chunks_of(engine))[-1].usage

    assert usage is not None
    assert usage.scheduled == pytest.approx(usage.first_token - 0.002)
    assert usage.queued == pytest.approx(usage.first_token - 0.003)
    assert (usage.prompt_tokens, usage.cached_tokens) == (16, 0)


async def test_what_a_server_does_not_tell_is_not_made_up(caplog: pytest.LogCaptureFixture) -> None:
    """The log names the options that would let it tell."""
    async with served(tells=False) as (sim,), remote(sim) as engine:
        usage = (await chunks_of(engine))[-1].usage

    assert usage is not None
    assert (usage.queued, usage.scheduled, usage.cached_tokens) == (None, None, None)
    assert "--enable-prompt-tokens-details" in caplog.text


async def test_closing_an_answer_closes_its_connection() -> None:
    """That is what makes vLLM stop, and nothing else does."""
    async with served() as (sim,), remote(sim) as engine:
        sim.script = lambda request: Script(WORDS * 100, gap=0.01)
        async with aclosing(engine.generate(Request("r", [65], Sampling(1000)))) as chunks:
            async for _ in chunks:
                break
        await sim.until(lambda: sim.aborted == 1)

        assert sim.running == 0


async def test_who_talks_is_not_told_to_the_servers() -> None:
    """A router needs no more than the same word for the same conversation."""
    async with served() as (sim,), remote(sim) as engine:
        for conversation in ("discord:123", "discord:123", "discord:124"):
            await chunks_of(engine, conversation)

    first, again, other = (asked.session for asked in sim.asked[-3:])
    assert first == again != other
    assert "123" not in first


async def test_the_key_goes_to_the_servers_and_into_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Nor into an error, at any level of any library."""
    caplog.set_level(logging.DEBUG)
    async with served(key=KEY) as (sim,), remote(sim, key=KEY) as engine:
        await chunks_of(engine)
        sim.faults.add("completions", *[Fault(Trouble.ERROR)] * 9)
        with pytest.raises(GenerationFailed) as failed:
            await chunks_of(engine)

    assert sim.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text + repr(failed.value) + repr(failed.value.__cause__)


async def test_a_long_prompt_does_not_hold_up_the_loop() -> None:
    """Processor time of its thread alone, which is the simulated server's, too; about 4 ms on two cores.

    The best of three: the garbage of other tests may be looked through in one of them.
    """
    times: list[float] = []
    async with served(context=20_000) as (sim,), remote(sim) as engine:
        for _ in range(3):
            begun = time.thread_time()
            await chunks_of(engine, prompt="x" * 12_000)
            times.append(time.thread_time() - begun)

    assert min(times) < 0.05


# Before the first token


@pytest.mark.parametrize(
    "trouble", [Trouble.ERROR, Trouble.BAD_GATEWAY, Trouble.RESET_BEFORE, Trouble.HANG, Trouble.LIMITED]
)
async def test_what_fails_before_the_first_token_is_asked_of_the_next_server(trouble: Trouble) -> None:
    """Whoever asked sees nothing of it."""
    async with served(2) as (home, other), remote(home, other, waits=SOON) as engine:
        home.faults.add("completions", Fault(trouble))

        text = await text_of(engine, "a")

    assert text == "".join(WORDS)
    assert home.faults.injected.total() == 1
    assert answered(other) == 1


@pytest.mark.parametrize("how", [Break.RESET, Break.STALL, Break.ERROR, Break.SHORT])
async def test_a_stream_that_breaks_without_a_token_is_begun_again_elsewhere(how: Break) -> None:
    async with served(2) as sims, remote(*sims, waits=SOON) as engine:
        for sim in sims:
            sim.break_after(0, how)

        text = await text_of(engine)

    assert text == "".join(WORDS)


async def test_a_lone_server_gets_a_second_chance_after_its_check() -> None:
    """It may have closed an idle connection just when that was used again."""
    async with served() as (sim,), remote(sim) as engine:
        sim.faults.add("completions", Fault(Trouble.RESET_BEFORE))

        assert await text_of(engine) == "".join(WORDS)


async def test_a_request_that_no_server_can_answer_ends_after_each_has_tried() -> None:
    """It must not go round for ever, nor take healthy servers down."""
    async with served(2) as sims, remote(*sims) as engine:
        for sim in sims:
            sim.faults.add("completions", *[Fault(Trouble.ERROR)] * 2)
        with pytest.raises(GenerationFailed):
            await chunks_of(engine)
        tries = sum(sim.faults.injected.total() for sim in sims)
        await chunks_of(engine)

    assert tries == 3


async def test_what_the_server_refuses_is_asked_of_no_other() -> None:
    """400: it will be refused everywhere."""
    async with served(2) as sims, remote(*sims, context=8192) as engine:
        with pytest.raises(GenerationFailed):
            await chunks_of(engine, prompt="x" * 5000)

    assert sum(answered(sim) for sim in sims) == 0


# After it


@pytest.mark.parametrize("how", [Break.RESET, Break.STALL, Break.ERROR, Break.SHORT])
async def test_a_stream_that_breaks_in_mid_answer_fails_with_what_was_written(how: Break) -> None:
    """Another server would write another text."""
    async with served(2) as sims, remote(*sims, waits=SOON) as engine:
        for sim in sims:
            sim.break_after(2, how)
        heard: list[str] = []
        with pytest.raises(GenerationFailed):
            await listen(engine, heard)

    assert heard == WORDS[:2]
    assert sum(answered(sim) for sim in sims) == 1


# Servers that come and go


async def test_a_server_that_is_gone_gets_nothing_until_it_is_back() -> None:
    async with served(2) as (first, second), remote(first, second) as engine:
        await first.stop()
        while_gone = [await text_of(engine, name) for name in "abcd"]
        await first.start()
        seen = len(first.headers)
        await first.until(lambda: len(first.headers) >= seen + 4)  # two checks, so the first is over
        for name in "efgh":
            await text_of(engine, name)

    assert while_gone == ["".join(WORDS)] * 4
    assert answered(second) >= 4
    assert answered(first) >= 1


async def test_it_is_dead_when_no_server_is_left() -> None:
    """Whoever asks is told so, and waits for the engine that is opened next."""
    async with served() as (sim,), remote(sim) as engine:
        await sim.stop()
        with pytest.raises(EngineDead):
            await chunks_of(engine)
        async with asyncio.timeout(10):
            await engine.died()


async def test_a_server_whose_engine_is_dead_counts_as_gone() -> None:
    """It still lists its models, but its health says 503."""
    async with served() as (sim,), remote(sim) as engine:
        sim.ill = True
        async with asyncio.timeout(10):
            await engine.died()
        with pytest.raises(EngineDead):
            await chunks_of(engine)


async def test_an_answer_that_is_being_written_outlives_the_engine() -> None:
    """A server that misses its checks while it writes is given nothing new; what it writes is good."""
    async with served() as (sim,):
        sim.script = lambda request: Script(WORDS, gap=0.1)
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(remote(sim))
            writing = asyncio.create_task(text_of(engine))
            await sim.until(lambda: sim.running == 1)
            sim.faults.plan = lambda call: Fault(Trouble.ERROR) if call == "models" else None
            await engine.died()
            await stack.aclose()

            assert await writing == "".join(WORDS)


async def test_whoever_waits_for_a_server_is_told_when_the_engine_is_closed() -> None:
    """Nobody looks after the servers any more, so no check would ever let them go on."""
    async with served() as (sim,), AsyncExitStack() as stack:
        engine = await stack.enter_async_context(remote(sim))
        sim.faults.plan = lambda call: Fault(Trouble.HANG if call == "models" else Trouble.ERROR, seconds=2.0)
        waiting = asyncio.create_task(chunks_of(engine))
        await sim.until(lambda: sim.faults.injected[Trouble.ERROR] == 1)
        await sim.until(lambda: sim.faults.injected[Trouble.HANG] >= 1)
        await stack.aclose()

        with pytest.raises(EngineDead):
            async with asyncio.timeout(10):
                await waiting


# Opening


async def test_it_opens_when_the_first_server_is_there() -> None:
    """Servers take minutes to load a model, and the bot is started beside them."""
    async with served(2) as (first, second):
        first.ill = second.ill = True
        opening = remote(first, second)
        entering = asyncio.create_task(opening.__aenter__())
        await second.until(lambda: len(second.headers) > 3)
        assert not entering.done()
        second.ill = False
        engine = await asyncio.wait_for(entering, 10)
        text = await text_of(engine)
        await opening.__aexit__(None, None, None)

    assert text == "".join(WORDS)


@pytest.mark.parametrize(
    ("options", "wanted", "says"),
    [
        ({"key": KEY}, {}, "CLAWDBOT_ENGINE_API_KEY"),
        ({}, {"model": "other"}, 'does not serve "other" but demo'),
        ({"context": None}, {}, "Set \\[engine.remote\\] context"),
        ({"context": "8k"}, {}, "its max_model_len is '8k'"),
    ],
)
async def test_what_waiting_does_not_mend_is_said_at_once(
    options: dict[str, object], wanted: dict[str, str], says: str
) -> None:
    async with served(**options) as (sim,):  # type: ignore[arg-type]
        with pytest.raises(EngineUnavailable, match=says):
            await remote(sim, model=wanted.get("model", "")).__aenter__()


async def test_which_of_several_models_has_to_be_said() -> None:
    async with served() as (sim,):
        sim.models = ["small", "large"]
        with pytest.raises(EngineUnavailable, match="small, large"):
            await remote(sim).__aenter__()
        async with remote(sim, model="large") as engine:
            assert engine.info.model == "large"


async def test_another_tokenizer_than_the_servers_is_noticed() -> None:
    """Its token ids would be nonsense there, and nobody would be told why."""
    async with served() as (sim,):
        sim.tokenizer = Shifted()
        with pytest.raises(EngineUnavailable, match="tokenizer"):
            await remote(sim).__aenter__()


class Shifted(CharacterTokenizer):
    """Another vocabulary."""

    async def encode(self, text: str) -> list[int]:
        return [token + 1 for token in await super().encode(text)]
