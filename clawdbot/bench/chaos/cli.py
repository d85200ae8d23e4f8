"""``clawdbot bench chaos``: its options, its stages one after the other, its tables."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop
from rich.console import Console

from clawdbot.bench import output
from clawdbot.bench.options import JsonOption, SeedOption

# A bench brings both platforms' libraries, a second or two that no other command should wait for.
if TYPE_CHECKING:
    from clawdbot.bench.chaos.tally import Tally

FIGURES = (
    "answers",
    "lost",
    "duplicated",
    "wrong_text",
    "unmarked",
    "ambiguous_sends",
    "cut_short",
    "early_calls",
    "engines_left",
)
Tell = Callable[[int], None]


def chaos(
    answers: Annotated[int, typer.Option(min=0, help="Answers in virtual time, on platforms in memory.")] = 2000,
    sdk: Annotated[int, typer.Option(min=0, help="Answers through the platforms' own SDKs.")] = 100,
    kills: Annotated[int, typer.Option(min=0, help="How often a real process is killed.")] = 200,
    rate: Annotated[float, typer.Option(min=0, max=1, help="How many of the calls fail, 0 to 1.")] = 0.1,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Lose nothing, show nothing twice: answers whose calls fail, whose connections drop, whose bot is killed.

    The screens are judged at the end, by what the platforms show and the engine wrote. Exit code 1 when something is
    lost, twice, wrong or unmarked, or a process is left over.
    """
    from clawdbot.bench.chaos.log import listen

    started_at = datetime.now(UTC)
    unforeseen = listen()
    with TemporaryDirectory(prefix="clawdbot-chaos-") as folder:
        tallies = _stages(answers, sdk, kills, rate, seed, Path(folder))
    total = _show(tallies, f"seed {seed}, {rate:.0%} of the calls fail")
    for suspect in total.suspects:
        typer.echo(suspect)
    options = {"answers": answers, "sdk": sdk, "kills": kills, "rate": rate, "seed": seed}
    if json is not None:
        stages = {name: tally.to_map() for name, tally in tallies.items()}
        found = {**total.to_map(), "unforeseen": unforeseen.count, "stages": stages}
        output.write(json, {**output.origin(started_at), "options": options, **found})
    if not total.clean or unforeseen.count:
        raise typer.Exit(1)


def _stages(answers: int, sdk: int, kills: int, rate: float, seed: int, folder: Path) -> "Mapping[str, Tally]":
    """Play what is asked for, one stage after the other."""
    from clawdbot.bench.chaos.kill import run_kills
    from clawdbot.bench.chaos.sdk import run_sdk
    from clawdbot.bench.chaos.virtual import run_virtual
    from clawdbot.testing.virtual_time import VirtualLoop

    found: dict[str, Tally] = {}
    if answers:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner, _Line("answers in virtual time", answers) as tell:
            found["virtual"] = runner.run(run_virtual(answers, seed, rate, folder, tell))
    if sdk:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, _Line("answers by SDK", sdk) as tell:
            found["sdk"] = runner.run(run_sdk(sdk, seed, rate, folder, tell))
    if kills:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, _Line("kills", kills) as tell:
            found["kill"] = runner.run(run_kills(kills, seed, folder, tell))
    return found


class _Line:
    """A line that says how far a stage is; nothing where nobody sits at a terminal."""

    def __init__(self, what: str, most: int) -> None:
        self._what = what
        self._most = most
        self._status = Console(stderr=True).status(f"{most:,} {what}")

    def __enter__(self) -> Tell:
        self._status.start()
        return lambda done: self._status.update(f"{done:,} of {self._most:,} {self._what}")

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def _show(tallies: "Mapping[str, Tally]", title: str) -> "Tally":
    """Print both tables; all stages together."""
    from clawdbot.bench.chaos.tally import Tally

    total = sum(tallies.values(), Tally())
    maps = [tally.to_map() for tally in (*tallies.values(), total)]
    columns = (*tallies, "all")
    rows = [(name.replace("_", " "), *(f"{one[name]:,}" for one in maps)) for name in FIGURES]
    output.show(title, ("", *columns), rows)
    every = (*tallies.values(), total)
    kinds = [
        (kind.replace("_", " "), *(f"{one.faults.get(kind, 0):,}" for one in every)) for kind in sorted(total.faults)
    ]
    output.show("faults", ("", *columns), kinds)
    return total
