from clawdbot.bench.chaos.judge import Verdict
from clawdbot.bench.chaos.tally import Judged, Tally, count


def test_a_right_answer_counts_as_an_answer_alone() -> None:
    assert count([Judged("discord 1", Verdict())], {"kill": 2}) == Tally(answers=1, faults={"kill": 2})


def test_each_fault_is_counted_and_its_answer_named() -> None:
    judged = [
        Judged("discord 1", Verdict(lost=True)),
        Judged("discord 2", Verdict(copies=2)),
        Judged("discord 3", Verdict(wrong_text=True)),
        Judged("discord 4", Verdict(unmarked=True)),
    ]

    found = count(judged, {})

    assert (found.lost, found.duplicated, found.wrong_text, found.unmarked, found.clean) == (1, 2, 1, 1, False)
    assert found.suspects == (
        "discord 1: lost",
        "discord 2: duplicated",
        "discord 3: wrong text",
        "discord 4: unmarked",
    )


def test_a_copy_is_excused_by_a_send_of_its_own_answer_without_an_answer() -> None:
    """Never by more copies than such sends, and never by those of another answer."""
    judged = [Judged("telegram 1", Verdict(copies=3), excused=1), Judged("telegram 2", Verdict(), excused=5)]

    found = count(judged, {})

    assert (found.duplicated, found.ambiguous_sends) == (2, 1)


def test_tallies_add_up() -> None:
    one = Tally(answers=2, lost=1, cut_short=1, faults={"kill": 1, "error": 2}, suspects=("discord 1: lost",))

    both = one + Tally(answers=3, duplicated=1, faults={"kill": 4})

    assert both == Tally(5, 1, 1, cut_short=1, faults={"kill": 5, "error": 2}, suspects=("discord 1: lost",))
