"""Many conversations at once: what is measured, and that it is measured on answers that came out right."""

from clawdbot.bench.scale.crowd import Crowd
from clawdbot.bench.scale.measurement import measure, scripts

KEYS = {"conversations", "loop_lag", "added_first_visible", "cpu_share", "rss_mib"}


async def test_everybody_is_answered_whole_and_asks_again() -> None:
    """The whole bot, its store in a file, ten people in two chats of a second each."""
    script = scripts(rate=200.0, tokens=30, first=0.0, seed=1)

    found = await measure(Crowd(conversations=10, seconds=2.5, seed=1), script)

    assert (found.conversations, found.wrong) == (10, 0)
    assert found.answers == found.added_first_visible.n > 10
    assert found.to_map().keys() >= KEYS
    assert found.cpu_share > 0.0
    assert found.loop_lag.n > 10
