"""Finds the servers of a remote engine, and whether they are what the settings take them for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from clawdbot.clock import Clock
from clawdbot.engine.fingerprint import SAMPLE
from clawdbot.engine.pretrained import load_tokenizer
from clawdbot.engine.protocol import EngineInfo, Request, Sampling, Tokenizer
from clawdbot.engine.remote import calls
from clawdbot.engine.remote.engine import RemoteEngine
from clawdbot.engine.remote.faults import Fault
from clawdbot.engine.remote.pool import Pool
from clawdbot.engine.remote.server import Card, Server
from clawdbot.engine.remote.waits import Waits
from clawdbot.errors import EngineUnavailable
from clawdbot.tasks.threads import run_apart

log = logging.getLogger(__name__)

PROBE = Request("probe", [1, 2, 3], Sampling(1, temperature=0.0))
"""One token shows that it writes, and returns ids."""
MANY = 999
"""How many pictures a prompt may have where one is taken: vLLM's own bound. A server with less of it says so."""


@dataclass(frozen=True, slots=True)
class Remote:
    """What is to be opened: the settings of ``[engine.remote]``."""

    endpoints: tuple[str, ...]
    model: str
    """As the servers call it; "" for the only one that they have."""
    tokenizer: str
    """A folder or a hub name; "" for where the server has its model from."""
    context: int
    """Tokens; 0 asks the server."""
    step_budget: int
    """The servers' `max_num_batched_tokens`, which they do not tell."""
    cache_tokens: int
    """How much all caches hold together; 0 asks the servers."""
    interval: float
    """Seconds between two checks of each server."""
    waits: Waits
    key: str | None
    images: int | None = None
    """How many pictures a prompt may have; None asks the servers."""
    at: str = "engine.remote"
    """The table of the settings that all this is from."""


@asynccontextmanager
async def open_remote(
    remote: Remote, clock: Clock, load: Callable[[str], Tokenizer] = load_tokenizer
) -> AsyncIterator[RemoteEngine]:
    """The engine on these servers, as soon as one of them is there; ``load`` brings the tokenizer.

    Raises `EngineUnavailable` for what waiting does not mend: a wrong key, model or tokenizer.
    """
    servers = [Server(url, remote.key, remote.waits) for url in remote.endpoints]
    try:
        engine = await _engine(servers, remote, clock, load)
    except BaseException:
        await asyncio.gather(*(server.close() for server in servers))
        raise
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(engine.watch())
        try:
            yield engine
        finally:
            watching.cancel()
            await engine.close()


async def _engine(
    servers: Sequence[Server], remote: Remote, clock: Clock, load: Callable[[str], Tokenizer]
) -> RemoteEngine:
    pool = Pool(len(servers))
    told: set[str] = set()
    while not (cards := await _look(servers, remote, pool, told)):
        await clock.sleep(remote.interval)
    server, card = servers[pool.up[0]], cards[0]
    # Its thread ends with the last answer that uses it, which may outlive the engine.
    tokenizer = await run_apart(lambda: load(remote.tokenizer or card.root or card.name))
    theirs = await server.tokenize(card.name, SAMPLE)
    if theirs is not None and theirs != await tokenizer.encode(SAMPLE):
        raise EngineUnavailable(
            f"{server.url} tokenizes otherwise than the tokenizer here does.",
            f'Set [{remote.at}] tokenizer to the model that is served there ("{card.root or card.name}").',
        )
    up = [servers[number] for number in pool.up]
    images = await _images(up, card.name) if remote.images is None else remote.images
    info = await _info(up, cards, remote, images)
    return RemoteEngine(servers, pool, card.name, tokenizer=tokenizer, info=info, clock=clock, interval=remote.interval)


async def _look(servers: Sequence[Server], remote: Remote, pool: Pool, told: set[str]) -> list[Card]:
    """Try all servers; what those say that can answer, in their order. ``told`` is what the log has been told.

    Raises `EngineUnavailable` when none ever will.
    """
    found = await asyncio.gather(*(_try(server, remote.model) for server in servers))
    faults = [one for one in found if isinstance(one, Fault)]
    if len(faults) == len(servers) and all(fault.lasting for fault in faults):
        reasons = "; ".join(f"{server.url}: {fault}" for server, fault in zip(servers, faults, strict=True))
        raise EngineUnavailable(f"No server can be used. {reasons}.", f"Check [{remote.at}] endpoints and model.")
    for number, one in enumerate(found):
        pool.checked(number, isinstance(one, Card))
        if isinstance(one, Fault) and (sentence := f"{servers[number].url}: {one}") not in told:
            log.warning("%s", sentence)
            told.add(sentence)
    return [one for one in found if isinstance(one, Card)]


async def _try(server: Server, model: str) -> Card | Fault:
    """What a server says about the model, after it has written a token of it; or why it cannot be used."""
    try:
        card = await server.check(model)
        async with aclosing(server.stream(calls.written(card.name, PROBE, 1))) as deltas:
            spent = [delta.spent async for delta in deltas if delta.spent]
    except Fault as fault:
        return fault
    if any(one.cached_tokens is None or one.prefill is None for one in spent):
        log.warning(
            "%s does not tell what it reads and when; --enable-prompt-tokens-details and --enable-per-request-metrics "
            "let it, and /latency show it",
            server.url,
        )
    return card


async def _images(servers: Sequence[Server], model: str) -> int:
    """How many pictures a prompt may have, by the first server that lets itself be tried; all have the same model.

    Where it does not show now, each question that has some is a try: they take it, or refuse it with the reason.
    """
    for server in servers:
        try:
            sees = await server.sees(model)
        except Fault as fault:
            log.warning("%s: whether it takes pictures does not show: %s", server.url, fault)
        else:
            log.info("%s: it takes %s", server.url, "pictures" if sees else "no pictures")
            return MANY if sees else 0
    return MANY


async def _info(servers: Sequence[Server], cards: Sequence[Card], remote: Remote, images: int) -> EngineInfo:
    context = remote.context or min(card.context for card in cards)
    if not context:
        raise EngineUnavailable(
            f"{servers[0].url} does not say how many tokens of context its model has.", f"Set [{remote.at}] context."
        )
    facts = await asyncio.gather(*(server.facts() for server in servers))
    versions = sorted({one.version for one in facts if one.version})
    count = len(remote.endpoints)
    return EngineInfo(
        model=cards[0].name.rstrip("/").rsplit("/", 1)[-1],
        device=f"{count} server{'s' if count > 1 else ''}",
        version=f"vLLM {', '.join(versions)}" if versions else "of a version unknown",
        context=context,
        chunked_prefill=None,
        step_budget=remote.step_budget,
        long_prefill=None,
        cache_tokens=remote.cache_tokens or sum(one.cache_tokens for one in facts),
        cache_block=max(one.cache_block for one in facts),
        images=images,
    )
