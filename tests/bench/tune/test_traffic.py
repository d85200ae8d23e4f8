"""The trace fits the machine, whatever machine it is."""

import pytest

from clawdbot.bench.tune.traffic import CPU, CUDA, FEWEST_LONG, FEWEST_SHORT, SECONDS, Scene, draw, probe, speed

CASES = pytest.mark.parametrize(
    ("scene", "reads", "context"),
    [
        pytest.param(CPU, 280.0, 4096, id="two cores, demo model"),
        pytest.param(CPU, 15.0, 4096, id="two cores, 7B"),
        pytest.param(CUDA, 30_000.0, 32_768, id="H200, 7B"),
        pytest.param(CUDA, 2_000.0, 8192, id="a small GPU"),
    ],
)


@CASES
def test_about_sixty_percent_of_what_the_machine_reads_arrives(scene: Scene, reads: float, context: int) -> None:
    traffic = draw(scene, reads, context, seed=1)

    tokens = {kind: sum(one.tokens for one in traffic.arrivals if one.kind == kind) for kind in ("long", "short")}
    seconds = max(SECONDS, traffic.arrivals[-1].at)
    assert 0.4 <= tokens["long"] / seconds / reads <= 0.6
    assert tokens["short"] / seconds / reads <= 0.15


@CASES
def test_several_of_each_kind_arrive_and_fit_the_context(scene: Scene, reads: float, context: int) -> None:
    arrivals = draw(scene, reads, context, seed=1).arrivals

    assert sum(one.kind == "long" for one in arrivals) >= FEWEST_LONG
    assert sum(one.kind == "short" for one in arrivals) >= FEWEST_SHORT
    assert max(one.tokens + one.answer for one in arrivals) < context
    assert [one.at for one in arrivals] == sorted(one.at for one in arrivals)


def test_the_same_seed_draws_the_same_trace() -> None:
    assert draw(CPU, 280.0, 4096, seed=7) == draw(CPU, 280.0, 4096, seed=7)
    assert draw(CPU, 280.0, 4096, seed=7) != draw(CPU, 280.0, 4096, seed=8)


def test_a_small_context_makes_shorter_prompts() -> None:
    assert max(one.tokens for one in draw(CUDA, 30_000.0, 4096, seed=1).arrivals) == 2048
    assert {one.tokens for one in probe(CUDA, 4096, seed=1).arrivals} == {2048}


def test_the_speed_is_that_of_two_prompts_one_after_the_other() -> None:
    assert speed(probe(CPU, 4096, seed=1), seconds=4.0) == 300.0
