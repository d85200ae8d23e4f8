"""One line in the log for each answer: where every millisecond went, and not a word of what was said."""

import logging

from clawdbot.latency.observed import Fact
from clawdbot.latency.timing import Timing, stages

log = logging.getLogger(__name__)


def log_answer(fact: Fact) -> None:
    """Write the line when ``fact`` is an answer; a `clawdbot.latency.observed.Observe`."""
    if isinstance(fact, Timing):
        log.info("answer", extra=chain(fact))


def chain(timing: Timing) -> dict[str, object]:
    """What the line holds. ``…_ms`` are the stages of `clawdbot.latency.timing.stages` in milliseconds; they add up."""
    cached = timing.cached_tokens / timing.prompt_tokens if timing.prompt_tokens else 0.0
    speed = timing.tokens_per_second
    return {
        "platform": timing.platform,
        "model": timing.model,
        "state": timing.state,
        **{f"{name.replace(' ', '_')}_ms": round(seconds * 1000, 3) for name, seconds in stages(timing)},
        "total_ms": round(timing.complete * 1000, 3),
        "prompt_tokens": timing.prompt_tokens,
        "cached_share": round(cached, 3),
        "output_tokens": timing.output_tokens,
        "tokens_per_second": None if speed is None else round(speed, 1),
    }
