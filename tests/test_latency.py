"""Where an answer's time went: stages that add up, percentiles by the book, a report that fits one message."""

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawdbot.engine.protocol import EngineInfo
from clawdbot.latency import REPORT_SIZE, STAGES, Summary, Timing, footer, percentile, report, stages, summary
from clawdbot.ops.gauges import Gauges, Gpu

INFO = EngineInfo("SmolLM2-135M-Instruct", "CPU, 2 cores", "vLLM 0.32.0", 2048, True, 128, 64)
IDLE = Gauges((), 1.7, 3 * 2**30)

ANSWER = Timing(
    platform="discord",
    conversation="discord:1:0",
    at=1_800_000_000.0,
    platform_delay=0.25,
    admitted=0.002,
    asked=0.003,
    queued=0.004,
    scheduled=0.01,
    first_token=0.21,
    showable=0.26,
    first_visible=0.3,
    last_token=4.21,
    complete=4.3,
    prompt_tokens=40,
    cached_tokens=10,
    output_tokens=81,
    state="final",
)

moments = st.floats(min_value=-0.01, max_value=100_000, allow_nan=False)
marks = st.none() | moments


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    """Any answer: stopped at any point, with marks of two clocks in any order."""
    return replace(
        ANSWER,
        platform=draw(st.sampled_from(["discord", "telegram", "console", "a platform with a very long name"])),
        platform_delay=draw(marks),
        admitted=draw(marks),
        queued=draw(marks),
        scheduled=draw(marks),
        first_token=draw(marks),
        first_visible=draw(marks),
        last_token=draw(marks),
        complete=draw(st.floats(min_value=0, max_value=100_000)),
        prompt_tokens=draw(st.integers(0, 100_000)),
        output_tokens=draw(st.integers(0, 100_000)),
    )


@given(timings())
def test_stages_add_up_to_the_total_exactly(timing: Timing) -> None:
    """Not nearly: a table whose parts do not make the sum is not believed."""
    assert sum(seconds for _, seconds in stages(timing)) == timing.complete


@given(timings())
def test_no_stage_is_negative(timing: Timing) -> None:
    """The engine core's stamps are another process's and may lie a hair before ours."""
    assert all(seconds >= 0 for _, seconds in stages(timing))


def test_stages_follow_the_way_of_an_answer() -> None:
    """Each is named for the mark that it ends with."""
    spent = stages(ANSWER)
    assert [name for name, _ in spent] == list(STAGES)
    assert [round(seconds * 1000) for _, seconds in spent] == [2, 2, 6, 200, 90, 4000]


def test_a_stopped_answer_has_the_stages_that_it_reached() -> None:
    """Stopped while the prompt was read: the rest went into stopping."""
    stopped = replace(ANSWER, first_token=None, first_visible=None, last_token=None, complete=0.11, state="stopped")
    assert [name for name, _ in stages(stopped)] == ["admitted", "queued", "prefill", "complete"]


def test_marks_keep_their_time_to_the_microsecond() -> None:
    """They are rounded so that sums are exact; nobody can see the difference."""
    assert ANSWER.first_token == pytest.approx(0.21, abs=1e-6)


def test_tokens_per_second_leave_the_first_token_out() -> None:
    """It is prefill's: 80 more tokens in 4 s are 20 a second."""
    assert ANSWER.tokens_per_second == pytest.approx(20, rel=1e-5)


@pytest.mark.parametrize("change", [{"output_tokens": 1}, {"last_token": None}, {"last_token": 0.21}])
def test_too_few_tokens_have_no_speed(change: dict[str, float | None]) -> None:
    """One token, or all in one moment, is no rate."""
    assert replace(ANSWER, **change).tokens_per_second is None  # type: ignore[arg-type]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 100))
def test_percentiles_are_numpys(values: list[float], percent: float) -> None:
    """Straight lines between neighbours, numpy's default."""
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), rel=1e-9, abs=1e-6)


def test_the_50th_percentile_is_the_median() -> None:
    """Between the two in the middle when their number is even."""
    assert percentile([4, 1, 3, 2], 50) == statistics.median([4, 1, 3, 2])


def test_no_values_have_no_percentile() -> None:
    """Zero would be a lie."""
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_summary_leaves_out_what_is_not_known() -> None:
    """An answer that was stopped early has no first token; it must not count as a fast one."""
    assert summary([0.2, None, 0.4]) == Summary(p50=0.30000000000000004, p95=0.39, p99=0.398, max=0.4, n=2)


def test_an_empty_summary_meets_no_bound() -> None:
    """A benchmark without a single answer must not pass."""
    empty = summary([])
    assert not empty.p95 <= math.inf
    assert json.dumps(empty.to_map()) == '{"p50": null, "p95": null, "p99": null, "max": null, "n": 0}'


def test_maps_are_in_milliseconds() -> None:
    """The JSON files' unit."""
    assert summary([0.25]).to_map() == {"p50": 250, "p95": 250, "p99": 250, "max": 250, "n": 1}


def test_the_footer_says_first_word_speed_and_prompt() -> None:
    """One line after each answer in the console."""
    assert footer(ANSWER) == "first word 0.30 s · 20 tok/s · 40 prompt tokens, 10 cached · total 4.30 s"


def test_the_footer_of_a_silent_answer_says_so() -> None:
    """Stopped before the first word."""
    silent = replace(ANSWER, first_visible=None, last_token=None, complete=0.1)
    assert footer(silent) == "no word · 40 prompt tokens, 10 cached · total 0.10 s"


def table(text: str) -> dict[str, list[str]]:
    """The last table of a report: label to cells."""
    rows = text.split("```")[1].split("\n\n")[-1].splitlines()
    return {row[:15].strip(): row[15:].split() for row in rows}


def test_the_report_has_a_row_for_every_stage() -> None:
    """p50, p95 and p99 of the time since the line above."""
    slow = replace(ANSWER, first_token=0.61, first_visible=0.7, complete=4.7)
    rows = table(report([], [ANSWER, slow], INFO, IDLE))
    assert rows["last day"] == ["p50", "p95", "p99"]
    assert [rows[f"→ {stage}"][0] for stage in STAGES] == ["2.0", "2.0", "6.0", "400", "90", "4000"]
    assert rows["→ first token"] == ["400", "580", "596"]


def test_very_long_times_are_in_seconds() -> None:
    """A platform that limits the bot for four hours: the columns must not run into each other."""
    rows = table(report([], [replace(ANSWER, complete=14_000.3)], INFO, IDLE))
    assert rows["→ complete"] == ["14000s", "14000s", "14000s"]


def test_the_report_names_the_hour_and_the_day() -> None:
    """Two tables; one while they would be the same."""
    older = replace(ANSWER, at=ANSWER.at - 7200)
    two, one = report([ANSWER], [older, ANSWER], INFO, IDLE), report([ANSWER], [ANSWER], INFO, IDLE)
    assert two.count("p50    p95    p99") == 2
    assert "last hour " in two
    assert "last day " in two
    assert one.count("p50    p95    p99") == 1
    assert "hour and day " in one


def test_the_report_splits_by_platform() -> None:
    """First visible and total of each."""
    day = [ANSWER, replace(ANSWER, platform="telegram", first_visible=0.5), replace(ANSWER, platform="telegram")]
    text = report(day, day, INFO, IDLE)
    assert "telegram: 2\n  first visible    400    490    498\n  total           4300   4300   4300\n" in text
    assert "discord: 1\n  first visible    300    300    300\n" in text


def test_the_report_sums_up_answers_speed_and_cache() -> None:
    """The share of all prompt tokens that the prefix cache served."""
    day = [ANSWER, replace(ANSWER, prompt_tokens=60, cached_tokens=40)]
    assert "2 answers, 20 tok/s, 50% cached" in report(day, day, INFO, IDLE)


def test_the_report_shows_the_settings_in_force() -> None:
    """Whoever tunes the engine has to see what it runs with."""
    text = report([], [], replace(INFO, chunked_prefill=False, long_prefill=0, extra={"dtype": "float32"}), IDLE)
    assert "**Engine:** `SmolLM2-135M-Instruct` · CPU, 2 cores · vLLM 0.32.0" in text
    assert "chunked prefill off · 128 tokens a step · long prompts unbounded · context 2,048 · dtype float32" in text


def test_the_report_shows_gpus_where_there_are_some() -> None:
    """Several of a kind are added up; without one, the process speaks for itself."""
    gpu = Gpu("NVIDIA H200", 0.4, 70 * 2**30, 140 * 2**30)
    busy = replace(gpu, busy=0.6)
    none, one, two = (report([], [], INFO, replace(IDLE, gpus=gpus)) for gpus in ((), (gpu,), (gpu, busy)))
    assert "**Process:** CPU 1.7 cores, 3.0 GiB" in none
    assert "**GPU:** NVIDIA H200, 40% busy, 70.0 of 140.0 GiB · process CPU 1.7 cores" in one
    assert "**GPU:** 2 × NVIDIA H200, 50% busy, 140.0 of 280.0 GiB" in two


def test_the_report_works_before_the_first_answer() -> None:
    """And while the engine still loads."""
    text = report([], [], None, IDLE)
    assert "no answers in the last hour or day yet" in text
    assert "**Engine:** starting" in text


@given(st.lists(timings(), max_size=30), st.text(max_size=300))
def test_the_report_fits_one_message_and_a_phone(day: list[Timing], name: str) -> None:
    """Whatever happened: at most 1,900 characters, and 36 in a row of the table."""
    info = replace(INFO, model=name, device=name, version=name, extra={name: name})
    text = report(day[::2], day, info, IDLE)
    rows = text.split("```")[1].splitlines() if day else []
    assert len(text) <= REPORT_SIZE
    assert all(len(row) <= 36 for row in rows)


def test_platforms_with_the_fewest_answers_give_way() -> None:
    """A bot on more platforms than one message has room for."""
    day = [replace(ANSWER, platform=f"platform {number}") for number in range(12) for _ in range(12 - number)]
    text = report(day[:40], day, INFO, IDLE)
    assert len(text) <= REPORT_SIZE
    assert "platform 0: 12" in text
    assert "platform 11" not in text
