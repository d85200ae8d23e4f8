"""The start of vLLM, as far as it can be seen without vLLM."""

import asyncio
import threading

import pytest

from clawdbot.engine import vllm


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
