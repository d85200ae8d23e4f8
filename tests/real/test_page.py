"""A message typed into the page, in a browser, answered by the real model."""

from pathlib import Path

import pytest

from clawdbot.settings.config import OpsSettings
from clawdbot.testing.browser import browsing

from ..page.served import ask, needs_chromium, served
from .conftest import Overheard

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
    needs_chromium,
]


async def test_what_is_typed_into_the_page_is_answered_by_the_real_model(tmp_path: Path, overheard: Overheard) -> None:
    """It grows there, ends as the engine ended, and the page says where the time went."""
    async with served(OpsSettings(port=0), tmp_path, overheard.opened) as address, browsing(tmp_path) as tab:
        await tab.open(f"{address}/")
        await ask(tab, "What is the capital of France?")
        await tab.until("document.querySelectorAll('#chain rect').length > 0")
        shown = await tab.evaluate("document.querySelector('.theirs > div').innerText")
        told = await tab.evaluate("document.querySelector('#chain svg').getAttribute('aria-label')")
        complaints = tab.console

    (heard,) = [one for one in overheard.heard if one.chunks and "capital" in one.text]
    assert "Paris" in shown
    assert shown.strip() == heard.text.strip()
    assert "first token" in told
    assert complaints == []


async def test_the_metrics_of_the_real_engine_come_along(tmp_path: Path, overheard: Overheard) -> None:
    """vLLM counts in the same process: one scrape has all."""
    async with served(OpsSettings(port=0), tmp_path, overheard.opened) as address, browsing(tmp_path) as tab:
        await tab.open(f"{address}/")
        await ask(tab, "What is the capital of France?")
        await tab.until("document.querySelectorAll('#chain rect').length > 0")
        metrics = await tab.evaluate("fetch('/metrics').then((answer) => answer.text())")

    assert 'clawdbot_answers_total{model="demo",platform="web",state="final"} 1.0' in metrics
    assert "vllm:inter_token_latency_seconds_bucket" in metrics
    assert "vllm:prefix_cache_queries_total" in metrics
