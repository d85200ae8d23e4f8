"""Which settings are recommended follows from the figures alone."""

from itertools import groupby
from pathlib import Path
from random import Random

import pytest

from clawdbot.bench.records import Candidate, Measurement
from clawdbot.bench.tune.candidates import GOALS, candidates, judge, recommend, toml
from clawdbot.engine.arguments import CHUNKS_CPU, CHUNKS_CUDA, Profile
from clawdbot.settings import config

BALANCED = GOALS["balanced"]


def candidate(long: int, step: int = 128, at_once: int = 1, profile: Profile = "balanced") -> Candidate:
    return Candidate(
        max_num_batched_tokens=step,
        long_prefill_token_threshold=long,
        max_long_prefills=at_once,
        profile=profile,
    )


def measured(
    which: Candidate,
    *,
    short: float | None = 500.0,
    long: float | None = 5000.0,
    gap: float = 300.0,
    work: float = 170.0,
) -> Measurement:
    """A measurement in which every percentile is the same."""

    def times(value: float | None) -> dict[str, float | int | None]:
        return {"p50": value, "p95": value, "p99": value, "max": value, "n": 0 if value is None else 20}

    return Measurement.model_validate(
        {
            "candidate": which,
            "short_ttft": times(short),
            "long_ttft": times(long),
            "token_gap": times(gap),
            "throughput_tok_s": 20.0,
            "work_tok_s": work,
        }
    )


def test_the_smallest_wait_of_short_prompts_wins() -> None:
    slow, fast = measured(candidate(64), short=900.0), measured(candidate(32), short=400.0)

    assert recommend([slow, fast], BALANCED) is fast


def test_who_gives_up_too_many_tokens_a_second_does_not() -> None:
    whole, fast = measured(candidate(64), work=200.0), measured(candidate(32), short=1.0, work=179.0)

    assert recommend([whole, fast], BALANCED) is whole


def test_who_lets_long_prompts_wait_too_long_does_not() -> None:
    whole, fast = measured(candidate(64), long=1000.0), measured(candidate(32), short=1.0, long=1601.0)

    assert recommend([whole, fast], BALANCED) is whole


def test_a_goal_decides_how_much_may_be_given_up() -> None:
    """The same figures lead each profile to settings of its own."""
    most = measured(candidate(0, 512), short=3000.0, long=4000.0, gap=900.0, work=200.0)
    middle = measured(candidate(64), short=600.0, long=6000.0, work=190.0)
    least = measured(candidate(32), short=300.0, long=10_000.0, work=170.0)

    found = {name: recommend([most, middle, least], goal) for name, goal in GOALS.items()}
    assert found == {"throughput": most, "balanced": middle, "snappy": least}


def test_among_equals_the_smaller_gap_between_tokens_wins() -> None:
    """Figures within five percent are equal: two runs of the same settings differ as much."""
    jerky, smooth = measured(candidate(64), short=500.0), measured(candidate(32), short=520.0, gap=100.0)

    assert recommend([jerky, smooth], BALANCED) is smooth


def test_among_equals_in_everything_the_larger_chunk_wins() -> None:
    small, large = measured(candidate(32)), measured(candidate(64))

    assert recommend([small, large], BALANCED) is large


def test_no_bound_is_the_largest_chunk() -> None:
    some, whole = measured(candidate(256, 512)), measured(candidate(0, 512))

    assert recommend([some, whole], BALANCED) is whole


def test_when_none_keeps_both_bounds_the_nearest_is_taken() -> None:
    """One is quick for long prompts and weak, the other strong and slow."""
    weak = measured(candidate(64), long=1000.0, work=100.0)
    slow = measured(candidate(32), long=2000.0, work=200.0)

    assert recommend([weak, slow], BALANCED) is slow


def test_prompts_that_were_never_answered_waited_for_ever() -> None:
    answered, silent = measured(candidate(64)), measured(candidate(32), short=None, long=None)

    assert recommend([silent, answered], BALANCED) is answered
    assert recommend([silent], BALANCED) is silent


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_measurements_does_not_matter(seed: int) -> None:
    random = Random(seed)
    several = [
        measured(
            candidate(long, at_once=at_once), short=random.choice((500.0, 510.0, 600.0)), gap=random.choice((1, 2))
        )
        for long in (8, 16, 32, 64)
        for at_once in (1, 2)
    ]
    shuffled = random.sample(several, len(several))

    assert recommend(several, BALANCED) == recommend(shuffled, BALANCED)


def test_each_is_held_against_the_best_of_all() -> None:
    verdicts = judge(
        [measured(candidate(64), long=1000.0, work=100.0), measured(candidate(32), long=2000.0, work=200.0)], BALANCED
    )

    assert [(verdict.work, verdict.long) for verdict in verdicts] == [(0.5, 1.0), (1.0, 2.0)]


@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize("profile", GOALS)
def test_the_default_is_tried_first_and_then_what_the_profile_is_meant_for(profile: Profile, on_cpu: bool) -> None:
    """Whatever else there is time for, the recommendation is held against the default."""
    tried = candidates(profile, on_cpu=on_cpu)

    own = CHUNKS_CPU if on_cpu else CHUNKS_CUDA
    sizes = {(one.max_num_batched_tokens, one.long_prefill_token_threshold): one.profile for one in tried}
    first = tried[0]
    assert (first.max_num_batched_tokens, first.long_prefill_token_threshold) == (
        own["balanced"].step,
        own["balanced"].long,
    )
    assert tried[1].profile == profile
    assert {(cut.step, cut.long): name for name, cut in own.items()}.items() <= sizes.items()
    assert len(set(tried)) == len(tried)


@pytest.mark.parametrize("profile", GOALS)
def test_candidates_with_the_same_engine_are_neighbours(profile: Profile) -> None:
    """So that they share its start."""
    for on_cpu in (True, False):
        engines = [one.model_copy(update={"max_long_prefills": 1}) for one in candidates(profile, on_cpu=on_cpu)]

        assert len(list(groupby(engines))) == len(set(engines))


@pytest.mark.parametrize(
    "which", [*candidates("balanced", on_cpu=True), *candidates("balanced", on_cpu=False)], ids=str
)
def test_the_configuration_takes_exactly_what_is_printed(which: Candidate, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(toml(which))

    engine = config.load(tmp_path / "config.toml", {}).engine
    assert (engine.profile, engine.max_long_prefills) == (which.profile, which.max_long_prefills)
    assert engine.args == {
        "max_num_batched_tokens": which.max_num_batched_tokens,
        "long_prefill_token_threshold": which.long_prefill_token_threshold,
    }
