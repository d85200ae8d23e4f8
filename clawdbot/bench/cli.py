"""``clawdbot bench``: the commands that measure. Each measures in a module of its own; here are options and tables."""

import asyncio
import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from clawdbot.bench import output
from clawdbot.bench.chaos.cli import chaos
from clawdbot.bench.engine.cli import overhead, stop, turns, warmth
from clawdbot.bench.engine.policies_cli import load, ttft
from clawdbot.bench.engine.remote_cli import remote
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.bench.output import milliseconds
from clawdbot.bench.report.cli import report
from clawdbot.bench.trace import draw

# A bench brings both platforms' libraries, a second or two that no other command should wait for.
if TYPE_CHECKING:
    from clawdbot.bench.delivery.comparison import Comparison
    from clawdbot.bench.scenes import Platform

FIRST = 0.2
"""Seconds that the scripted engine takes for the first token."""
SPREAD = 2.0
"""Seconds within which all chats get their question."""

bench = typer.Typer(no_args_is_help=True, help="Measure this machine, its engine and the bot.")

for measure in (load, ttft, turns, warmth, overhead, stop, remote, chaos, report):
    bench.command()(measure)


class Platforms(StrEnum):
    """Which platforms are measured."""

    DISCORD = "discord"
    TELEGRAM = "telegram"
    GROUPS = "telegram-groups"
    BOTH = "both"
    ALL = "all"

    @property
    def names(self) -> "tuple[Platform, ...]":
        """They, one by one."""
        every: tuple[Platform, ...] = ("discord", "telegram", "telegram-groups")
        chosen = {Platforms.BOTH: every[:2], Platforms.ALL: every}
        return chosen.get(self) or tuple(name for name in every if name == self)


@bench.callback()
def _quiet() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@bench.command()
def delivery(
    rtt: Annotated[float, typer.Option(min=0, help="Added round trip of every call to the platform, in ms.")] = 0.0,
    rate: Annotated[float, typer.Option(min=0.1, help="Tokens per second of one answer.")] = 40.0,
    tokens: Annotated[int, typer.Option(min=3, help="Tokens of one answer.")] = 400,
    chats: Annotated[int, typer.Option(min=1, help="Chats in which a question is asked at about the same time.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="How often that is repeated, in fresh chats.")] = 2,
    platform: Annotated[Platforms, typer.Option(help="Where; both: not in groups.")] = Platforms.BOTH,
    drafts: Annotated[
        bool, typer.Option("--drafts", help="On Telegram also with answers that grow as drafts.")
    ] = False,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """What people see, and when, of answers written by a script, on the simulated platforms."""
    from clawdbot.bench.delivery import comparison

    names: tuple[Platform, ...] = (*platform.names, "telegram-drafts") if drafts else platform.names
    started_at = datetime.now(UTC)
    trace = draw(chats=chats, rounds=rounds, spread=SPREAD, tokens=tokens, first=FIRST, rate=rate, seed=seed)
    found: dict[str, object] = {}
    for name in names:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            compared = runner.run(comparison.compare(name, trace, rtt=rtt / 1000))
        _show(name, compared)
        found[name] = compared.to_map()
    options = {"rtt": rtt, "rate": rate, "tokens": tokens, "chats": chats, "rounds": rounds, "seed": seed}
    if json is not None:
        output.write(json, {**output.origin(started_at), "options": options, "platforms": found})


@bench.command()
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


def _show(platform: str, compared: "Comparison") -> None:
    ideal = compared.ideal.maps
    rows = [
        (name.replace("_", " "), *map(milliseconds, (own.p50, own.p95, own.max, ideal[name].p50, ideal[name].p95)))
        for name, own in compared.bot.maps.items()
    ]
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in compared.bot.counts.items())
    columns = ("ms", "p50", "p95", "max", "ideal p50", "ideal p95")
    output.show(f"{platform}, {len(compared.bot.figures)} answers: {counts}", columns, rows)
