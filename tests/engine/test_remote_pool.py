"""Which of several servers answers next: pure decisions."""

import pytest

from clawdbot.engine.remote.pool import Pool


@pytest.fixture
def pool() -> Pool:
    """Three servers that are up."""
    pool = Pool(3)
    for number in range(3):
        pool.checked(number, healthy=True)
    return pool


def test_no_server_is_up_before_it_was_looked_at() -> None:
    pool = Pool(2)

    assert (pool.choose("a"), pool.lost) == (None, True)


def test_the_least_busy_server_takes_a_new_conversation(pool: Pool) -> None:
    pool.begin(0)
    pool.begin(2)

    assert pool.choose("a") == 1


def test_a_conversation_stays_where_its_prompts_are_cached(pool: Pool) -> None:
    """Even when another server is less busy: reading it all anew takes longer than waiting for a place in a step."""
    home = pool.choose("a")
    assert home is not None
    pool.begin(home)
    pool.begin(home)

    assert pool.choose("a") == home


def test_idle_servers_share_the_conversations(pool: Pool) -> None:
    """Or one would get all of them when questions come one by one."""
    assert {pool.choose(name) for name in "abc"} == {0, 1, 2}


def test_requests_of_no_conversation_bind_nothing(pool: Pool) -> None:
    chosen = [pool.choose("") for _ in range(3)]

    assert chosen == [0, 0, 0]


def test_what_has_failed_gets_nothing_new_until_its_check_succeeds(pool: Pool) -> None:
    home = pool.choose("a")
    assert home is not None
    pool.failed(home)
    meanwhile = pool.choose("a")
    pool.checked(home, healthy=True)

    assert meanwhile != home
    assert home in pool.up


def test_after_a_failover_the_conversation_stays_at_its_new_home(pool: Pool) -> None:
    """That is where its prompts are cached now."""
    home = pool.choose("a")
    assert home is not None
    pool.failed(home)
    second = pool.choose("a")
    pool.checked(home, healthy=True)

    assert pool.choose("a") == second


def test_one_missed_check_takes_no_server_out(pool: Pool) -> None:
    """A busy server may be late once; it is looked at again before anything is given up."""
    pool.checked(1, healthy=False)
    suspected = (pool.suspects, pool.up)
    pool.checked(1, healthy=False)

    assert suspected == ([1], [0, 2])
    assert (pool.suspects, pool.up) == ([], [0, 2])


def test_all_is_lost_when_every_server_is_out(pool: Pool) -> None:
    for number in range(3):
        pool.failed(number)
    suspected = pool.lost
    for number in range(3):
        pool.checked(number, healthy=False)

    assert (suspected, pool.lost) == (False, True)


def test_a_server_that_failed_before_is_avoided_where_there_is_another(pool: Pool) -> None:
    home = pool.choose("a")
    assert home is not None

    assert pool.choose("a", avoid=[home]) not in (home, None)
    assert pool.choose("b", avoid=range(3)) is None


def test_the_conversation_that_was_asked_least_lately_is_forgotten_first() -> None:
    """So that memory is bounded; it only costs that one its cache."""
    pool = Pool(2, conversations=2)
    for number in range(2):
        pool.checked(number, healthy=True)
    homes = {name: pool.choose(name) for name in "ab"}
    pool.choose("a")
    pool.choose("c")
    pool.begin(0)

    assert pool.choose("a") == homes["a"]
    assert pool.choose("b") == 1
