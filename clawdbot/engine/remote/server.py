"""One `vllm serve`, or a router in front of many, spoken to by OpenAI's protocol.

Prompts go out as token ids and answers come back with theirs, which vLLM adds to that protocol; a question with
pictures goes out as a chat. Written against vLLM 0.32.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import openai
from PIL import Image

from clawdbot.engine.protocol import Request, Said, Sampling
from clawdbot.engine.remote import calls
from clawdbot.engine.remote.calls import Call
from clawdbot.engine.remote.deltas import Delta, Reader
from clawdbot.engine.remote.faults import Fault, NoSuchPage, translated
from clawdbot.engine.remote.waits import Waits

T = TypeVar("T")

SEEN = (64, 64)
"""Pixels of the picture that a server is tried with: no model wants a larger one."""

_CACHE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.M)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Card:
    """What a server says about a model."""

    name: str
    root: str
    """Where it has the model from: a name on the hub, or a folder on its own disk; "" if it does not say."""
    context: int
    """`max_model_len`; 0 if it does not say, as some routers."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says about itself, as far as it does."""

    version: str | None
    cache_tokens: int
    """How much its prefix cache holds; 0 where it has none or does not say."""
    cache_block: int


class Server:
    """One address."""

    def __init__(self, url: str, key: str | None, waits: Waits) -> None:
        """``url`` ends in ``/v1``; ``key`` is kept out of everything that is said about the server."""
        self.url = url.rstrip("/")
        self._root = self.url.removesuffix("/v1")
        self._waits = waits
        timeout = openai.Timeout(waits.first_token, connect=waits.connect)
        # A server that wants no key does not look at it, and the library insists on one.
        self._client = openai.AsyncOpenAI(base_url=self.url, api_key=key or "none", max_retries=0, timeout=timeout)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def cards(self) -> list[Card]:
        """The models that it serves. Raises `Fault`."""
        found = await self._ask("models")
        listed = found.get("data") if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise Fault("it does not list its models: the address of a server ends in /v1", lasting=True)
        return [_card(card) for card in listed if isinstance(card, dict) and "id" in card]

    async def check(self, model: str) -> Card:
        """What it says about ``model``, "" for the only one that it has. Raises `Fault` when it cannot answer with it.

        vLLM lists its models even when its engine is dead, so its health is asked, too, where it has such a page.
        """
        cards = await self.cards()
        if not cards:
            raise Fault("it serves no model yet")
        if not model and len(cards) > 1:
            names = ", ".join(card.name for card in cards)
            raise Fault(f"it serves several models, {names}: `model` in its settings has to say which", lasting=True)
        chosen = next((card for card in cards if not model or card.name == model), None)
        if chosen is None:
            names = ", ".join(card.name for card in cards)
            raise Fault(f'it does not serve "{model}" but {names}', lasting=True)
        await self._page("/health")
        return chosen

    async def facts(self) -> Facts:
        """What it says about itself, where it answers that at all."""
        try:
            version, metrics = await self._page("/version"), await self._page("/metrics")
        except Fault:
            return Facts(None, 0, 1)
        found = re.search(r'"version":\s*"([^"]+)"', version or "")
        labels = [dict(_LABEL.findall(line)) for line in _CACHE.findall(metrics or "")]
        blocks = [int(each["block_size"]) for each in labels if each.get("block_size", "").isdigit()]
        sizes = [
            int(each["num_gpu_blocks"]) * int(each["block_size"])
            for each in labels
            if each.get("enable_prefix_caching") == "True" and each.get("num_gpu_blocks", "").isdigit()
        ]
        return Facts(found[1] if found else None, sum(sizes), max(blocks, default=1))

    async def tokenize(self, model: str, text: str) -> list[int] | None:
        """How it tokenizes ``text``; None where it does not say, as some routers."""
        asked = {"model": model, "prompt": text, "add_special_tokens": False}
        try:
            with translated():
                found = await self._within(self._client.post(f"{self._root}/tokenize", body=asked, cast_to=object))
        except Fault:
            return None
        ids = found.get("tokens") if isinstance(found, dict) else None
        return [int(one) for one in ids] if isinstance(ids, list) else None

    async def sees(self, model: str) -> bool:
        """Whether it takes a picture: tried with a small one. Raises `Fault` when that does not show it."""
        request = Request("sees", [], Sampling(1, temperature=0.0), (Image.new("RGB", SEEN),))
        call = await asyncio.to_thread(calls.shown, model, request, [Said("user", "?")], 1)
        try:
            async with aclosing(self.stream(call)) as answer:
                async for _ in answer:
                    pass
        except Fault as fault:
            if fault.refuses:
                return False
            raise
        return True

    async def stream(self, call: Call) -> AsyncGenerator[Delta, None]:
        """One answer; closing this closes the response, and vLLM aborts the request.

        Raises `Fault`.
        """
        with translated():
            async with asyncio.timeout(self._waits.first_token) as limit:
                # As plain objects: the library's own classes would cost more time and check nothing.
                stream = await self._client.post(
                    "/chat/completions" if call.chat else "/completions",
                    content=call.content,
                    cast_to=object,
                    options={"headers": _session(call.conversation)},
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
            reader, until = Reader(call.opening), limit.when()
            async with stream:
                events = aiter(stream)
                while True:
                    async with asyncio.timeout_at(until):
                        event = await anext(events, None)
                    if event is None:
                        return
                    yield reader.read(event)
                    until = asyncio.get_running_loop().time() + self._waits.token

    async def _ask(self, path: str) -> object:
        with translated():
            return await self._within(self._client.get(f"/{path}", cast_to=object))

    async def _page(self, path: str) -> str | None:
        """A page beside the protocol's own; None where there is none."""
        try:
            with translated():
                return str(await self._within(self._client.get(f"{self._root}{path}", cast_to=str)))
        except NoSuchPage:
            return None

    async def _within(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self._waits.check):
            return await call


def _session(conversation: str) -> Mapping[str, str]:
    """What lets a router send a conversation to the same server every time, without telling who talks in it."""
    if not conversation:
        return {}
    return {"X-Session-ID": blake2b(conversation.encode(), digest_size=12).hexdigest()}


def _card(told: Mapping[str, Any]) -> Card:
    """Raises `Fault` for a length that is none."""
    context = told.get("max_model_len") or 0
    if not isinstance(context, int):
        raise Fault(f"it says that its max_model_len is {context!r}, which is no number of tokens", lasting=True)
    return Card(str(told["id"]), str(told.get("root") or ""), context)
