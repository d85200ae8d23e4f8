"""The commands of ``clawdbot bench`` that compare ways to run an engine: ``load`` and ``ttft``."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from clawdbot.bench import output
from clawdbot.bench.engine import arrivals, opening
from clawdbot.bench.engine import load as loading
from clawdbot.bench.engine import ttft as reading
from clawdbot.bench.engine.arrivals import TraceName, Traffic
from clawdbot.bench.engine.load import Outcome
from clawdbot.bench.engine.policies import Machine, Policy
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.engine.subject import ModelOption, ProfileOption, ShapeOption, run
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.bench.output import milliseconds
from clawdbot.clock import SystemClock
from clawdbot.engine.admission import Admission
from clawdbot.engine.admission import Policy as Rules
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import EngineInfo
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError
from clawdbot.latency.timing import Summary
from clawdbot.settings.config import SessionSettings

PolicyOption = Annotated[str, typer.Option(help="Which ways to run the engine, with commas between them.")]


def load(
    policy: PolicyOption = "off,on,first-token-first",
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    trace: Annotated[TraceName | None, typer.Option(help="Which traffic; by default the machine's own.")] = None,
    profile: ProfileOption = "balanced",
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each; the medians are shown.")] = 1,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Mixed traffic: streaming chats, long and short prompts, the same arrivals under every policy."""
    started_at, machine = datetime.now(UTC), opening.this_machine()
    traffic = arrivals.draw(trace or ("h200" if machine.has_gpu else "cpu"), seed)
    found: dict[str, object] = {}
    rows = []
    device = None
    for chosen in policies(policy):
        outcomes, info = run(_load(shape or model, chosen, machine, profile, traffic, repeats))
        middle, device = loading.median(outcomes), info.device
        rows.append(_load_row(chosen, middle))
        found[chosen] = {
            **middle.to_map(),
            "engine": asdict(info),
            "runs": [outcome.to_map() for outcome in outcomes],
        }
        options = {"model": shape or model, "profile": profile, "repeats": repeats, "seed": seed}
        _write(json, started_at, device, {"options": options, "policies": found, "trace": traffic.to_map()})
    columns = ("ms", "short p50", "p95", "long p50", "gap p99", "max", "tok/s")
    output.show(f"{shape or model} on {device}, trace {traffic.name}, seed {seed}", columns, rows)


async def _load(
    model: str | ShapeName, policy: Policy, machine: Machine, profile: Profile, traffic: Traffic, repeats: int
) -> tuple[list[Outcome], EngineInfo]:
    clock = SystemClock()
    _tell(f"{policy}: the engine starts")
    async with opening.opened(model, policy, machine, profile) as engine:
        outcomes = []
        for number in range(1, repeats + 1):
            _tell(f"{policy}: run {number} of {repeats}")
            door: loading.Door = loading.open_door
            if policy is Policy.FIRST_TOKEN_FIRST:
                door = loading.guarded(Admission(_rules(), clock), engine.info)
            outcomes.append(await loading.play(engine, door, traffic, f"run-{number}", clock))
        return outcomes, engine.info


def _rules() -> Rules:
    """Those that the bot has when nothing is configured."""
    sessions = SessionSettings()
    return Rules(sessions.concurrent, EngineSettings().max_long_prefills, sessions.patience)


def _load_row(policy: Policy, outcome: Outcome) -> tuple[str, ...]:
    short, long, gap = outcome.short_ttft, outcome.long_ttft, outcome.token_gap
    times = (short.p50, short.p95, long.p50, gap.p99, gap.max)
    return (policy, *map(milliseconds, times), f"{outcome.throughput:,.1f}")


def ttft(
    model: Annotated[list[str] | None, typer.Option(help="Models to measure, each with an option of its own.")] = None,
    shape: Annotated[list[ShapeName] | None, typer.Option(help="Sizes without weights, likewise.")] = None,
    policy: PolicyOption = "off,on",
    profile: ProfileOption = "balanced",
    repeats: Annotated[int, typer.Option(min=1, help="Prompts of each length.")] = 10,
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Time to first token by prompt length, one prompt at a time, chunked prefill off and on."""
    started_at, machine = datetime.now(UTC), opening.this_machine()
    measured: list[str | ShapeName] = [*(shape or ()), *(model or (() if shape else ("demo",)))]
    rows: list[dict[str, object]] = []
    shown = []
    for one in measured:
        for chosen in policies(policy):
            found, info = run(_ttft(one, chosen, machine, profile, repeats, seed))
            rows += reading.rows(one, chosen, found)
            shown += [
                (one, chosen, f"{length:,}", *map(milliseconds, (times.p50, times.p95, times.max)))
                for length, times in found.items()
            ]
            options = {"profile": profile, "repeats": repeats, "seed": seed}
            _write(json, started_at, info.device, {"options": options, "rows": rows})
    output.show("Time to first token, ms", ("model", "mode", "prompt tokens", "p50", "p95", "max"), shown)


async def _ttft(
    model: str | ShapeName, policy: Policy, machine: Machine, profile: Profile, repeats: int, seed: int
) -> tuple[dict[int, Summary], EngineInfo]:
    _tell(f"{model}, {policy}")
    async with opening.opened(model, policy, machine, profile) as engine:
        return dict(await reading.measure(engine, SystemClock(), repeats=repeats, seed=seed)), engine.info


def policies(names: str) -> list[Policy]:
    """The policies that an option names, such as "off,on". Raises `ConfigError` for one that does not exist."""
    try:
        return [Policy(name.strip()) for name in names.split(",")]
    except ValueError as error:
        raise ConfigError("--policy", f"{error}. There are {', '.join(Policy)}.") from error


def _write(json: Path | None, started_at: datetime, device: str | None, content: dict[str, object]) -> None:
    if json is not None:
        output.write(json, {**output.origin(started_at, device), **content})


def _tell(step: str) -> None:
    typer.echo(f"{step} …", err=True)
