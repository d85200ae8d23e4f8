"""Which channels to look at after a gap."""

from dataclasses import replace

from clawdbot_discord.backlog import CHANNELS, HANDED_OVER, PRIVATE_CHATS, Backlog, Gap


def after_hearing(*heard: tuple[int, int, int]) -> Backlog:
    """A new session begins after messages (guild, channel, message) were heard in another."""
    backlog = Backlog()
    for guild, channel, message in heard:
        backlog.hear(guild, channel, message)
    backlog.begin()
    return backlog


def test_a_channel_with_something_newer_than_what_was_heard_is_read_from_there() -> None:
    backlog = after_hearing((1, 10, 100))
    assert backlog.gaps(1, [(10, 120)], oldest=50) == [Gap(10, 100, 1)]


def test_what_is_heard_from_the_new_session_does_not_hide_the_gap() -> None:
    """In a busy channel its first message arrives before anybody looked."""
    backlog = after_hearing((1, 10, 100))
    backlog.hear(1, 10, 120)
    assert backlog.gaps(1, [(10, 120)], oldest=50) == [Gap(10, 100, 1)]


def test_a_channel_where_nothing_new_was_said_is_left_alone() -> None:
    backlog = after_hearing((1, 10, 100))
    assert backlog.gaps(1, [(10, 100)], oldest=50) == []


def test_a_channel_that_was_never_heard_is_read_as_far_back_as_answers_go() -> None:
    """After a restart nothing is known but the age."""
    assert Backlog().gaps(1, [(10, 120)], oldest=50) == [Gap(10, 50, 1)]


def test_what_is_too_old_is_not_read() -> None:
    backlog = after_hearing((1, 10, 100))
    assert backlog.gaps(1, [(10, 120), (11, 140)], oldest=130) == [Gap(11, 130, 1)]


def test_private_chats_that_were_heard_are_always_read() -> None:
    """Nobody says whether something is new in them."""
    backlog = after_hearing((1, 10, 100), (0, 20, 110))
    assert backlog.private_gaps(oldest=50) == [Gap(20, 110)]
    assert backlog.private_gaps(oldest=120) == [Gap(20, 120)]


def test_private_chats_of_earlier_runs_are_read_as_far_back_as_answers_go() -> None:
    """The core remembers them, and nothing else is known."""
    backlog = Backlog()
    backlog.know([20, 21])
    backlog.begin()
    assert backlog.private_gaps(oldest=50) == [Gap(21, 50), Gap(20, 50)]


def test_only_the_latest_private_chats_are_read() -> None:
    """Each costs a call, whether or not anybody wrote there."""
    backlog = Backlog()
    backlog.know(range(1, 2 * PRIVATE_CHATS))
    backlog.hear(0, 1, 100)
    backlog.begin()
    gaps = backlog.private_gaps(oldest=50)
    assert [gap.channel for gap in gaps[:2]] == [1, 2 * PRIVATE_CHATS - 1]
    assert len(gaps) == PRIVATE_CHATS


def test_what_was_not_read_to_its_end_is_read_by_the_next_session() -> None:
    """Whatever was heard behind it: the connection broke again before the gap was closed."""
    backlog = after_hearing((1, 10, 100), (0, 20, 110))
    (gap,) = backlog.gaps(1, [(10, 500)], oldest=50)
    (private,) = backlog.private_gaps(oldest=50)
    backlog.shorten(replace(gap, after=300))
    backlog.close(private)
    backlog.hear(1, 10, 600)
    backlog.hear(0, 20, 610)
    backlog.begin()
    assert backlog.gaps(1, [(10, 600)], oldest=50) == [Gap(10, 300, 1)]
    assert backlog.private_gaps(oldest=50) == [Gap(20, 610)]


def test_only_the_liveliest_channels_are_read() -> None:
    newest = [(channel, 1000 + channel) for channel in range(2 * CHANNELS)]
    gaps = Backlog().gaps(1, newest, oldest=0)
    assert [gap.channel for gap in gaps] == list(range(2 * CHANNELS - 1, CHANNELS - 1, -1))


def test_an_older_message_does_not_move_the_mark_back() -> None:
    backlog = after_hearing((1, 10, 100), (1, 10, 90))
    assert backlog.gaps(1, [(10, 100)], oldest=0) == []


def test_a_message_is_handed_over_once() -> None:
    """The gateway and the history may both bring it."""
    backlog = Backlog()
    assert [backlog.claim(7), backlog.claim(7), backlog.claim(6)] == [True, False, True]


def test_memory_is_bounded() -> None:
    backlog = Backlog()
    for message in range(HANDED_OVER + 1):
        backlog.claim(message)
    assert backlog.claim(0)
    assert not backlog.claim(HANDED_OVER)
