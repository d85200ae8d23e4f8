"""``clawdbot bench remote``: what it adds to the first token that the engine is a server's.

The same model with the same settings runs in the process and behind a `vllm serve` on the same machine, and both are
asked the same kind of question in turns. So what is measured is the protocol and the server's own front, no network.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from clawdbot.bench.engine.hearing import Heard, hear
from clawdbot.bench.engine.opening import located
from clawdbot.bench.engine.overhead import ANSWERS, question
from clawdbot.bench.engine.policies import Machine, Policy, start
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.clock import Clock
from clawdbot.engine import arguments, pretrained
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import Engine, Request, Sampling
from clawdbot.engine.remote.opening import Remote, open_remote
from clawdbot.engine.remote.waits import Waits
from clawdbot.engine.vllm import open_vllm
from clawdbot.latency.timing import Summary, summary
from clawdbot.prompts.prompt import compose, room
from clawdbot.testing.served import vllm_serve

REST = 0.5
"""Seconds of quiet before each question: the threads of the engine that was asked last turn idly for a while."""
GPU_SHARE = 0.4
"""What each of two engines may take of one GPU's memory."""
INTERVAL = 5.0
"""Seconds between two checks of the server, during which it could be disturbed."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Seconds from the question to the first token."""

    local: Summary
    remote: Summary
    added: Summary
    """Of each pair the server's time less that of the engine in the process."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        maps = {"local_ttft": self.local, "remote_ttft": self.remote, "added": self.added}
        return {**{name: one.to_map() for name, one in maps.items()}, "pairs": self.added.n}


async def compare(local: Engine, remote: Engine, clock: Clock, pairs: int) -> Compared:
    """Ask each of the two so many questions, in turns; whoever goes first changes every time."""
    times: dict[Engine, list[float | None]] = {local: [], remote: []}
    for pair in range(pairs):
        for turn, engine in enumerate((remote, local) if pair % 2 else (local, remote)):
            await clock.sleep(REST)
            times[engine].append(await _ask(engine, clock, 2 * pair + turn))
    both = zip(times[local], times[remote], strict=True)
    added = [away - here for here, away in both if here is not None and away is not None]
    return Compared(summary(times[local]), summary(times[remote]), summary(added))


async def _ask(engine: Engine, clock: Clock, number: int) -> float | None:
    within = room(engine.info.context, ANSWERS.max_tokens, ANSWERS.history_share)
    made = await compose(engine.tokenizer, ANSWERS.system_prompt, [], question(number), within)
    sampling = Sampling(ANSWERS.max_tokens, ANSWERS.temperature, ANSWERS.top_p)
    heard = Heard(clock.now())
    await hear(engine, Request(f"remote/{number}", made.tokens, sampling), heard, clock)
    return heard.ttft


@asynccontextmanager
async def both(
    model: str | ShapeName, machine: Machine, profile: Profile, clock: Clock
) -> AsyncIterator[tuple[Engine, Engine]]:
    """The engine in this process, and the one on a server of its own, with the same settings.

    Raises `EngineUnavailable`.
    """
    wanted = start(Policy.FIRST_TOKEN_FIRST, machine, profile)
    share = {"gpu_memory_utilization": GPU_SHARE} if machine.has_gpu else {}
    async with AsyncExitStack() as stack:
        path, loading = stack.enter_context(located(model))
        limit = pretrained.context_of(path)
        args = arguments.complete(
            {**wanted.args, **loading, **share}, on_cpu=not machine.has_gpu, limit=limit, profile=wanted.profile
        )
        server = await stack.enter_async_context(vllm_serve(path, args))
        away = Remote((server.url,), "", path, 0, args["max_num_batched_tokens"], 0, INTERVAL, Waits(), None)
        remote = await stack.enter_async_context(open_remote(away, clock))
        local = await stack.enter_async_context(open_vllm(path, "auto", args, wanted.profile))
        yield local, remote
