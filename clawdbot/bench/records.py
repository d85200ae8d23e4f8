"""What the JSON files of the benches hold, as typed records; times are milliseconds, as in the files.

A file may hold more than a record names: older and newer versions of the bot read each other's results.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from clawdbot.engine.arguments import Profile
from clawdbot.errors import ConfigError
from clawdbot.settings.faults import validate

IDEAL = "ideal_"
"""What the figures of the minimal bot are marked with."""


class Record(BaseModel):
    """A part of a file: its own keys are checked, others are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


class Times(Record):
    """Percentiles of ``n`` times; None where there were none."""

    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    n: int


class Report(Record):
    """A whole file: where it comes from."""

    clawdbot: str
    vllm: str | None
    device: str
    started_at: str


class TtftRow(Record):
    """One length of prompt with one model in one mode."""

    model: str
    prompt_tokens: int
    mode: str
    ttft: Times


class Ttft(Report):
    """``clawdbot bench ttft``."""

    rows: Sequence[TtftRow]


class Loaded(Record):
    """Mixed traffic under one policy or with one candidate."""

    short_ttft: Times
    long_ttft: Times
    token_gap: Times
    throughput_tok_s: float
    work_tok_s: float | None = None
    """With the prompts' tokens; None in a file of a bot that did not count them."""
    seconds: float | None = None
    """How long the traffic took to be answered, likewise."""


class LoadOptions(Record):
    """What was asked for."""

    model: str
    profile: Profile


class Load(Report):
    """``clawdbot bench load``."""

    options: LoadOptions
    policies: Mapping[str, Loaded]


class TurnRow(Record):
    """One question of the conversation."""

    turn: int
    prompt_tokens: int
    cached_tokens: int
    trimmed: bool
    ttft: float


class Turns(Report):
    """``clawdbot bench turns``."""

    rows: Sequence[TurnRow]


class Delivered(Record):
    """What readers of one bot saw on one platform."""

    to_engine: Times
    added_first_visible: Times
    tax: Times
    staleness: Times
    freeze: Times
    finish_lag: Times
    calls: int
    refused: int
    lost: int
    duplicated: int
    ambiguous_sends: int


class Platform(Record):
    """One platform: this bot and the minimal one, which a file may lack."""

    bot: Delivered
    ideal: Delivered | None

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, found: Any) -> Any:
        """The file has the figures of both in one table."""
        if not isinstance(found, dict):
            return found
        ideal = {key.removeprefix(IDEAL): value for key, value in found.items() if key.startswith(IDEAL)}
        # A later version may add figures to the ideal's; only a whole set of them is one.
        whole = ideal.keys() >= Delivered.model_fields.keys()
        return {"bot": found, "ideal": ideal if whole else None}


class Delivery(Report):
    """``clawdbot bench delivery``."""

    platforms: Mapping[str, Platform]


class Overhead(Report):
    """``clawdbot bench overhead``."""

    raw_ttft: Times
    bot_ttft: Times
    pairs: int


class Remote(Report):
    """``clawdbot bench remote``."""

    local_ttft: Times
    remote_ttft: Times
    pairs: int

    @property
    def sides(self) -> Mapping[str, Times]:
        """The same question asked of the same model, here and there."""
        return {"in the process": self.local_ttft, "on a server": self.remote_ttft}


class Warmth(Report):
    """``clawdbot bench warmth``."""

    prompt_tokens: int
    kept_ttft: Times
    cold_ttft: Times
    warmed_ttft: Times
    reading: Times
    """Reading ahead, which is over before the question that ``warmed_ttft`` is about."""

    @property
    def ways(self) -> Mapping[str, Times]:
        """What the next question waits for, by what the cache has of its conversation."""
        return {"kept": self.kept_ttft, "forgotten": self.cold_ttft, "read ahead": self.warmed_ttft}


class Scale(Report):
    """``clawdbot bench scale``."""

    conversations: int
    loop_lag: Times
    added_first_visible: Times
    cpu_share: float
    """Cores."""
    rss_mib: float
    """Memory beyond that of the bot without conversations."""

    @property
    def waits(self) -> Mapping[str, Times]:
        """What the crowd does to each of its members."""
        return {"loop lag": self.loop_lag, "added first visible": self.added_first_visible}


class Stop(Report):
    """``clawdbot bench stop``."""

    press_to_abort: Times
    moments: Mapping[str, Times]
    """The same of the stops at one kind of moment."""
    text_after_stop: int
    leaked_blocks: int


class Candidate(Record):
    """Engine settings that `clawdbot tune` tries."""

    max_num_batched_tokens: int = Field(ge=1)
    """The most tokens of one step."""
    long_prefill_token_threshold: int = Field(ge=0)
    """The most tokens of a step for one long prompt; 0 is no bound."""
    max_long_prefills: int = Field(ge=1)
    """Long prompts that are read at the same time."""
    profile: Profile
    """What everything else was set for."""

    def __str__(self) -> str:
        """As in tables: tokens of a step, those of a long prompt, long prompts at a time."""
        long = self.long_prefill_token_threshold
        several = f" x{self.max_long_prefills}" if self.max_long_prefills > 1 else ""
        return f"{self.max_num_batched_tokens}/{long or 'all'}{several}"


class Measurement(Loaded):
    """What one candidate did with the trace."""

    candidate: Candidate
    work_tok_s: float = Field(gt=0)


class LeftOut(Record):
    """A candidate that was not measured."""

    candidate: Candidate
    reason: str


class TuneOptions(Record):
    """What was asked for."""

    model: str
    profile: Profile


class Tuning(Report):
    """``clawdbot tune``."""

    options: TuneOptions
    reading_tok_s: float
    """Prompt tokens that the first candidate read a second beside the streaming chats."""
    measurements: Sequence[Measurement] = Field(min_length=1)
    left_out: Sequence[LeftOut]


def figure(value: float | None) -> str:
    """A time or a speed for people: one digit after the point where it counts, "-" for what never came."""
    return "-" if value is None else f"{value:,.{1 if abs(value) < 100 else 0}f}"


Kind = Ttft | Load | Turns | Delivery | Overhead | Remote | Warmth | Scale | Tuning | Stop


def read(path: Path) -> Kind:
    """The results in ``path``. Raises `ConfigError` when it cannot be read, or no bench wrote it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(str(path), f"is not JSON: {error}.") from error
    return parse(found, str(path))


def parse(found: Any, source: str) -> Kind:
    """The results in the JSON value ``found``; which bench they are of follows from their keys.

    Raises `ConfigError` that names ``source``.
    """
    kind = _kind(found) if isinstance(found, dict) else None
    if kind is None:
        raise ConfigError(
            source,
            "holds no results that can be reported: those are files that clawdbot tune or clawdbot bench ttft, load, "
            "turns, warmth, delivery, scale, stop, overhead or remote wrote with --json.",
        )
    return validate(kind, found, source=source)


def _kind(found: Mapping[str, Any]) -> type[Kind] | None:
    marks: tuple[tuple[type[Kind], set[str]], ...] = (
        (Load, {"policies"}),
        (Delivery, {"platforms"}),
        (Overhead, {"raw_ttft", "bot_ttft"}),
        (Remote, {"local_ttft", "remote_ttft"}),
        (Warmth, {"cold_ttft", "warmed_ttft"}),
        (Scale, {"conversations", "loop_lag"}),
        (Stop, {"press_to_abort"}),
        (Tuning, {"measurements"}),
    )
    for kind, keys in marks:
        if found.keys() >= keys:
            return kind
    rows = found.get("rows")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    return Ttft if "mode" in first else Turns if "turn" in first else None
