"""Tells of the single calls to a platform."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from clawdbot.clock import Clock
from clawdbot.errors import DeliveryError
from clawdbot.latency.observed import Call, Observe


@contextmanager
def told(
    observe: Observe, platform: str, kind: Literal["send", "edit", "draft", "typing"], clock: Clock
) -> Iterator[None]:
    """Tell ``observe`` how the call that the block makes ends, and how long it takes."""
    began = clock.now()
    try:
        yield
    except DeliveryError as error:
        observe(Call(platform, kind, clock.now() - began, error))
        raise
    observe(Call(platform, kind, clock.now() - began, None))
