"""SimVllm: a `vllm serve` without a model, for a bot whose engine is elsewhere."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from clawdbot.clock import Clock, SystemClock
from clawdbot.engine.protocol import Request, Sampling
from clawdbot.testing.chats import Chat, chat_of
from clawdbot.testing.engine import IMAGE_TOKENS, TEXTLESS, CharacterTokenizer, Script
from clawdbot.testing.faults import Faults, Trouble
from clawdbot.testing.waiting import patience

END = 1_114_112
"""The token that ends a turn: no character has it."""


class Break(Enum):
    """How a stream breaks."""

    RESET = auto()
    """The connection is gone."""
    STALL = auto()
    """Nothing comes any more, until the reader gives up."""
    ERROR = auto()
    """An event says that the engine has failed; the response itself is a success."""
    SHORT = auto()
    """It ends properly, but before the answer does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer that was asked for."""

    prompt: tuple[int, ...]
    session: str
    """What a router would go by to send it where the last one went."""
    sampling: Sampling
    chat: Chat | None = None
    """What it was made of, when it came as a chat."""


class SimVllm:
    """Speaks the part of vLLM's protocol that a remote engine uses, over real HTTP, and answers by a script.

    ``async with SimVllm(script) as sim:`` serves on a free local port, `url`. Whoever wants an answer has to bring
    ``key``, where there is one. ``tells`` is what the two options for details do: whether it says what an answer took.
    ``sees`` is how many pictures a chat may have; None is a router that knows no chats. Faults are for "models",
    "health", "tokenize", "completions" and "chat".
    """

    def __init__(
        self,
        script: Callable[[Request], Script],
        *,
        clock: Clock | None = None,
        faults: Faults | None = None,
        key: str | None = None,
        model: str = "demo",
        context: int | None = 4096,
        tells: bool = True,
        sees: int | None = 0,
    ) -> None:
        self.script = script
        self.faults = faults or Faults()
        self.ill = False
        """Whether every call is answered with 503, as by a server whose engine is dead."""
        self.models = [model]
        self.asked: list[Asked] = []
        self.running = 0
        """Answers that are being written."""
        self.aborted = 0
        """Answers that nobody waited for any more."""
        self.headers: list[Mapping[str, str]] = []
        """Those of every call."""
        self.called = Counter[str]()
        """How often each was called, by the names that faults have."""
        self.tokenizer = CharacterTokenizer()
        self._breaks: deque[tuple[int, Break]] = deque()
        self._clock = clock or SystemClock()
        self._key = key
        self._context = context
        self._tells = tells
        self.sees = sees
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Its address, the same as long as this lives."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Serve, after `stop` again where it was."""
        app = web.Application(middlewares=[self._treat], client_max_size=32 << 20)
        app.router.add_get("/v1/models", self._models, name="models")
        app.router.add_get("/health", self._health, name="health")
        app.router.add_get("/version", self._version, name="version")
        app.router.add_get("/metrics", self._metrics, name="metrics")
        app.router.add_post("/tokenize", self._tokenize, name="tokenize")
        app.router.add_post("/v1/completions", self._completions, name="completions")
        app.router.add_post("/v1/chat/completions", self._chat, name="chat")
        # Cancelled when its reader is gone, as vLLM's are.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Break every connection, and refuse new ones."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for connection in runner.server.connections if runner.server else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()

    def break_after(self, tokens: int, how: Break) -> None:
        """Let the next answer that is begun break after so many tokens."""
        self._breaks.append((tokens, how))

    async def until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until ``condition`` holds; it is looked at after everything that happens here. Raises TimeoutError."""
        async with patience(seconds, lambda: f"{self.running} running, {self.aborted} aborted, asked: {self.asked}"):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    @web.middleware
    async def _treat(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        self._changed.set()
        name = request.match_info.route.name or ""
        self.called[name] += 1
        fault = self.faults.take(name)
        match fault and fault.trouble:
            case Trouble.LIMITED:
                return _error(429, "Too many requests.")
            case Trouble.ERROR:
                return _error(500, "Internal server error.")
            case Trouble.BAD_GATEWAY:
                return web.Response(status=502, text="<html>Bad gateway</html>", content_type="text/html")
            case Trouble.RESET_BEFORE | Trouble.HANG if fault is not None:
                await self._clock.sleep(fault.seconds if fault.trouble is Trouble.HANG else 0)
                assert request.transport is not None
                request.transport.abort()
        if self.ill:
            return _error(503, "The engine is dead.")
        if request.path.startswith("/v1") and self._key not in (None, _bearer(request)):
            return web.json_response({"error": "Unauthorized"}, status=401)
        return await handler(request)

    async def _models(self, request: web.Request) -> web.Response:
        cards = [{"id": name, "object": "model", "root": name, "max_model_len": self._context} for name in self.models]
        return web.json_response({"object": "list", "data": cards})

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "0.0.1"})

    async def _metrics(self, request: web.Request) -> web.Response:
        labels = 'block_size="32",enable_prefix_caching="True",num_gpu_blocks="100"'
        return web.Response(text=f"# HELP\nvllm:cache_config_info{{{labels}}} 1.0\n")

    async def _tokenize(self, request: web.Request) -> web.Response:
        tokens = await self.tokenizer.encode((await request.json())["prompt"])
        return web.json_response({"count": len(tokens), "tokens": tokens})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["model"] not in self.models:
            return _error(404, f"The model `{body['model']}` does not exist.")
        if self._context is not None and len(body["prompt"]) + body["max_tokens"] > self._context:
            return _error(400, "The prompt is too long.")
        return await self._answer(request, body["prompt"], _sampling(body, body["max_tokens"]))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.sees is None:
            return _error(404, "Not Found")
        if body["model"] not in self.models:
            return _error(404, f"The model `{body['model']}` does not exist.")
        chat = chat_of(body["messages"])
        if len(chat.images) > self.sees:
            few = f"At most {self.sees} image(s) may be provided in one prompt."
            return _error(400, few if self.sees else f"{body['model']} is not a multimodal model")
        prompt = await chat.prompt(self.tokenizer)
        tokens = len(prompt) + IMAGE_TOKENS * len(chat.images)
        if self._context is not None and tokens >= self._context:
            return _error(400, f"Input length ({tokens}) exceeds model's maximum context length ({self._context}).")
        return await self._answer(request, prompt, _sampling(body, body["max_completion_tokens"]), chat)

    async def _answer(
        self, request: web.Request, prompt: list[int], sampling: Sampling, chat: Chat | None = None
    ) -> web.StreamResponse:
        self.asked.append(Asked(tuple(prompt), request.headers.get("X-Session-ID", ""), sampling, chat))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        asked = Request(str(len(self.asked)), prompt, sampling, chat.images if chat else ())
        async with self._counted():
            if chat:
                role = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
                await _send(response, {"object": "chat.completion.chunk", "choices": [role]})
            await self._write(request, response, asked, _said if chat else _completed)
        return response

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.running += 1
        self._changed.set()
        try:
            yield
        except (asyncio.CancelledError, ConnectionError):
            self.aborted += 1
            raise
        finally:
            self.running -= 1
            self._changed.set()

    async def _write(self, request: web.Request, response: web.StreamResponse, asked: Request, event: "_Event") -> None:
        script = self.script(asked)
        breaks, how = self._breaks.popleft() if self._breaks else (None, None)
        written = 0
        for number, text in enumerate(script.tokens[: asked.sampling.max_tokens]):
            if number == breaks:
                break
            await self._clock.sleep(script.gap if number else script.first)
            await _send(response, event(text, [ord(character) for character in text] or [TEXTLESS], None))
            written += len(text) or 1
        match how:
            case Break.RESET:
                assert request.transport is not None
                request.transport.abort()
            case Break.STALL:
                await asyncio.Event().wait()
            case Break.ERROR:
                await _send(response, {"error": {"message": "EngineCore died.", "type": "x", "code": 500}})
            case None:
                whole = len(script.tokens) <= asked.sampling.max_tokens
                await _send(response, event("", [END] if whole else [], "stop" if whole else "length"))
                await _send(response, self._usage(asked, written + whole))
        await response.write(b"data: [DONE]\n\n")

    def _usage(self, asked: Request, written: int) -> dict[str, Any]:
        read = len(asked.prompt) + IMAGE_TOKENS * len(asked.images)
        usage: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        last: dict[str, Any] = {"choices": [], "usage": usage}
        if self._tells:
            usage["prompt_tokens_details"] = {"cached_tokens": 0}
            last["metrics"] = {"queue_time_ms": 1.0, "time_to_first_token_ms": 2.0}
        return last


def _bearer(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "Error", "code": status}}, status=status)


_Event = Callable[[str, list[int], str | None], Mapping[str, Any]]
"""What is sent of an answer: its text, its tokens, and how it has ended."""


def _completed(text: str, tokens: list[int], finish: str | None) -> Mapping[str, Any]:
    choice = {"index": 0, "text": text, "finish_reason": finish, "token_ids": tokens}
    return {"object": "text_completion", "choices": [choice]}


def _said(text: str, tokens: list[int], finish: str | None) -> Mapping[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish, "token_ids": tokens}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def _sampling(body: Mapping[str, Any], most: int) -> Sampling:
    return Sampling(most, body["temperature"], body["top_p"], body["min_tokens"])


async def _send(response: web.StreamResponse, event: Mapping[str, Any]) -> None:
    await response.write(f"data: {json.dumps(event)}\n\n".encode())
