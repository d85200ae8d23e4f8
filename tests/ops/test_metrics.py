"""What Prometheus is told."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clawdbot.abilities import Phase
from clawdbot.engine.admission import Depth
from clawdbot.errors import Gone, Limited
from clawdbot.latency.observed import Call, Failed, Received, Shown
from clawdbot.ops.gauges import Gauges, Gpu
from clawdbot.ops.metrics import Metrics
from clawdbot.ops.readings import ModelReading, Readings
from clawdbot.testing.engine import INFO

from ..latency.answers import ANSWER

READY = Readings(
    closing=False,
    models=(ModelReading("small", Phase.READY, INFO, Depth(2, 1, 1)),),
    connected={"discord": True},
    answers=3,
)
IDLE = Gauges((), 0.0, 0)


def samples(metrics: Metrics, readings: Readings = READY, gauges: Gauges = IDLE) -> dict[str, float]:
    """Every sample, by its name with its labels."""
    families = text_string_to_metric_families(metrics.render(readings, gauges).decode())
    return {
        ",".join([sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))]): sample.value
        for family in families
        for sample in family.samples
    }


def test_an_answer_is_counted_with_its_times_and_tokens() -> None:
    metrics = Metrics()
    timing = replace(ANSWER, platform="discord", model="small", prompt_tokens=40, cached_tokens=32, output_tokens=10)
    metrics.observe(timing)

    seen = samples(metrics)
    assert seen["clawdbot_answers_total,model=small,platform=discord,state=final"] == 1
    assert seen["clawdbot_time_to_first_token_seconds_sum,model=small,platform=discord"] == timing.first_token
    assert seen["clawdbot_first_visible_seconds_sum,platform=discord"] == timing.first_visible
    assert seen["clawdbot_answer_seconds_sum,platform=discord"] == timing.complete
    assert [seen[f"clawdbot_tokens_total,kind={kind},model=small"] for kind in ("prompt", "cached", "output")] == [
        40,
        32,
        10,
    ]


def test_the_stages_of_an_answer_add_up_to_it() -> None:
    metrics = Metrics()
    timing = ANSWER
    metrics.observe(timing)

    spent = [value for name, value in samples(metrics).items() if name.startswith("clawdbot_stage_seconds_sum")]
    assert sum(spent) == pytest.approx(timing.complete)


def test_an_answer_of_which_nothing_was_seen_has_no_first_word() -> None:
    metrics = Metrics()
    metrics.observe(
        replace(ANSWER, platform="discord", model="small", first_token=None, first_visible=None, state="stopped")
    )

    seen = samples(metrics)
    assert seen["clawdbot_answers_total,model=small,platform=discord,state=stopped"] == 1
    assert "clawdbot_first_visible_seconds_count,platform=discord" not in seen


def test_calls_are_counted_by_outcome_and_waits_are_added_up() -> None:
    metrics = Metrics()
    for error in (None, Limited(7.0), Limited(3.0), Gone("deleted")):
        metrics.observe(Call("telegram", "edit", 0.1, error))

    seen = samples(metrics)
    name = "clawdbot_platform_calls_total,kind=edit,outcome={},platform=telegram"
    assert [seen[name.format(outcome)] for outcome in ("ok", "Limited", "Gone")] == [1, 2, 1]
    assert seen["clawdbot_platform_wait_seconds_sum,platform=telegram"] == 10.0


def test_verdicts_failures_staleness_and_errors_are_counted() -> None:
    metrics = Metrics()
    metrics.observe(Received("discord", "stranger"))
    metrics.observe(Failed("discord", "small"))
    metrics.observe(Shown("discord", 0.4))
    metrics.logged("StoreError", "clawdbot.bot")
    metrics.lagged(0.02)

    seen = samples(metrics)
    assert seen["clawdbot_received_total,platform=discord,verdict=stranger"] == 1
    assert seen["clawdbot_answers_total,model=small,platform=discord,state=failed"] == 1
    assert seen["clawdbot_staleness_seconds_sum,platform=discord"] == 0.4
    assert seen["clawdbot_errors_total,kind=StoreError,module=clawdbot.bot"] == 1
    assert seen["clawdbot_loop_lag_seconds_sum"] == 0.02


def test_what_is_read_at_the_moment_is_shown_as_it_is() -> None:
    gauges = Gauges((Gpu("NVIDIA H200", 0.5, 10, 20),), 1.5, 1000)

    seen = samples(Metrics(), READY, gauges)
    assert seen["clawdbot_ready"] == 1
    assert seen["clawdbot_platform_connected,platform=discord"] == 1
    assert (
        seen["clawdbot_queue_depth,model=small"],
        seen["clawdbot_engine_answers,model=small"],
        seen["clawdbot_answers_under_way"],
    ) == (
        2,
        1,
        3,
    )
    assert (seen["clawdbot_gpu_busy_ratio,gpu=0"], seen["clawdbot_gpu_memory_used_bytes,gpu=0"]) == (0.5, 10)
    assert (seen["clawdbot_cpu_cores"], seen["clawdbot_memory_bytes"]) == (1.5, 1000)


def test_an_engine_that_died_is_ready_no_more() -> None:
    metrics = Metrics()
    samples(metrics)

    seen = samples(metrics, replace(READY, models=(replace(READY.default, phase=Phase.LOADING, engine=None),)))
    assert (seen["clawdbot_ready"], seen["clawdbot_engine_ready,model=small"]) == (0, 0)
    assert not [name for name in seen if name.startswith("clawdbot_engine_info")]


def test_each_model_is_told_by_its_name() -> None:
    """One that is down makes no bot unready whose people can have the default."""
    down = ModelReading("large", Phase.DOWN, None, Depth(0, 0, 0))

    seen = samples(Metrics(), replace(READY, models=(READY.default, down)))
    assert [seen[f"clawdbot_engine_ready,model={name}"] for name in ("small", "large")] == [1, 0]
    assert [seen[f"clawdbot_queue_depth,model={name}"] for name in ("small", "large")] == [2, 0]
    assert seen["clawdbot_ready"] == 1


def test_no_label_names_a_conversation() -> None:
    """Labels are for ever, and a scrape is for many eyes: no person, no chat, no text."""
    metrics = Metrics()
    metrics.observe(replace(ANSWER, conversation="discord:314159265:0"))

    assert b"314159265" not in metrics.render(READY, IDLE)


def test_what_other_libraries_of_the_process_register_comes_along() -> None:
    """vLLM keeps its metrics in the default registry."""
    assert "python_info" in Metrics().render(READY, IDLE).decode()
