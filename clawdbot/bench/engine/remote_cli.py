"""The command ``clawdbot bench remote``."""

from typing import TYPE_CHECKING, Annotated

import typer

from clawdbot.bench import output
from clawdbot.bench.engine.opening import this_machine
from clawdbot.bench.engine.subject import Subject, of_one_engine, run
from clawdbot.bench.output import milliseconds
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import EngineInfo

# It needs the library of an extra, which no other bench does.
if TYPE_CHECKING:
    from clawdbot.bench.engine.remote import Compared


@of_one_engine
def remote(
    on: Subject,
    pairs: Annotated[int, typer.Option(min=1, help="Questions asked each way, in turns.")] = 100,
) -> None:
    """The first token of the same model in this process and behind a `vllm serve` on this machine."""
    found, info = run(_compare(on, pairs))
    on.write(info.device, {}, found.to_map())
    rows = [
        (name, *map(milliseconds, (one.p50, one.p95, one.p99, one.max)))
        for name, one in (("in this process", found.local), ("on a server", found.remote), ("added", found.added))
    ]
    more = milliseconds(found.remote.p50 - found.local.p50)
    title = f"{pairs} pairs: the server's median is {more} ms later, {milliseconds(found.added.p50)} in a pair"
    output.show(title, ("ms", "p50", "p95", "p99", "max"), rows)


async def _compare(on: Subject, pairs: int) -> "tuple[Compared, EngineInfo]":
    from clawdbot.bench.engine.remote import both, compare

    clock = SystemClock()
    async with both(on.model, this_machine(), on.profile, clock) as (local, away):
        return await compare(local, away, clock, pairs), local.info
