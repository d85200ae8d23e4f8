import asyncio
import json
from pathlib import Path

import pytest

from clawdbot.bench.chaos.platform import KINDS, Kind
from clawdbot.bench.chaos.tally import Tally
from clawdbot.bench.chaos.virtual import run_virtual
from clawdbot.testing.virtual_time import VirtualLoop

_, TELEGRAM = KINDS


def played(
    folder: Path, *, answers: int = 40, seed: int = 1, rate: float = 0.1, kinds: tuple[Kind, ...] = KINDS
) -> Tally:
    folder.mkdir()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run_virtual(answers, seed, rate, folder, lambda done: None, kinds))


def test_answers_stand_faults_and_kills(tmp_path: Path) -> None:
    found = played(tmp_path / "a")

    assert (found.answers, found.clean, found.suspects) == (40, True, ())
    assert found.faults["kill"] > 0
    assert sum(found.faults.values()) > 20


def test_the_same_seed_plays_the_same(tmp_path: Path) -> None:
    first, second = (json.dumps(played(tmp_path / name).to_map()) for name in "ab")

    assert first == second


def test_copies_on_a_platform_that_knows_no_repetition_are_seen_and_excused(tmp_path: Path) -> None:
    found = played(tmp_path / "a", answers=40, rate=0.5, kinds=(TELEGRAM,))

    assert (found.ambiguous_sends > 0, found.duplicated) == (True, 0)


def test_copies_on_a_platform_that_should_know_better_are_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is excused there, so a bot or an adapter that repeats a send under another key is found out."""
    monkeypatch.setattr("clawdbot.bench.chaos.virtual.excused", lambda platform, name: 0)

    found = played(tmp_path / "a", answers=40, rate=0.5, kinds=(TELEGRAM,))

    assert (found.ambiguous_sends, found.duplicated > 0, found.clean) == (0, True, False)
