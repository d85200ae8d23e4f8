"""What every test shares."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clawdbot.testing.clock import ManualClock
from clawdbot.testing.rig import Rig


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--fuzz N``: how many hostile inputs `tests/fuzz` plays."""
    parser.addoption("--fuzz", type=int, default=500, metavar="N", help="play so many hostile inputs (tests/fuzz)")


@pytest.fixture
def clock() -> ManualClock:
    """Time that passes only when the test says so."""
    return ManualClock()


@pytest.fixture
def rig(clock: ManualClock, tmp_path: Path) -> Callable[..., Rig]:
    """Makes a whole bot with a database of its own; options as `Rig` takes them."""
    return partial(Rig, tmp_path, clock=clock)
