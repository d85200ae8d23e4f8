import pytest

from clawdbot.bench.delivery.comparison import compare
from clawdbot.bench.scenes import Platform
from clawdbot.bench.trace import draw

KEYS = {"to_engine", "added_first_visible", "staleness", "freeze", "finish_lag", "ideal_tax", "tax"}
COUNTS = {"calls", "refused", "lost", "duplicated", "ambiguous_sends"}


@pytest.mark.parametrize("platform", ["discord", "telegram", "telegram-groups", "telegram-drafts"])
async def test_both_bots_show_every_answer_whole_and_once(platform: Platform) -> None:
    """The whole bot and the minimal one, over real HTTP and WebSocket, against a platform in another process."""
    trace = draw(chats=2, rounds=1, spread=0.2, tokens=60, first=0.1, rate=100.0, seed=3)

    compared = await compare(platform, trace, rtt=0.0, settling=0.3)

    faults = [
        (bot.counts["lost"], bot.counts["duplicated"], bot.counts["refused"]) for bot in (compared.bot, compared.ideal)
    ]
    assert faults == [(0, 0, 0), (0, 0, 0)]
    found = compared.to_map()
    assert found.keys() >= KEYS | COUNTS
    assert all(isinstance(one := found[key], dict) and one["n"] == 2 for key in KEYS)
    assert all(isinstance(found[key], int) for key in COUNTS)
