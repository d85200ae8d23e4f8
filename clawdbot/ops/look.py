"""What the page shows: the last answers, and how the bot does. Facts and readings in, maps for JSON out."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

from clawdbot.delivery.pace import Room
from clawdbot.errors import Limited
from clawdbot.latency.observed import Call, Fact
from clawdbot.latency.timing import Timing, stages
from clawdbot.ops.gauges import Gauges
from clawdbot.ops.readings import ModelReading, Readings

KEPT = 200
"""Answers that the page knows of."""


class Look:
    """Keeps what was told; `observe` is a `clawdbot.latency.observed.Observe`."""

    def __init__(self) -> None:
        self.told = 0
        """How many answers were told so far."""
        self._answers: deque[Timing] = deque(maxlen=KEPT)
        self._calls: Counter[str] = Counter()
        """By platform, and so are those below."""
        self._limited: Counter[str] = Counter()
        self._waited: Counter[str] = Counter()
        """Seconds that were asked for."""

    def recall(self, earlier: Iterable[Timing]) -> None:
        """Know of answers of former runs, the oldest first."""
        self._answers.extendleft(reversed([*earlier][-KEPT:]))

    def observe(self, fact: Fact) -> None:
        """Take a fact of the core."""
        match fact:
            case Timing():
                self._answers.append(fact)
                self.told += 1
            case Call():
                self._calls[fact.platform] += 1
                if isinstance(fact.error, Limited):
                    self._limited[fact.platform] += 1
                    self._waited[fact.platform] += round(fact.error.retry_after)
            case _:
                pass

    def answers(self, since: int | None) -> dict[str, Any]:
        """The answers told after the first ``since`` of this run; None: all that are known."""
        new = KEPT if since is None else min(KEPT, self.told - since)
        return {"all": since is None, "answers": [answer(timing) for timing in [*self._answers][-new:]] if new else []}

    def now(self, readings: Readings, gauges: Gauges, rooms: Mapping[str, Room]) -> dict[str, Any]:
        """How the bot does; ``rooms`` by the key of their bucket."""
        return {
            "reasons": readings.troubles,
            "facts": [*_queue(readings), *_machine(gauges)],
            "engine": [fact for model in readings.models for fact in _engine(model)],
            "platforms": [self._platform(name, on, rooms) for name, on in readings.connected.items()],
        }

    def _platform(self, name: str, connected: bool, rooms: Mapping[str, Room]) -> dict[str, Any]:
        whole = rooms.get(name)
        places = [room for key, room in rooms.items() if key.startswith(f"{name}:") and room.in_use]
        closed = [room.closed for room in places if room.closed > 0]
        seen = f"{len(places)} in use" if places else "none in use"
        return {
            "name": name,
            "state": "connected" if connected else "not connected",
            "calls": self._calls[name],
            "limited": self._limited[name],
            "waited": self._waited[name],
            "rates": _rates(whole) if whole else "–",
            "places": f"{seen}, {len(closed)} closed for up to {max(closed):.0f} s" if closed else seen,
        }


def answer(timing: Timing) -> dict[str, Any]:
    """One answer, times in seconds. Nothing tells whose it was."""
    seen = timing.first_visible is not None
    return {
        "at": timing.at,
        "platform": timing.platform,
        "state": timing.state,
        "stages": [[name, round(spent, 6)] for name, spent in stages(timing)] if seen else [],
        "ttft": timing.first_token,
        "visible": timing.first_visible,
    }


def _queue(readings: Readings) -> list[tuple[str, str]]:
    depth = readings.depth
    return [
        ("answers under way", str(readings.answers)),
        ("in line for the engine", str(depth.waiting)),
        ("in the engine", f"{depth.inside}, {depth.reading} of them long prompts being read"),
    ]


def _machine(gauges: Gauges) -> list[tuple[str, str]]:
    own = f"{gauges.cpu:.1f} cores, {_gib(gauges.memory)} GiB"
    gpus = [
        (f"GPU {number}", f"{gpu.name}, {gpu.busy:.0%} busy, {_gib(gpu.memory_used)} of {_gib(gpu.memory_total)} GiB")
        for number, gpu in enumerate(gauges.gpus)
    ]
    return [("bot and engine", own), *gpus]


def _engine(model: ModelReading) -> list[tuple[str, str]]:
    """What is known of one model's engine; several stand one after the other."""
    info = model.engine
    head = [("model", model.name), ("state", model.phase.value)]
    if info is None:
        return head
    return [
        *head,
        ("runs", info.model),
        ("device", info.device),
        ("engine", info.version),
        ("context", f"{info.context:,} tokens"),
        ("chunked prefill", "on" if info.chunked_prefill else "off"),
        ("one step", f"{info.step_budget:,} tokens"),
        ("long prompt's part", f"{info.long_prefill:,} tokens a step" if info.long_prefill else "unbounded"),
        ("prefix cache", f"{info.cache_tokens:,} tokens" if info.cache_tokens else "none"),
    ]


def _rates(room: Room) -> str:
    used = [
        f"{calls} of {rate.calls} in {rate.seconds:g} s" for rate, calls in zip(room.rates, room.calls, strict=True)
    ]
    return ", ".join(used) or "no limit"


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f}"
