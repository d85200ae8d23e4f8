"""Which engine settings `clawdbot tune` tries, and which of them it recommends. Pure, the same for the same figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from clawdbot.bench.records import Candidate, Measurement
from clawdbot.engine.arguments import CHUNKS_CPU, CHUNKS_CUDA, Chunks, Profile

NOISE = 1.05
"""Figures that differ by less than this factor count as equal: two runs of the same settings differ as much."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a profile gives up at most for a short prompt's first token."""

    work: float
    """Tokens a second, those of prompts included, as a share of the best candidate's."""
    long: float
    """A long prompt's median time to first token, as a multiple of the best candidate's."""


GOALS: Mapping[Profile, Goal] = {
    "balanced": Goal(work=0.9, long=1.6),
    "snappy": Goal(work=0.8, long=3.0),
    "throughput": Goal(work=0.98, long=1.25),
}

# Beside the profiles' own settings: what was near the best on some machine.
MORE_CPU: Sequence[tuple[Profile, Chunks]] = (
    ("balanced", Chunks(256, 128)),
    ("balanced", Chunks(256, 64)),
    ("balanced", Chunks(512, 256)),
    ("snappy", Chunks(64, 32)),
)
MORE_CUDA: Sequence[tuple[Profile, Chunks]] = (
    ("balanced", Chunks(2048, 1536)),
    ("balanced", Chunks(4096, 2048)),
    ("snappy", Chunks(1024, 512)),
    ("snappy", Chunks(2048, 256)),
)


def candidates(profile: Profile, *, on_cpu: bool) -> list[Candidate]:
    """What to try, the most important first: the default, what is meant for ``profile``, the others.

    Those with the same engine stand side by side.
    """
    own = CHUNKS_CPU if on_cpu else CHUNKS_CUDA
    default, *others = (
        _candidate("balanced", own["balanced"]),
        _candidate("snappy", own["snappy"]),
        # Two long prompts with a small part of each step instead of one with a large part.
        _candidate("snappy", own["snappy"], at_once=2),
        _candidate("throughput", own["throughput"]),
        *(_candidate(name, chunks) for name, chunks in (MORE_CPU if on_cpu else MORE_CUDA)),
    )
    return [default, *sorted(others, key=lambda one: one.profile != profile)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one candidate stands beside the others."""

    measurement: Measurement
    work: float
    """Its tokens a second as a share of the best candidate's."""
    long: float
    """Its median of long prompts as a multiple of the best candidate's."""
    miss: float
    """How far it is beyond the worse of the goal's two bounds, as a factor; up to 1 it keeps both."""


def judge(measurements: Sequence[Measurement], goal: Goal) -> list[Verdict]:
    """Each candidate against the best of them, in the same order."""
    most = max(one.work_tok_s for one in measurements)
    shortest = min(_known(one.long_ttft.p50) for one in measurements)
    verdicts = []
    for one in measurements:
        work, long = one.work_tok_s / most, _multiple(_known(one.long_ttft.p50), shortest)
        verdicts.append(Verdict(one, work, long, max(goal.work / work, long / goal.long)))
    return verdicts


def recommend(measurements: Sequence[Measurement], goal: Goal) -> Measurement:
    """Of those that keep the goal's bounds the one with the smallest 95th percentile of short prompts.

    Ties are broken by the gap between tokens (99th percentile), then by the larger part for a long prompt and the
    larger step, which cost a quiet engine the least. When none keeps both bounds, it is the one that misses them by
    the least. The order of ``measurements``, of which there must be one, does not matter.
    """
    verdicts = judge(measurements, goal)
    least = max(1.0, min(verdict.miss for verdict in verdicts))
    left = [verdict.measurement for verdict in verdicts if verdict.miss <= least]
    left = _smallest(left, lambda one: one.short_ttft.p95)
    left = _smallest(left, lambda one: one.token_gap.p99)
    return max(left, key=lambda one: _size(one.candidate))


def toml(candidate: Candidate) -> str:
    """What to write into the configuration for it."""
    return (
        "[engine]\n"
        f'profile = "{candidate.profile}"\n'
        f"max_long_prefills = {candidate.max_long_prefills}\n"
        "\n"
        "[engine.args]\n"
        f"max_num_batched_tokens = {candidate.max_num_batched_tokens}\n"
        f"long_prefill_token_threshold = {candidate.long_prefill_token_threshold}\n"
    )


def _candidate(profile: Profile, chunks: Chunks, at_once: int = 1) -> Candidate:
    return Candidate(
        max_num_batched_tokens=chunks.step,
        long_prefill_token_threshold=chunks.long,
        max_long_prefills=at_once,
        profile=profile,
    )


def _smallest(left: Sequence[Measurement], figure: Callable[[Measurement], float | None]) -> list[Measurement]:
    """Those whose figure is the smallest, or as good as it."""
    bound = min(_known(figure(one)) for one in left) * NOISE
    return [one for one in left if _known(figure(one)) <= bound]


def _multiple(time: float, shortest: float) -> float:
    if time == shortest:
        return 1.0
    return time / shortest if shortest else inf


def _size(candidate: Candidate) -> tuple[int, int, int]:
    step = candidate.max_num_batched_tokens
    return (candidate.long_prefill_token_threshold or step, step, -candidate.max_long_prefills)


def _known(time: float | None) -> float:
    """What never came took for ever."""
    return inf if time is None else time
