"""Wrong tokens, and how long whoever gave one waits."""

from clawdbot.ops.attempts import FORGOTTEN, FREE, FREE_FOR_ALL, LONGEST, LONGEST_FOR_ALL, MOST, Attempts

NOW = 1000.0


def wrong(attempts: Attempts, peer: str, times: int) -> None:
    for _ in range(times):
        attempts.wrong(peer, NOW)


def test_a_slip_of_the_finger_costs_no_wait() -> None:
    attempts = Attempts()
    wrong(attempts, "somebody", FREE - 1)

    assert attempts.wait("somebody", NOW) == 0


def test_each_further_mistake_doubles_the_wait_up_to_a_bound() -> None:
    attempts, waits = Attempts(), []
    wrong(attempts, "somebody", FREE - 1)
    for _ in range(8):
        attempts.wrong("somebody", NOW)
        waits.append(attempts.wait("somebody", NOW))

    assert waits == [1, 2, 4, 8, 16, 32, LONGEST, LONGEST]


def test_the_wait_ends() -> None:
    attempts = Attempts()
    wrong(attempts, "somebody", FREE + 1)

    assert [attempts.wait("somebody", NOW + later) for later in (0.5, 2)] == [1.5, 0]


def test_one_waits_for_nobody_elses_mistakes() -> None:
    attempts = Attempts()
    wrong(attempts, "somebody", FREE + 3)

    assert attempts.wait("another", NOW) == 0


def test_the_right_token_and_an_hour_wipe_the_slate() -> None:
    attempts = Attempts()
    wrong(attempts, "somebody", FREE + 3)
    attempts.right("somebody")
    wrong(attempts, "another", FREE + 3)
    attempts.wrong("another", NOW + FORGOTTEN + 1)

    assert attempts.wait("somebody", NOW) == 0
    assert attempts.wait("another", NOW + FORGOTTEN + 1) == 0


def test_guesses_from_many_addresses_wait_for_each_other_but_shortly() -> None:
    attempts = Attempts()
    for number in range(FREE_FOR_ALL + 20):
        attempts.wrong(f"peer {number}", NOW)

    assert attempts.wait("one more", NOW) == LONGEST_FOR_ALL


def test_who_had_the_right_token_before_is_not_kept_out_by_others() -> None:
    """Else anybody could keep the owner, or the owner's Prometheus, from the bot."""
    attempts = Attempts()
    attempts.right("the owner")
    for number in range(FREE_FOR_ALL + 20):
        attempts.wrong(f"peer {number}", NOW)

    assert attempts.wait("the owner", NOW) == 0


def test_the_log_is_told_once_for_each_and_once_for_many() -> None:
    """Whoever guesses must not be able to fill the disk."""
    attempts = Attempts()
    said = [attempts.wrong("somebody", NOW) for _ in range(3)]
    said += [attempts.wrong(f"peer {number}", NOW) for number in range(2 * FREE_FOR_ALL)]

    told = [one for one in said if one]
    assert said[:3] == [told[0], None, None]
    assert "somebody" in told[0]
    assert "many wrong tokens" in told[-1]
    assert len(told) == FREE_FOR_ALL - 2


def test_addresses_without_end_take_no_memory_without_end() -> None:
    attempts = Attempts()
    for number in range(MOST + 5):
        attempts.wrong(f"peer {number}", NOW)
        attempts.right(f"friend {number}")

    assert (len(attempts._wrong), len(attempts._right)) == (MOST, MOST)
