"""``clawdbot bench delivery``: its options, its tables, its file."""

import asyncio
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from clawdbot.bench import output
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.bench.output import milliseconds
from clawdbot.bench.trace import FIRST, draw

# A bench brings both platforms' libraries, a second or two that no other command should wait for.
if TYPE_CHECKING:
    from clawdbot.bench.delivery.comparison import Comparison
    from clawdbot.bench.scenes import Platform

SPREAD = 2.0
"""Seconds within which all chats get their question."""


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


def _show(platform: str, compared: "Comparison") -> None:
    ideal = compared.ideal.maps
    rows = [
        (name.replace("_", " "), *map(milliseconds, (own.p50, own.p95, own.max, ideal[name].p50, ideal[name].p95)))
        for name, own in compared.bot.maps.items()
    ]
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in compared.bot.counts.items())
    columns = ("ms", "p50", "p95", "max", "ideal p50", "ideal p95")
    output.show(f"{platform}, {len(compared.bot.figures)} answers: {counts}", columns, rows)
