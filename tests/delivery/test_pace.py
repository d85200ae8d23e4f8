"""When calls may be made: arithmetic on times."""

from heapq import heappop, heappush
from itertools import count
from math import inf, nan
from random import Random

import pytest

from clawdbot.chat import Bucket, Pace, Rate
from clawdbot.delivery.pace import APART, AT_ONCE, SWEEP_AT, Budgets, Urgency, next_frame_at
from clawdbot.errors import Limited
from clawdbot.testing.discord.windows import Window
from clawdbot.testing.telegram.rules import Budget

EDITS = Bucket("edits", (Rate(5, 5.0),))
BOT = Bucket("bot", (Rate(30, 1.0),))
GROUP = Bucket("group", (Rate(3, 1.0), Rate(20, 60.0)))


def spend(budgets: Budgets, bucket: Bucket, *times: float) -> None:
    """Make calls that take no time."""
    for time in times:
        budgets.spend((bucket,), time)
        budgets.returned((bucket,), time)


def ready(budgets: Budgets, buckets: tuple[Bucket, ...], urgency: Urgency) -> float:
    """When such a call may be made; no call is under way, so the time of the question does not matter."""
    return budgets.ready_at(buckets, urgency, nan, "answer")


def test_untouched_bucket_is_open() -> None:
    assert ready(Budgets(), (EDITS, BOT), Urgency.GROWING) == -inf


def test_bucket_without_limits_is_always_open() -> None:
    """A terminal refuses nothing."""
    budgets, endless = Budgets(), Bucket("endless", ())
    spend(budgets, endless, *[5.0] * 1000)
    assert ready(budgets, (endless,), Urgency.SPARE) == -inf
    assert budgets.fair_at((endless,), 5.0) == 5.0


def test_full_window_opens_when_its_oldest_call_leaves_it() -> None:
    budgets = Budgets()
    spend(budgets, EDITS, 10.0, 11.0, 12.0, 13.0, 14.0)
    assert ready(budgets, (EDITS,), Urgency.FINAL) == 15.0


def test_all_rates_of_a_bucket_count() -> None:
    budgets = Budgets()
    spend(budgets, GROUP, 0.0, 0.1, 0.2)
    assert ready(budgets, (GROUP,), Urgency.FINAL) == 1.0
    spend(budgets, GROUP, *(float(second) for second in range(1, 18)))
    assert ready(budgets, (GROUP,), Urgency.FINAL) == 60.0


def test_all_buckets_of_a_call_count() -> None:
    budgets = Budgets()
    spend(budgets, EDITS, 10.0, 11.0, 12.0, 13.0, 14.0)
    spend(budgets, BOT, *[14.5] * 30)
    assert ready(budgets, (EDITS, BOT), Urgency.FINAL) == 15.5


def test_growing_frames_leave_a_place_of_five_to_the_final() -> None:
    budgets = Budgets()
    spend(budgets, EDITS, 10.0, 11.0, 12.0, 13.0)
    assert ready(budgets, (EDITS,), Urgency.GROWING) > 13.0
    assert ready(budgets, (EDITS,), Urgency.FINAL) < 13.0


@pytest.mark.parametrize(
    ("urgency", "calls"), [(Urgency.SPARE, 15), (Urgency.GROWING, 24), (Urgency.FIRST, 27), (Urgency.FINAL, 30)]
)
def test_short_budget_of_the_bot_goes_to_the_urgent(urgency: Urgency, calls: int) -> None:
    """Finals first, then first frames, then growing ones, then typing and notices."""
    budgets = Budgets()
    budgets.join((BOT,))
    budgets.join((BOT,))
    spend(budgets, BOT, *[5.0] * (calls - 1))
    assert ready(budgets, (BOT,), urgency) < 5.0
    spend(budgets, BOT, 5.0)
    assert ready(budgets, (BOT,), urgency) == 6.0


def test_spare_calls_always_leave_a_place() -> None:
    """Typing and notices never spend the place that the first text needs, however small the bucket."""
    budgets = Budgets()
    single, pair = Bucket("single", (Rate(1, 1.0),)), Bucket("pair", (Rate(2, 5.0),))
    assert ready(budgets, (single,), Urgency.SPARE) == inf
    spend(budgets, pair, 1.0)
    assert ready(budgets, (pair,), Urgency.SPARE) == 6.0
    assert ready(budgets, (pair,), Urgency.FIRST) < 1.0


def test_closed_bucket_opens_when_the_platform_said() -> None:
    """Exactly then, for every urgency; a shorter refusal does not open it earlier."""
    budgets = Budgets()
    budgets.refuse(EDITS, BOT, Limited(40.0), 0.5)
    budgets.refuse(EDITS, BOT, Limited(10.0), 10.0)
    assert [ready(budgets, (EDITS,), urgency) for urgency in Urgency] == [40.5] * 4
    assert ready(budgets, (BOT,), Urgency.SPARE) == -inf


def test_call_counts_from_its_return() -> None:
    """The platform may have counted it as late as that, so its window lasts as long from there."""
    budgets = Budgets()
    for made in (10.0, 11.0, 12.0, 13.0, 14.0):
        budgets.spend((EDITS,), made)
        budgets.returned((EDITS,), made + 0.3)
    assert ready(budgets, (EDITS,), Urgency.FINAL) == 15.3


def test_call_under_way_keeps_its_place_however_long_it_takes() -> None:
    """It may arrive as late as now: whoever waits for its place asks again a window's length from now."""
    budgets = Budgets()
    for made in (10.0, 10.1, 10.2, 10.3, 10.4):
        budgets.spend((EDITS,), made)
    assert budgets.ready_at((EDITS,), Urgency.FINAL, 60.0, "answer") == 65.0
    budgets.returned((EDITS,), 61.0)
    assert budgets.ready_at((EDITS,), Urgency.FINAL, 62.0, "answer") == 66.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rate", [Rate(30, 1.0), Rate(5, 5.0), Rate(1, 1.0)])
def test_no_call_is_refused_whatever_the_way_there_takes(rate: Rate, seed: int) -> None:
    """Calls begun early that arrive late, together, are never one too many: neither in any stretch of time, as Telegram
    counts, nor in windows that begin with a call, as Discord does."""
    random, order, bucket = Random(seed), count(), Bucket("bot", (rate,))
    budgets, sliding, fixed = Budgets(), Budget((rate,)), Window(rate)
    now, made, refused = 0.0, 0, 0
    travelling: list[tuple[float, int, str]] = []
    while made < 2000:
        ready_at = budgets.ready_at((bucket,), Urgency.FINAL, now, "answer")
        if ready_at <= now:
            budgets.spend((bucket,), now)
            arrives = now + random.choice((0.01, random.uniform(0.0, 0.2), random.expovariate(1 / (2 * rate.seconds))))
            heappush(travelling, (arrives, next(order), "arrived"))
            heappush(travelling, (arrives + random.uniform(0.0, rate.seconds), next(order), "returned"))
            made += 1
        elif travelling and travelling[0][0] <= ready_at:
            now, _, what = heappop(travelling)
            if what == "returned":
                budgets.returned((bucket,), now)
            else:
                refused += sliding.wait(now) > 1e-9 or not fixed.take(now).granted
                sliding.spend(now)
        else:
            now = ready_at
    assert refused == 0


def test_replies_that_share_a_bucket_take_turns() -> None:
    """Two growing replies in four places of five seconds: each shows a frame every 2.5 s at most."""
    budgets = Budgets()
    budgets.join((EDITS,))
    budgets.join((EDITS,))
    assert budgets.fair_at((EDITS,), 100.0) == 102.5
    budgets.leave((EDITS,))
    assert budgets.fair_at((EDITS,), 100.0) == 100.0


def test_reply_that_is_alone_borrows_the_kept_place_for_a_second() -> None:
    """The window gives a place back at 15 s, so the final, should it come, waits a second and no more."""
    budgets = Budgets()
    budgets.join((EDITS,))
    spend(budgets, EDITS, 10.0, 10.6, 11.5, 12.7)
    assert ready(budgets, (EDITS,), Urgency.GROWING) == 14.0
    spend(budgets, EDITS, 14.0)
    assert ready(budgets, (EDITS,), Urgency.GROWING) == ready(budgets, (EDITS,), Urgency.FINAL) == 15.0


def test_reply_that_is_alone_keeps_one_place_of_a_large_window() -> None:
    """Twenty a minute with a fifth kept: an answer would stand still for ten seconds before its first minute ends."""
    budgets, group = Budgets(), Bucket("group", (Rate(20, 60.0),))
    budgets.join((group,))
    spend(budgets, group, *(3.2 * frame for frame in range(18)))
    assert ready(budgets, (group,), Urgency.GROWING) == -inf
    spend(budgets, group, 57.6)
    assert ready(budgets, (group,), Urgency.GROWING) == 59.0
    assert ready(budgets, (group,), Urgency.FINAL) == -inf


def test_only_place_of_a_window_is_for_growing_too() -> None:
    budgets, single = Budgets(), Bucket("single", (Rate(1, 5.0),))
    budgets.join((single,))
    assert ready(budgets, (single,), Urgency.GROWING) == -inf
    spend(budgets, single, 1.0)
    assert ready(budgets, (single,), Urgency.GROWING) == 6.0


def test_kept_place_is_not_lent_where_others_may_need_it() -> None:
    budgets = Budgets()
    budgets.join((EDITS,))
    budgets.join((EDITS,))
    spend(budgets, EDITS, 10.0, 10.6, 11.5, 12.7)
    assert ready(budgets, (EDITS,), Urgency.GROWING) == 15.0


def test_crowd_does_not_wake_for_every_place_that_comes_back() -> None:
    """A few are told the moment itself, so that no place stays empty; the others one within the second after it."""
    budgets = Budgets()
    spend(budgets, BOT, *[5.0] * 30)
    told = [budgets.ready_at((BOT,), Urgency.FIRST, 5.5, f"answer {number}") for number in range(1000)]
    assert told.count(6.0) == AT_ONCE
    assert len(set(told)) > 900
    assert 6.0 <= min(told) <= max(told) <= 6.0 + APART


def test_asking_again_changes_nothing() -> None:
    """A timer may ring a little early: who then asks once more is not one more who waits, with a later turn."""
    budgets = Budgets()
    spend(budgets, BOT, *[5.0] * 30)
    told = {budgets.ready_at((BOT,), Urgency.FINAL, 5.9, "answer") for _ in range(100)}
    assert told == {6.0}


def test_idle_buckets_are_forgotten() -> None:
    """Memory does not grow with the number of chats that were ever served."""
    budgets = Budgets()
    for chat in range(20 * SWEEP_AT):
        spend(budgets, Bucket(f"chat:{chat}", (Rate(5, 5.0),)), float(chat))
    assert len(budgets) <= SWEEP_AT


def test_refusal_for_everybody_closes_the_bots_bucket() -> None:
    """And leaves the place's open: it is shut only as long as the whole bot is."""
    budgets = Budgets()
    budgets.refuse(EDITS, BOT, Limited(3.0, everywhere=True), 1.0)
    assert ready(budgets, (BOT,), Urgency.FINAL) == 4.0
    assert ready(budgets, (EDITS,), Urgency.FINAL) == -inf


def test_closed_and_streaming_buckets_are_not_forgotten() -> None:
    budgets = Budgets()
    budgets.refuse(EDITS, BOT, Limited(1e6), 0.0)
    budgets.join((GROUP,))
    for chat in range(20 * SWEEP_AT):
        spend(budgets, Bucket(f"chat:{chat}", (Rate(5, 5.0),)), float(chat))
    assert ready(budgets, (EDITS,), Urgency.FINAL) == 1e6
    budgets.leave((GROUP,))


def test_frames_come_early_at_first_and_slow_down_with_age() -> None:
    pace = Pace(first=(0.4, 0.8), by_age=((0.0, 1.0), (30.0, 1.4), (60.0, 3.0)))
    assert next_frame_at(pace, 0, -inf, -inf) == -inf
    assert next_frame_at(pace, 1, 10.0, 10.0) == 10.4
    assert next_frame_at(pace, 2, 10.0, 10.4) == pytest.approx(11.2)
    ages = [0.0, 15.0, 30.0, 45.0, 60.0, 600.0]
    gaps = [next_frame_at(pace, 9, 10.0, 10.0 + age) - (10.0 + age) for age in ages]
    assert gaps == pytest.approx([1.0, 1.2, 1.4, 2.2, 3.0, 3.0])


def test_a_room_says_how_full_a_bucket_is() -> None:
    """Calls under way count; what is older than the window does not, and a closed bucket says for how long."""
    budgets, bucket = Budgets(), Bucket("discord:1:edit", (Rate(5, 5.0), Rate(100, 60.0)))
    for now in (10.0, 18.0):
        budgets.spend((bucket,), now)
        budgets.returned((bucket,), now)
    budgets.spend((bucket,), 19.0)
    room = budgets.rooms(20.0)[bucket.key]
    budgets.refuse(bucket, bucket, Limited(7.0), 20.0)

    assert (room.rates, room.calls, room.closed, room.in_use) == (bucket.rates, (2, 3), 0.0, True)
    assert budgets.rooms(21.0)[bucket.key].closed == 6.0
