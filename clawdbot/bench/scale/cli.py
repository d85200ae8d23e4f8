"""``clawdbot bench scale``: its options, its table, its file."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import typer
import uvloop

from clawdbot.bench import output
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.bench.output import milliseconds
from clawdbot.bench.trace import FIRST


def scale(
    conversations: Annotated[int, typer.Option(min=1, help="Conversations at the same time.")] = 1000,
    rate: Annotated[float, typer.Option(min=0.1, help="Tokens per second of one answer.")] = 20.0,
    tokens: Annotated[int, typer.Option(min=3, help="Tokens of one answer.")] = 400,
    seconds: Annotated[float, typer.Option(min=0.1, help="For how long those who are answered ask again.")] = 30.0,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Many conversations that stream at once in one process, written by a script, on a platform without limits."""
    from clawdbot.bench.scale import measurement
    from clawdbot.bench.scale.crowd import Crowd

    started_at = datetime.now(UTC)
    script = measurement.scripts(rate=rate, tokens=tokens, first=FIRST, seed=seed)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(measurement.measure(Crowd(conversations, seconds, seed), script))
    rows = [
        (name, *map(milliseconds, (one.p50, one.p95, one.p99, one.max)))
        for name, one in (("loop lag", found.loop_lag), ("added first visible", found.added_first_visible))
    ]
    memory = f"{found.cpu_share:.2f} cores, {found.rss_mib:.0f} MiB more than without them"
    title = f"{conversations} conversations, {found.answers} answers, {found.wrong} wrong: {memory}"
    output.show(title, ("ms", "p50", "p95", "p99", "max"), rows)
    options = {"rate": rate, "tokens": tokens, "seconds": seconds, "seed": seed}
    if json is not None:
        output.write(json, {**output.origin(started_at), "options": options, **found.to_map()})
