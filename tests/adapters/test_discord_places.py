"""Where no call is made, and for how long."""

import pytest

from clawdbot.errors import Forbidden, Gone, Limited
from clawdbot_discord.places import REMEMBERED, Places


@pytest.mark.parametrize("error", [Forbidden("blocked"), Gone("deleted")])
def test_a_closed_channel_refuses_as_discord_did_until_it_is_opened(error: Forbidden | Gone) -> None:
    places = Places()
    places.close(1, error)
    places.check(2, now=0.0)
    with pytest.raises(type(error), match=str(error)):
        places.check(1, now=1e9)
    places.open(1)
    places.check(1, now=0.0)


def test_a_crowded_channel_refuses_for_the_rest_of_its_time() -> None:
    """Speaking there does not help."""
    places = Places()
    places.crowd(1, until=10.0)
    places.open(1)
    with pytest.raises(Limited) as refusal:
        places.check(1, now=7.0)
    assert refusal.value.retry_after == 3.0
    places.check(1, now=10.0)


def test_channels_without_references_are_remembered() -> None:
    places = Places()
    places.refuse_references(1)
    assert (places.takes_references(1), places.takes_references(2)) == (False, True)


def test_memory_is_bounded() -> None:
    places = Places()
    for channel in range(REMEMBERED + 1):
        places.close(channel, Gone("deleted"))
    places.check(0, now=0.0)
    with pytest.raises(Gone):
        places.check(REMEMBERED, now=0.0)
