"""The start of vLLM, as far as it can be seen without vLLM."""

import asyncio
import threading
from typing import cast

import pytest

from clawdbot.engine import vllm
from clawdbot.engine.protocol import EngineInfo, Request, Sampling
from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.errors import EngineDead


async def test_a_start_that_nobody_waits_for_any_more_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the model loads: pytest fails a test whose thread ends with an exception."""
    begun, go_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def load() -> None:
        threads.append(threading.current_thread())
        begun.set()
        go_on.wait(10)

    monkeypatch.setattr(vllm, "prepare_environment", lambda: None)
    monkeypatch.setattr(vllm, "_import", load)
    opening = asyncio.ensure_future(vllm.open_vllm("m", "cpu", {}).__aenter__())
    await asyncio.to_thread(begun.wait, 10)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    go_on.set()
    await asyncio.to_thread(threads[0].join, 10)

    assert not threads[0].is_alive()


class Loaded:
    """An engine as far as opening sees it."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        """End its processes."""
        self.closed.set()


@pytest.mark.parametrize("given_up", ["while it loads", "in the moment it is there"])
async def test_an_engine_that_comes_up_when_nobody_waits_any_more_is_closed(
    monkeypatch: pytest.MonkeyPatch, given_up: str
) -> None:
    """A start that took too long is tried again, and there is no memory for two."""
    begun, go_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    engine = Loaded()

    def start(*chosen: object, **options: object) -> Loaded:
        threads.append(threading.current_thread())
        begun.set()
        go_on.wait(10)
        return engine

    monkeypatch.setattr(vllm, "prepare_environment", lambda: None)
    monkeypatch.setattr(vllm, "_import", lambda: None)
    monkeypatch.setattr(vllm, "_start", start)
    opening = asyncio.ensure_future(vllm.open_vllm("m", "cpu", {}).__aenter__())
    await asyncio.to_thread(begun.wait, 10)
    if given_up == "in the moment it is there":
        go_on.set()
        threads[0].join(10)  # and the loop has not looked yet
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    go_on.set()

    assert await asyncio.to_thread(engine.closed.wait, 10)


class Ended:
    """vLLM and a tokenizer as far as closing sees them."""

    def close(self) -> None:
        """End its thread."""

    def shutdown(self, timeout: float) -> None:
        """End the processes."""


async def test_a_question_that_waited_for_an_engine_that_is_closed_meanwhile_finds_it_dead() -> None:
    """It is asked of the next one then; any other error would fail it."""
    info = EngineInfo("demo", "CPU", "vLLM", 256, chunked_prefill=True, step_budget=64, long_prefill=0)
    engine = vllm.VllmEngine(Ended(), cast(ChatTokenizer, Ended()), info)
    engine.close()

    with pytest.raises(EngineDead):
        await anext(engine.generate(Request("r", [65], Sampling(1))))


class Sleeping(Ended):
    """vLLM as far as sleep sees it."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def sleep(self, level: int) -> None:
        """Give memory back."""
        self.did.append("sleep")

    async def wake_up(self) -> None:
        """Take it again."""
        self.did.append("wake")


@pytest.mark.parametrize("way", ["sleep", "wake"])
async def test_memory_is_given_and_taken_while_no_other_engine_measures_it(way: str) -> None:
    """One that starts meanwhile would take the free memory for more or less than it is a moment later."""
    llm, memory = Sleeping(), asyncio.Lock()
    info = EngineInfo("demo", "CPU", "vLLM", 256, chunked_prefill=True, step_budget=64, long_prefill=0)
    engine = vllm.VllmEngine(llm, cast(ChatTokenizer, Ended()), info, memory)
    async with memory:
        doing = asyncio.ensure_future(getattr(engine, way)())
        for _ in range(5):
            await asyncio.sleep(0)
        meanwhile = list(llm.did)
    await doing

    assert (meanwhile, llm.did) == ([], [way])
