"""Libraries that write to the terminal by themselves are made to write through the log of the process."""

import logging
import sys


def adopt() -> None:
    """Take their own stream handlers from all loggers there are; what came through them goes to the root's from now on.

    They would write past what gives lines their form and keeps secrets out. What they kept back stays back.
    """
    for logger in list(logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            _adopt(logger)


def _adopt(logger: logging.Logger) -> None:
    terminal = (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__)
    streams = [
        handler
        for handler in logger.handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream in terminal
    ]
    for handler in streams:
        logger.removeHandler(handler)
    if streams:
        logger.setLevel(max(logger.level, min(handler.level for handler in streams)))
        logger.propagate = True
