"""Libraries that would write to the terminal by themselves."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawdbot.loggers import adopt


@pytest.fixture
def library(capfd: pytest.CaptureFixture[str]) -> Iterator[logging.Logger]:
    """A library that has a handler of its own, which keeps everything but errors back."""
    logger = logging.getLogger("some.library")
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logger.addHandler(handler)
    logger.propagate = False
    yield logger
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.NOTSET)


def test_what_they_say_goes_to_the_log_of_the_process(
    library: logging.Logger, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    adopt()
    library.info("chatter")
    library.error("something is wrong")

    # pytest listens at such a logger and at the root, so it hears everything twice.
    assert {record.getMessage() for record in caplog.records} == {"something is wrong"}
    assert library.propagate
    assert capfd.readouterr().err == ""


def test_what_writes_to_a_file_is_left(library: logging.Logger, tmp_path: Path) -> None:
    file = logging.FileHandler(tmp_path / "log")
    library.addHandler(file)
    adopt()

    assert file in library.handlers
    file.close()
