"""SimVllm: a `vllm serve` without a model, for a bot whose engine is elsewhere."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from clawdbot.clock import Clock, SystemClock
from clawdbot.engine.protocol import Request, Sampling
from clawdbot.testing.engine import TEXTLESS, CharacterTokenizer, Script
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


class SimVllm:
    """Speaks the part of vLLM's protocol that a remote engine uses, over real HTTP, and answers by a script.

    ``async with SimVllm(script) as sim:`` serves on a free local port, `url`. Whoever wants an answer has to bring
    ``key``, where there is one. ``tells`` is what the two options for details do: whether it says what an answer took.
    Faults are for "models", "health", "tokenize" and "completions".
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
        self.tokenizer = CharacterTokenizer()
        self._breaks: deque[tuple[int, Break]] = deque()
        self._clock = clock or SystemClock()
        self._key = key
        self._context = context
        self._tells = tells
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
        sampling = Sampling(body["max_tokens"], body["temperature"], body["top_p"], body["min_tokens"])
        self.asked.append(Asked(tuple(body["prompt"]), request.headers.get("X-Session-ID", ""), sampling))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async with self._counted():
            await self._write(request, response, Request(str(len(self.asked)), body["prompt"], sampling))
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

    async def _write(self, request: web.Request, response: web.StreamResponse, asked: Request) -> None:
        script = self.script(asked)
        breaks, how = self._breaks.popleft() if self._breaks else (None, None)
        written = 0
        for number, text in enumerate(script.tokens[: asked.sampling.max_tokens]):
            if number == breaks:
                break
            await self._clock.sleep(script.gap if number else script.first)
            await _send(response, _choice(text, [ord(character) for character in text] or [TEXTLESS]))
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
                await _send(response, _choice("", [END] if whole else [], "stop" if whole else "length"))
                await _send(response, self._usage(asked, written + whole))
        await response.write(b"data: [DONE]\n\n")

    def _usage(self, asked: Request, written: int) -> dict[str, Any]:
        usage: dict[str, Any] = {"prompt_tokens": len(asked.prompt), "completion_tokens": written, "total_tokens": 0}
        last: dict[str, Any] = {"object": "text_completion", "choices": [], "usage": usage}
        if self._tells:
            usage["prompt_tokens_details"] = {"cached_tokens": 0}
            last["metrics"] = {"queue_time_ms": 1.0, "time_to_first_token_ms": 2.0}
        return last


def _bearer(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "Error", "code": status}}, status=status)


def _choice(text: str, tokens: list[int], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "finish_reason": finish, "token_ids": tokens}
    return {"object": "text_completion", "choices": [choice]}


async def _send(response: web.StreamResponse, event: Mapping[str, Any]) -> None:
    await response.write(f"data: {json.dumps(event)}\n\n".encode())
