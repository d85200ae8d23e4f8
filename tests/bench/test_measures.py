import pytest

from clawdbot.bench.measures import Figures, Look, Seen, Written, growth, letters, measure, staleness

WRITTEN = Written(asked=10.1, tokens=("A", "bc", " de", "fg", " hi"), first=0.2, gap=1.0)
"""Tokens at 10.3, 11.3, 12.3, 13.3 and 14.3; two characters can be shown from 11.3 on."""
POSTED = 10.0


def seen(*parts: list[tuple[float, str]], until: float = 20.0) -> Seen:
    return Seen(POSTED, tuple(tuple(Look(at, text) for at, text in looks) for looks in parts), until)


def measured(*parts: list[tuple[float, str]]) -> Figures:
    return measure(WRITTEN, seen(*parts))


GROWING = [(11.4, "Abc"), (13.4, "Abc defg"), (14.5, "Abc defg hi")]


def test_the_way_to_the_engine_counts_from_the_posting_of_the_message() -> None:
    assert measured(GROWING).to_engine == pytest.approx(0.1)


def test_first_visible_counts_from_the_token_that_makes_two_visible_characters() -> None:
    assert measured(GROWING).added_first_visible == pytest.approx(0.1)


def test_the_tax_is_what_the_bot_adds_on_the_way_in_and_out() -> None:
    figures = measured(GROWING)

    assert figures.tax == pytest.approx(0.2)


def test_a_notice_is_no_text_of_the_answer() -> None:
    noticed = measured([(10.2, "Waiting for the model …"), *GROWING])

    assert noticed == measured(GROWING)


def test_a_freeze_is_the_longest_time_between_two_changes_that_a_reader_sees() -> None:
    """Between 11.4 and 13.4 one edit changes nothing but a mark."""
    assert measured([GROWING[0], (12.0, "Abc **"), *GROWING[1:]]).freeze == pytest.approx(2.0)


def test_an_answer_that_stays_incomplete_freezes_until_the_observer_leaves() -> None:
    assert measured(GROWING[:2]).freeze == pytest.approx(20.0 - 13.4)


def test_the_finish_counts_from_the_last_token_to_the_whole_text() -> None:
    assert measured(GROWING).finish_lag == pytest.approx(0.2)


def test_a_whole_text_that_is_spoilt_and_mended_is_complete_when_it_is_mended() -> None:
    assert measured([*GROWING, (15.0, "Oops"), (16.0, "Abc defg hi")]).finish_lag == pytest.approx(16.0 - 14.3)


@pytest.mark.parametrize("screen", ["Abc defg h", "Abc defg hi hi", "Sorry.", ""])
def test_an_answer_is_lost_when_the_screen_ends_with_any_other_text(screen: str) -> None:
    figures = measured([*GROWING[:2], (14.5, screen)])

    assert (figures.lost, figures.finish_lag) == (True, None)


def test_an_answer_that_never_shows_is_lost_without_times() -> None:
    figures = measured()

    assert (figures.lost, figures.added_first_visible, figures.tax, figures.freeze) == (True, None, None, None)


def test_parts_are_read_as_one_text() -> None:
    figures = measured([(11.4, "Abc"), (12.4, "Abc de")], [(13.4, "fg"), (14.5, "fg hi")])

    assert figures.finish_lag == pytest.approx(0.2)
    assert (figures.lost, figures.duplicated) == (False, 0)


def test_a_part_that_is_seen_twice_is_duplicated_and_the_answer_is_not_lost() -> None:
    figures = measured(GROWING, [(14.6, "Abc defg hi")])

    assert (figures.lost, figures.duplicated) == (False, 1)


def test_a_beginning_that_was_left_on_the_screen_is_duplicated_too() -> None:
    figures = measured([(11.4, "Abc")], GROWING)

    assert (figures.lost, figures.duplicated) == (False, 1)


def test_a_last_part_that_also_occurs_in_the_first_is_no_duplicate() -> None:
    written = Written(0.0, ("The end", " or", " the", " The end"), 0.1, 0.1)

    figures = measure(written, seen([(0.5, "The end or the")], [(0.6, "The end")]))

    assert (figures.lost, figures.duplicated) == (False, 0)


def test_growth_is_every_change_of_how_much_can_be_read() -> None:
    parts = [[Look(1.0, "**One**"), Look(2.0, "**One** two")], [Look(3.0, "three"), Look(4.0, "**three**")]]

    assert growth("Onetwothree", parts) == [(1.0, 3), (2.0, 6), (3.0, 11)]


def test_a_screen_that_is_always_complete_is_never_stale() -> None:
    grown = [(11.3, 3), (12.3, 5), (13.3, 7), (14.3, 9)]

    assert staleness(WRITTEN, grown) == pytest.approx(0.0)


def test_the_age_grows_from_the_first_token_that_is_missing() -> None:
    """Complete up to 12.3; then two seconds without a frame, over the three seconds from 11.3 to 14.3."""
    grown = [(11.3, 3)]

    assert staleness(WRITTEN, grown) == pytest.approx((2.0 * 2.0 / 2) / 3.0)


def test_a_late_frame_brings_the_age_down_to_what_is_still_missing() -> None:
    """At 13.8 the token of 12.3 comes (age 1.5), while the one of 13.3 is missing (age 0.5, and 1 at the end)."""
    grown = [(11.3, 3), (13.8, 5)]

    assert staleness(WRITTEN, grown) == pytest.approx((1.5 * 1.5 / 2 + (1.0 - 0.25) / 2) / 3.0)


@pytest.mark.parametrize(
    ("markdown", "drawn"),
    [
        ("**Bold** and `code`", "Bold and code"),
        ("```python\nx = 1\n```\nend", "x = 1\n\nend"),
        ("- one\n- two", "• one\n• two"),
        ("| a | b |\n| --- | --- |\n| c | d |", "a | b\n--+--\nc | d"),
    ],
)
def test_letters_are_the_same_however_a_platform_draws_them(markdown: str, drawn: str) -> None:
    assert letters(markdown) == letters(drawn)
