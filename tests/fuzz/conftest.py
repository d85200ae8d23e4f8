"""How much of the fuzz is played."""

import pytest

SLICE = 50
"""Inputs that one bot meets."""
TOKENS = 3
"""One slice in so many is played with a real chat template."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cut the inputs that ``--fuzz`` asks for into slices."""
    slices = range(max(1, metafunc.config.getoption("--fuzz") // SLICE))
    if "fuzz_slice" in metafunc.fixturenames:
        metafunc.parametrize("fuzz_slice", [number for number in slices if number % TOKENS])
    if "fuzz_slice_of_tokens" in metafunc.fixturenames:
        metafunc.parametrize("fuzz_slice_of_tokens", [number for number in slices if not number % TOKENS])


@pytest.fixture
def fuzz_count(request: pytest.FixtureRequest) -> int:
    """What ``--fuzz`` asks for."""
    return int(request.config.getoption("--fuzz"))
