"""The command ``clawdbot bench remote``."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from clawdbot.bench import output
from clawdbot.bench.engine.opening import this_machine
from clawdbot.bench.engine.policies import Machine
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.engine.subject import ModelOption, ProfileOption, ShapeOption, run
from clawdbot.bench.options import JsonOption
from clawdbot.bench.output import milliseconds
from clawdbot.clock import SystemClock
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import EngineInfo

# It needs the library of an extra, which no other bench does.
if TYPE_CHECKING:
    from clawdbot.bench.engine.remote import Compared


def remote(
    pairs: Annotated[int, typer.Option(min=1, help="Questions asked each way, in turns.")] = 100,
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    profile: ProfileOption = "balanced",
    json: JsonOption = None,
) -> None:
    """The first token of the same model in this process and behind a `vllm serve` on this machine."""
    started_at, machine = datetime.now(UTC), this_machine()
    found, info = run(_compare(shape or model, machine, profile, pairs))
    options = {"model": shape or model, "profile": profile}
    if json is not None:
        output.write(json, {**output.origin(started_at, info.device), "options": options, **found.to_map()})
    rows = [
        (name, *map(milliseconds, (one.p50, one.p95, one.p99, one.max)))
        for name, one in (("in this process", found.local), ("on a server", found.remote), ("added", found.added))
    ]
    more = milliseconds(found.remote.p50 - found.local.p50)
    title = f"{pairs} pairs: the server's median is {more} ms later, {milliseconds(found.added.p50)} in a pair"
    output.show(title, ("ms", "p50", "p95", "p99", "max"), rows)


async def _compare(
    model: str | ShapeName, machine: Machine, profile: Profile, pairs: int
) -> "tuple[Compared, EngineInfo]":
    from clawdbot.bench.engine.remote import both, compare

    clock = SystemClock()
    async with both(model, machine, profile, clock) as (local, away):
        return await compare(local, away, clock, pairs), local.info
