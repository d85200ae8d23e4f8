import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clawdbot.bench.chaos import cli
from clawdbot.bench.chaos.tally import Tally
from clawdbot.bench.cli import bench

KEYS = {"answers", "lost", "duplicated", "wrong_text", "unmarked", "ambiguous_sends", "faults"}
ORIGIN = {"clawdbot", "vllm", "device", "started_at"}


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """The command takes all logs over; give them back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_the_file_says_what_was_counted_and_where(tmp_path: Path) -> None:
    path = tmp_path / "chaos.json"

    done = CliRunner().invoke(bench, ["chaos", "--answers", "6", "--sdk", "0", "--kills", "0", "--json", str(path)])

    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found.keys() >= KEYS | ORIGIN
    assert (found["answers"], found["lost"], found["options"]["seed"]) == (6, 0, 1)
    assert found["stages"].keys() == {"virtual"}


@pytest.mark.parametrize("wrong", [Tally(lost=1, suspects=("discord 3: lost",)), Tally(engines_left=1)])
def test_anything_wrong_is_told_by_the_exit_code(wrong: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_stages", lambda *options: {"virtual": Tally(answers=1), "sdk": wrong})

    done = CliRunner().invoke(bench, ["chaos"])

    assert done.exit_code == 1
    assert all(suspect in done.output for suspect in wrong.suspects)
