"""The commands of ``clawdbot bench`` that measure a real engine.

They are ``load``, ``ttft``, ``turns``, ``warmth``, ``overhead`` and ``stop``.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import asdict
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop

from clawdbot.bench import output
from clawdbot.bench.engine import arrivals
from clawdbot.bench.engine import load as loading
from clawdbot.bench.engine import overhead as comparing
from clawdbot.bench.engine import stop as stopping
from clawdbot.bench.engine import ttft as reading
from clawdbot.bench.engine import turns as talking
from clawdbot.bench.engine import warmth as warming
from clawdbot.bench.engine.arrivals import TraceName, Traffic
from clawdbot.bench.engine.load import Outcome
from clawdbot.bench.engine.opening import opened, this_machine
from clawdbot.bench.engine.policies import Machine, Policy
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.engine.stop_scene import MOMENTS
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.clock import SystemClock
from clawdbot.config import AnswerSettings, EngineSettings, SessionSettings
from clawdbot.engine.admission import Admission
from clawdbot.engine.admission import Policy as Rules
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import EngineInfo
from clawdbot.errors import ConfigError
from clawdbot.latency import Summary
from clawdbot.ops.kv_cache import share_in_use
from clawdbot.prompt import room

T = TypeVar("T")

ModelOption = Annotated[str, typer.Option(help='"demo", a folder, or a Hugging Face name.')]
ShapeOption = Annotated[ShapeName | None, typer.Option(help="A size without weights, instead of a model.")]
PolicyOption = Annotated[str, typer.Option(help="Which ways to run the engine, with commas between them.")]
ProfileOption = Annotated[Profile, typer.Option(help="What first-token-first cuts its steps for.")]


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
    started_at, machine = datetime.now(UTC), this_machine()
    traffic = arrivals.draw(trace or ("h200" if machine.has_gpu else "cpu"), seed)
    found: dict[str, object] = {}
    rows = []
    device = None
    for chosen in policies(policy):
        outcomes, info = _run(_load(shape or model, chosen, machine, profile, traffic, repeats))
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
    async with opened(model, policy, machine, profile) as engine:
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
    started_at, machine = datetime.now(UTC), this_machine()
    measured: list[str | ShapeName] = [*(shape or ()), *(model or (() if shape else ("demo",)))]
    rows: list[dict[str, object]] = []
    shown = []
    for one in measured:
        for chosen in policies(policy):
            found, info = _run(_ttft(one, chosen, machine, profile, repeats, seed))
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
    async with opened(model, policy, machine, profile) as engine:
        return dict(await reading.measure(engine, SystemClock(), repeats=repeats, seed=seed)), engine.info


def turns(
    count: Annotated[int, typer.Option("--turns", min=1, help="How many questions are asked.")] = 60,
    answer: Annotated[int, typer.Option(min=1, help="Tokens of each answer.")] = 64,
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    profile: ProfileOption = "balanced",
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """One long conversation: what its turns wait for, and how much the prefix cache spares them."""
    started_at, machine = datetime.now(UTC), this_machine()
    rows, info = _run(_turns(shape or model, machine, profile, count, answer, seed))
    share, slower = talking.cached_share(rows), talking.slowing(rows)
    figures = {"cached_share": round(share, 4), "late_by_early": None if slower is None else round(slower, 4)}
    options = {"model": shape or model, "profile": profile, "answer": answer, "seed": seed}
    _write(json, started_at, info.device, {"options": options, **figures, "rows": [row.to_map() for row in rows]})
    sizes = [
        (str(row.turn), f"{row.prompt_tokens:,}", f"{row.cached_tokens:,}", milliseconds(row.ttft)) for row in rows
    ]
    marked = [(*cells, "trimmed" if row.trimmed else "") for cells, row in zip(sizes, rows, strict=True)]
    title = f"{share:.0%} of all prompt tokens cached"
    if slower is not None:
        title += f"; turns 41 to 60 take {slower:.2f} times as long as turns 3 to 10"
    output.show(title, ("turn", "prompt tokens", "cached", "TTFT ms", ""), marked)


async def _turns(
    model: str | ShapeName, machine: Machine, profile: Profile, count: int, answer: int, seed: int
) -> tuple[list[talking.Row], EngineInfo]:
    answers = AnswerSettings()
    async with opened(model, Policy.FIRST_TOKEN_FIRST, machine, profile) as engine:
        within = room(engine.info.context, answers.max_tokens, answers.history_share)
        rows = await talking.converse(
            engine, SystemClock(), system=answers.system_prompt, within=within, turns=count, answer=answer, seed=seed
        )
        return rows, engine.info


def warmth(
    count: Annotated[int, typer.Option("--turns", min=1, help="How long the conversation is.")] = 15,
    rounds: Annotated[int, typer.Option(min=1, help="Questions asked each way.")] = 5,
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    profile: ProfileOption = "balanced",
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """The next question of a conversation: kept in the prefix cache, forgotten, and read ahead while somebody types."""
    started_at, machine = datetime.now(UTC), this_machine()
    found, info = _run(_warmth(shape or model, machine, profile, count, rounds, seed))
    options = {"model": shape or model, "profile": profile, "turns": count, "rounds": rounds, "seed": seed}
    _write(json, started_at, info.device, {"options": options, **found.to_map()})
    measured = [*((f"{way}: first token", found.ttft[way]) for way in warming.WAYS), ("reading ahead", found.reading)]
    rows = [(name, *map(milliseconds, (one.p50, one.p95, one.max))) for name, one in measured]
    title = f"A conversation of {found.tokens:,} tokens, {rounds} questions each way"
    output.show(title, ("ms", "p50", "p95", "max"), rows)


async def _warmth(
    model: str | ShapeName, machine: Machine, profile: Profile, count: int, rounds: int, seed: int
) -> tuple[warming.Warmth, EngineInfo]:
    answers = AnswerSettings()
    async with opened(model, Policy.FIRST_TOKEN_FIRST, machine, profile) as engine:
        within = room(engine.info.context, answers.max_tokens, answers.history_share)
        history = warming.history_of(count, seed)
        talk = warming.Talk(engine, SystemClock(), answers.system_prompt, within, history)
        return await warming.measure(talk, rounds), engine.info


def overhead(
    pairs: Annotated[int, typer.Option(min=1, help="Questions asked each way, in turns.")] = 100,
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    profile: ProfileOption = "balanced",
    json: JsonOption = None,
) -> None:
    """The first word through the whole bot against the engine called directly."""
    started_at, machine = datetime.now(UTC), this_machine()
    found, info = _run(_overhead(shape or model, machine, profile, pairs))
    _write(json, started_at, info.device, {"options": {"model": shape or model, "profile": profile}, **found.to_map()})
    rows = [
        (name, *map(milliseconds, (one.p50, one.p95, one.p99, one.max)))
        for name, one in (("engine alone", found.raw), ("through the bot", found.bot), ("added", found.added))
    ]
    share = found.bot.p50 / found.raw.p50 - 1
    title = f"{pairs} pairs: the bot's median is {share:+.1%} against the engine's own"
    output.show(title, ("ms", "p50", "p95", "p99", "max"), rows)


async def _overhead(
    model: str | ShapeName, machine: Machine, profile: Profile, pairs: int
) -> tuple[comparing.Overhead, EngineInfo]:
    async with opened(model, Policy.FIRST_TOKEN_FIRST, machine, profile) as engine:
        return await comparing.compare(engine, SystemClock(), pairs), engine.info


def stop(
    stops: Annotated[int, typer.Option(min=1, help="Answers that are stopped.")] = 60,
    chats: Annotated[int, typer.Option(min=1, help="Chats that stream beside them.")] = 4,
    model: ModelOption = "demo",
    shape: ShapeOption = None,
    profile: ProfileOption = "balanced",
    seed: SeedOption = 1,
    json: JsonOption = None,
) -> None:
    """Stop answers under load, in line, while their prompt is read, while they are written."""
    started_at, machine = datetime.now(UTC), this_machine()
    found, info = _run(_stop(shape or model, machine, profile, stops, chats, seed))
    options = {"model": shape or model, "profile": profile, "stops": stops, "chats": chats, "seed": seed}
    _write(json, started_at, info.device, {"options": options, **found.to_map()})
    measured = [("all", found.times(*MOMENTS)), *((one, found.times(one)) for one in MOMENTS)]
    rows = [(name, f"{one.n}", *map(milliseconds, (one.p50, one.p95, one.p99, one.max))) for name, one in measured]
    after, leaked = sum(one.after for one in found.stops), found.leaked_blocks
    title = f"From press to abort beside {chats} chats; {after} times text after it, {leaked} blocks leaked"
    output.show(title, ("ms", "n", "p50", "p95", "p99", "max"), rows)


async def _stop(
    model: str | ShapeName, machine: Machine, profile: Profile, stops: int, chats: int, seed: int
) -> tuple[stopping.Stops, EngineInfo]:
    async with opened(model, Policy.FIRST_TOKEN_FIRST, machine, profile) as engine:
        info = engine.info
        blocks = info.cache_tokens // info.cache_block
        found = await stopping.measure(
            engine, SystemClock(), used=lambda: round(blocks * share_in_use()), stops=stops, chats=chats, seed=seed
        )
        return found, info


def policies(names: str) -> list[Policy]:
    """The policies that an option names, such as "off,on". Raises `ConfigError` for one that does not exist."""
    try:
        return [Policy(name.strip()) for name in names.split(",")]
    except ValueError as error:
        raise ConfigError("--policy", f"{error}. There are {', '.join(Policy)}.") from error


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Each engine gets a loop of its own, since it belongs to the one that it was made in."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _write(json: Path | None, started_at: datetime, device: str | None, content: dict[str, object]) -> None:
    if json is not None:
        output.write(json, {**output.origin(started_at, device), **content})


def _tell(step: str) -> None:
    typer.echo(f"{step} …", err=True)


def milliseconds(seconds: float) -> str:
    """A time for a table; a digit more where it is short."""
    return "-" if isnan(seconds) else f"{seconds * 1000:,.{1 if abs(seconds) < 0.1 else 0}f}"
