"""Where an answer's time went: stages that add up, percentiles by the book."""

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawdbot.latency.timing import (
    STAGES,
    WIDEST_FOOTER,
    Summary,
    Timing,
    closing_line,
    footer,
    percentile,
    stages,
    summary,
)

from .answers import ANSWER, timings


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


def test_the_footer_says_first_word_speed_and_what_the_cache_spared() -> None:
    """A small line below an answer; the console has room for more of the same."""
    assert footer(ANSWER) == "first word 0.30 s · 20 tok/s · 25% cached"
    assert closing_line(ANSWER) == f"{footer(ANSWER)} · 40 prompt tokens · total 4.30 s"
    slow = replace(ANSWER, first_visible=3600.0, last_token=1.21, output_tokens=9_999, cached_tokens=40)
    assert len(footer(slow)) <= len(WIDEST_FOOTER)


def test_the_footer_says_only_what_is_known() -> None:
    unknown = replace(ANSWER, first_visible=None, last_token=None, prompt_tokens=0, complete=0.1)
    assert footer(replace(unknown, first_visible=0.1)) == "first word 0.10 s"
    assert footer(unknown) == ""


def test_the_closing_line_of_a_silent_answer_says_so() -> None:
    """Stopped before the first word."""
    silent = replace(ANSWER, first_visible=None, last_token=None, complete=0.1)
    assert closing_line(silent) == "no word · 25% cached · 40 prompt tokens · total 0.10 s"
