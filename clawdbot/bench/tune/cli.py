"""``clawdbot tune``: options, table and the recommended settings."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from clawdbot.bench import output, records
from clawdbot.bench.engine.opening import started, this_machine
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.options import JsonOption, SeedOption
from clawdbot.bench.records import Candidate, Tuning, figure
from clawdbot.bench.tune.candidates import GOALS, Goal, Verdict, candidates, judge, recommend, toml
from clawdbot.bench.tune.traffic import CPU, CUDA
from clawdbot.bench.tune.tuner import Tuner
from clawdbot.clock import SystemClock
from clawdbot.engine.admission import Policy
from clawdbot.engine.arguments import Profile
from clawdbot.engine.progress import shown
from clawdbot.engine.protocol import Engine
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError
from clawdbot.settings import config
from clawdbot.settings.config import Settings
from clawdbot.settings.faults import SECRET

TUNED = {"max_num_batched_tokens", "long_prefill_token_threshold"}
"""The engine's arguments that are looked for."""

FromOption = Annotated[
    Path | None, typer.Option("--from", help="Measure nothing; recommend from what an earlier --json wrote.")
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is tuned, and for what."""

    settings: Settings
    shape: ShapeName | None
    profile: Profile
    minutes: float
    seed: int

    @property
    def model(self) -> str | ShapeName:
        """Its name."""
        return self.shape or self.settings.engine.model

    @property
    def on_cpu(self) -> bool:
        """Whether the engine will run on the CPU."""
        return self.settings.engine.device == "cpu" or not this_machine().has_gpu

    @property
    def args(self) -> Mapping[str, Any]:
        """The admin's own arguments for the engine, without those that are looked for."""
        return {name: value for name, value in self.settings.engine.args.items() if name not in TUNED}

    def open(self, candidate: Candidate) -> AbstractAsyncContextManager[Engine]:
        """An engine as ``candidate`` wants it. Raises `EngineUnavailable`."""
        sizes = {name: getattr(candidate, name) for name in TUNED}
        return started(self.model, self.settings.engine.device, {**self.args, **sizes}, candidate.profile)

    def rules(self, candidate: Candidate) -> Policy:
        """Who is let into its engine."""
        sessions = self.settings.sessions
        return Policy(sessions.concurrent, candidate.max_long_prefills, sessions.patience)


def tune(
    config_file: Annotated[
        Path | None, typer.Option("--config", help="Whose model and arguments (default: ./config.toml, if any).")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another one: demo, a folder, or a Hugging Face name.")] = None,
    shape: Annotated[ShapeName | None, typer.Option(help="A size without weights, instead of a model.")] = None,
    profile: Annotated[
        Profile | None, typer.Option(help="What the settings are for (default: balanced, or what --from was for).")
    ] = None,
    minutes: Annotated[float, typer.Option(min=0, help="How long to measure; the first settings in any case.")] = 5.0,
    seed: SeedOption = 1,
    json: JsonOption = None,
    recorded: FromOption = None,
) -> None:
    """Measure this machine with its model and recommend how the engine cuts prompts into steps."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if recorded is not None:
        for name, value in (("--config", config_file), ("--model", model), ("--shape", shape), ("--json", json)):
            if value is not None:
                raise ConfigError(name, "means nothing with --from: nothing is measured.")
        found = _recorded(recorded)
        show(found, profile or found.options.profile)
        return
    if model is not None and shape is not None:
        raise ConfigError("--shape", "takes the place of a model; leave out --model.")
    wanted = Wanted(_settings(config_file, shape or model), shape, profile or "balanced", minutes, seed)
    if not wanted.args.get("enable_chunked_prefill", True):
        raise ConfigError("engine.args.enable_chunked_prefill", "while it is off no prompt is cut: nothing to tune.")
    show(_measure(wanted, json), wanted.profile)


def _settings(config_file: Path | None, other: str | None) -> Settings:
    named = config_file or config.find(os.environ)
    settings = Settings() if named is None else config.load(named, os.environ)
    if other is None:
        return settings
    # Arguments such as a context or a number of GPUs were chosen for the configured model.
    return settings.model_copy(update={"engine": EngineSettings(model=str(other), device=settings.engine.device)})


def _recorded(path: Path) -> Tuning:
    found = records.read(path)
    if not isinstance(found, Tuning):
        raise ConfigError(str(path), "is not from clawdbot tune --json.")
    return found


def _measure(wanted: Wanted, json: Path | None) -> Tuning:
    started_at = datetime.now(UTC)
    with shown(sys.stderr) as progress, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        on_cpu = wanted.on_cpu
        scene = CPU if on_cpu else CUDA
        tuner = Tuner(scene, wanted.seed, wanted.minutes * 60, SystemClock(), progress)

        def keep() -> None:
            """After every candidate, so that what was measured is there however this ends."""
            if json is not None:
                output.write(json, _content(wanted, tuner, started_at))

        tried = candidates(wanted.profile, on_cpu=on_cpu)
        runner.run(tuner.measure(tried, wanted.open, wanted.rules, keep))
        keep()
    # As it is read from a file, so that the file leads to the same recommendation.
    return Tuning.model_validate(_content(wanted, tuner, started_at))


def _content(wanted: Wanted, tuner: Tuner, started_at: datetime) -> dict[str, object]:
    best = recommend(tuner.measurements, GOALS[wanted.profile])
    return {
        **output.origin(started_at, tuner.device),
        "options": {
            "model": wanted.model,
            "args": {name: value for name, value in wanted.args.items() if not SECRET.search(name)},
            "profile": wanted.profile,
            "minutes": wanted.minutes,
            "seed": wanted.seed,
        },
        "reading_tok_s": round(tuner.speed, 1),
        "measurements": [one.model_dump() for one in tuner.measurements],
        "left_out": [one.model_dump() for one in tuner.left_out],
        "recommended": best.candidate.model_dump(),
        "trace": tuner.traffic.to_map() if tuner.traffic else None,
    }


def show(found: Tuning, profile: Profile) -> None:
    """Print the table, what was left out, and the settings for ``profile``."""
    goal = GOALS[profile]
    best = recommend(found.measurements, goal)
    rows = [_row(verdict, goal, verdict.measurement is best) for verdict in judge(found.measurements, goal)]
    columns = ("ms", "short p50", "p95", "long p50", "gap p99", "tok/s", "")
    title = f"{found.options.model} on {found.device}, which reads {found.reading_tok_s:,.0f} tokens/s"
    output.show(title, columns, rows)
    for one in found.left_out:
        typer.echo(f"Not measured: {one.candidate} ({one.reason}).")
    typer.echo(f"\nFor config.toml ({profile}):\n\n{toml(best.candidate)}", nl=False)


def _row(verdict: Verdict, goal: Goal, best: bool) -> tuple[str, ...]:
    one = verdict.measurement
    times = (one.short_ttft.p50, one.short_ttft.p95, one.long_ttft.p50, one.token_gap.p99)
    return (str(one.candidate), *map(figure, times), f"{one.work_tok_s:,.0f}", _remark(verdict, goal, best))


def _remark(verdict: Verdict, goal: Goal, best: bool) -> str:
    """Why a candidate is or is not recommended, short enough for a table of 80 columns."""
    few, slow = verdict.work < goal.work, verdict.long > goal.long
    if best:
        return "recommended"
    if few and slow:
        return "too slow"
    return "few tok/s" if few else "long slow" if slow else ""
