"""Libraries that would write to the terminal by themselves."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawdbot.tasks.loggers import adopt


@contextmanager
def library() -> Iterator[logging.Logger]:
    """A library that has a handler of its own, which keeps everything but errors back."""
    logger = logging.getLogger("some.library")
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logger.addHandler(handler)
    logger.propagate = False
    yield logger
    logger.removeHandler(handler)
    logger.propagate = True
    logger.setLevel(logging.NOTSET)


def test_what_they_say_goes_to_the_log_of_the_process(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """What they kept back stays back."""
    caplog.set_level(logging.DEBUG)
    with library() as logger:
        adopt()
        logger.info("chatter")
        logger.error("something is wrong")

    assert [record.getMessage() for record in caplog.records] == ["something is wrong"]
    assert capfd.readouterr().err == ""


def test_what_writes_to_a_file_is_left(tmp_path: Path) -> None:
    file = logging.FileHandler(tmp_path / "log")
    with library() as logger:
        logger.addHandler(file)
        adopt()
        assert logger.handlers == [file]
        logger.removeHandler(file)
    file.close()
