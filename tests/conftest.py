"""What every test shares."""

import pytest

from clawdbot.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Time that passes only when the test says so."""
    return ManualClock()
