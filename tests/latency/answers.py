"""Timings of answers, for the tests of what is made of them."""

from dataclasses import replace

from hypothesis import strategies as st

from clawdbot.latency.timing import Timing

ANSWER = Timing(
    platform="discord",
    conversation="discord:1:0",
    at=1_800_000_000.0,
    platform_delay=0.25,
    admitted=0.002,
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
