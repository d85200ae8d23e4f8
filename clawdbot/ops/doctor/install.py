"""What is installed: Python, vLLM, the options that this vLLM knows."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from clawdbot.engine.arguments import check_names
from clawdbot.engine.survey import Survey
from clawdbot.errors import ConfigError, EngineUnavailable
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
OLDEST_VLLM, NEWEST_VLLM = (0, 26), (0, 32)
"""The releases that were tried."""
INSTALL = "Install clawdbot[cuda] on a machine with an NVIDIA GPU, clawdbot[cpu] on any other."


def python(about: str, version: tuple[int, int, int]) -> Finding:
    """Whether this Python is one of those that were tried."""
    shown = ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        return fail(about, f"{shown} is too old.", f"Use {_dotted(OLDEST_PYTHON)} or a later one.")
    if version[:2] > NEWEST_PYTHON:
        return warn(about, f"{shown} was not tried.", f"If anything fails, use {_dotted(NEWEST_PYTHON)}.")
    return ok(about, f"{shown}.")


def vllm_version(about: str, version: str | None) -> Finding:
    """Whether vLLM's ``version`` (None: there is none) is within the range that was tried."""
    if version is None:
        return fail(about, "It is not installed.", INSTALL)
    tried = f"{_dotted(OLDEST_VLLM)} to {_dotted(NEWEST_VLLM)}"
    release = re.match(r"(\d+)\.(\d+)", version)
    if release is None or not OLDEST_VLLM <= tuple(map(int, release.groups())) <= NEWEST_VLLM:
        return warn(about, f"{version} was not tried.", f"If anything fails, use one of {tried}.")
    return ok(about, f"{version}; tried are {tried}.")


def vllm_works(about: str, survey: Callable[[], Survey], chosen: Mapping[str, Mapping[str, Any]]) -> Finding:
    """Whether vLLM can be imported, and knows the ``chosen`` options of each table such as ``[engine.args]``."""
    tables, count = " and ".join(f"[{table}.args]" for table in chosen), sum(map(len, chosen.values()))
    try:
        found = survey()
        for table, args in chosen.items():
            check_names(args, found.arguments, table)
    except EngineUnavailable as error:
        return fail(about, error.reason, error.remedy)
    except ConfigError as error:
        return fail(about, " ".join(error.faults), "Correct it there, or install a vLLM that knows it.")
    where = "on the CPU" if found.on_cpu else "on a GPU"
    options = f"; it knows all options in {tables} ({count})" if count else ""
    return ok(about, f"It can be imported and runs models {where}{options}.")


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
