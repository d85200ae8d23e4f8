"""One `vllm serve`, or a router in front of many, spoken to by OpenAI's protocol: the only module that imports openai.

Prompts go out as token ids and answers come back with theirs, which vLLM adds to that protocol. Written against vLLM
0.32; what openai raises becomes a `Fault` here.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b
from typing import Any, TypeVar

import openai
from openai.types import Completion

from clawdbot.engine.protocol import Finish, Request
from clawdbot.engine.remote.waits import Waits

T = TypeVar("T")

_CACHE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.M)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Blame(Enum):
    """Whom a failed call says something about."""

    SERVER = auto()
    """It is away, ill, or not what was looked for; another one may do better."""
    LOAD = auto()
    """It has too much to do just now; another one may have less."""
    REQUEST = auto()
    """No server will take this."""


class Fault(Exception):
    """One call to one server has failed; this never leaves the package.

    ``lasting`` is what waiting does not mend: a wrong key, a model that is not served there.
    """

    def __init__(self, reason: str, blame: Blame = Blame.SERVER, *, lasting: bool = False) -> None:
        self.blame = blame
        self.lasting = lasting
        super().__init__(reason)


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


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer took, by the server's account; None is what it was not told to say. Times are seconds."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    queue: float | None
    """From its waiting queue to the first step."""
    prefill: float | None
    """From there to the first token."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What came since the last one. ``spent`` comes last, after everything else."""

    text: str = ""
    tokens: tuple[int, ...] = ()
    finish: Finish | None = None
    spent: Spent | None = None


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
            raise Fault(f"it serves several models, {names}: [engine.remote] model has to say which", lasting=True)
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
            with _translated():
                found = await self._within(self._client.post(f"{self._root}/tokenize", body=asked, cast_to=object))
        except Fault:
            return None
        ids = found.get("tokens") if isinstance(found, dict) else None
        return [int(one) for one in ids] if isinstance(ids, list) else None

    async def stream(self, model: str, request: Request, most: int) -> AsyncGenerator[Delta, None]:
        """One answer of ``most`` tokens at most; closing this closes the response, and vLLM aborts the request.

        Raises `Fault`.
        """
        sampling = request.sampling
        with _translated():
            async with asyncio.timeout(self._waits.first_token) as limit:
                stream = await self._client.completions.create(
                    model=model,
                    # The prompt itself goes beside: the library would look at every token of it, 0.1 s for 12,000.
                    prompt="",
                    max_tokens=most,
                    temperature=sampling.temperature,
                    top_p=sampling.top_p,
                    stream=True,
                    stream_options={"include_usage": True},
                    extra_headers=_session(request.conversation),
                    extra_body={
                        "prompt": request.prompt,
                        "return_token_ids": True,
                        "min_tokens": min(sampling.min_tokens, most),
                    },
                )
            until = limit.when()
            async with stream:
                chunks = aiter(stream)
                while True:
                    async with asyncio.timeout_at(until):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    yield _delta(chunk)
                    until = asyncio.get_running_loop().time() + self._waits.token

    async def _ask(self, path: str) -> object:
        with _translated():
            return await self._within(self._client.get(f"/{path}", cast_to=object))

    async def _page(self, path: str) -> str | None:
        """A page beside the protocol's own; None where there is none."""
        try:
            with _translated():
                return str(await self._within(self._client.get(f"{self._root}{path}", cast_to=str)))
        except _NoSuchPage:
            return None

    async def _within(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self._waits.check):
            return await call


class _NoSuchPage(Fault):
    """404: the server has none there, or another model than was asked for."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise Fault("it did not answer in time") from error
    except openai.APIConnectionError as error:
        raise Fault(f"the connection failed ({type(error.__cause__ or error).__name__})") from error
    except openai.NotFoundError as error:
        raise _NoSuchPage(f"404: {error.message}", lasting=True) from error
    except openai.APIStatusError as error:
        raise _fault(error.status_code, error.message) from error
    except openai.APIError as error:
        # An event of the stream says it; the response itself was a success.
        raise _fault(int(error.code) if error.code and error.code.isdigit() else 500, error.message) from error
    except ValueError as error:
        raise Fault(f"it does not speak vLLM's form of the protocol ({error})") from error


def _fault(code: int, message: str) -> Fault:
    """What an HTTP status means."""
    text = f"{code}: {message}"
    if code in (401, 403):
        return Fault(f"{text} (it wants another key: CLAWDBOT_ENGINE_API_KEY)", lasting=True)
    if code in (408, 425, 429):
        return Fault(text, Blame.LOAD)
    return Fault(text, Blame.SERVER if code >= 500 or code == 404 else Blame.REQUEST)


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


def _delta(chunk: Completion) -> Delta:
    if not chunk.choices:
        usage = chunk.usage
        if usage is None:
            return Delta()
        details, metrics = usage.prompt_tokens_details, (chunk.model_extra or {}).get("metrics") or {}
        return Delta(
            spent=Spent(
                usage.prompt_tokens,
                usage.completion_tokens,
                details.cached_tokens if details else None,
                _seconds(metrics.get("queue_time_ms")),
                _seconds(metrics.get("time_to_first_token_ms")),
            )
        )
    choice = chunk.choices[0]
    reason: str | None = choice.finish_reason  # vLLM leaves it open until the last chunk
    ids = (choice.model_extra or {}).get("token_ids")
    if ids is None:
        raise Fault("it does not return token ids: it has to be a vLLM server, of a version that can", lasting=True)
    if reason is not None and reason not in ("stop", "length"):
        raise Fault(f"it gave the answer up ({reason})")
    return Delta(choice.text, tuple(ids), "stop" if reason == "stop" else "length" if reason else None)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
