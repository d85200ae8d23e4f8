"""How much one person may ask: arithmetic on hours and days."""

import pytest

from clawdbot.people.quota import DAY, HOUR, Reached, Used, begin, reached
from clawdbot.settings.config import Quota

MIDNIGHT = 1_800_057_600.0
NOW = MIDNIGHT + 10 * HOUR + 600.0


def test_no_limit_is_no_limit() -> None:
    assert reached(Quota(), Used(10**9, 10**9, 10**9, 10**9), NOW) is None


@pytest.mark.parametrize("limit", ["messages_per_hour", "messages_per_day", "tokens_per_hour", "tokens_per_day"])
def test_a_limit_is_reached_when_nothing_is_left(limit: str) -> None:
    """And only by what it is about."""
    quota = Quota(**{limit: 5})

    assert reached(quota, Used(**{limit: 4}), NOW) is None
    assert reached(quota, Used(**{limit: 5}), NOW) == reached(quota, Used(**{limit: 99}), NOW)
    assert (over := reached(quota, Used(**{limit: 5}), NOW)) is not None
    assert over.limit == limit


def test_the_window_is_the_hour_or_the_day_that_runs() -> None:
    hour = reached(Quota(messages_per_hour=1), Used(messages_per_hour=1), NOW)
    day = reached(Quota(tokens_per_day=1), Used(tokens_per_day=1), NOW)

    assert hour == Reached("messages_per_hour", MIDNIGHT + 10 * HOUR, MIDNIGHT + 11 * HOUR)
    assert day == Reached("tokens_per_day", MIDNIGHT, MIDNIGHT + DAY)


def test_of_two_limits_the_one_that_holds_for_longer_counts() -> None:
    """Or somebody would come back for nothing."""
    over = reached(Quota(messages_per_hour=1, messages_per_day=1), Used(1, 1), NOW)

    assert over is not None
    assert over.until == MIDNIGHT + DAY


def test_a_window_begins_with_its_first_moment() -> None:
    assert [begin(HOUR, at) for at in (NOW, MIDNIGHT, MIDNIGHT - 1)] == [
        MIDNIGHT + 10 * HOUR,
        MIDNIGHT,
        MIDNIGHT - HOUR,
    ]
