"""``deploy/compose.yaml`` as Docker Compose itself understands it."""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOUND = importlib.util.find_spec("compose")
# The package's own script ends with 0 whatever the program says.
PROGRAM = Path(FOUND.origin).with_name("docker-compose") if FOUND and FOUND.origin else None

needs_compose = pytest.mark.skipif(PROGRAM is None, reason="Docker Compose's package is for Linux, x86-64, Python 3.11")


def composed(folder: Path, **environment: str) -> Mapping[str, Any]:
    """All services, with every profile, in a copy of the project that has been set up; what is wrong is an error."""
    copy = folder / "project"
    shutil.copytree(ROOT / "deploy", copy / "deploy")
    shutil.copy(ROOT / "Dockerfile", copy)
    shutil.copy(ROOT / "config.example.toml", copy / "config.toml")
    shutil.copy(copy / "deploy" / "clawdbot.env.example", copy / "deploy" / "clawdbot.env")
    asked = [str(PROGRAM), "--file", "deploy/compose.yaml", "--profile", "*", "config", "--format", "json"]
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH")}
    said = subprocess.run(
        asked, cwd=copy, env=kept | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")
    read: Mapping[str, Any] = json.loads(said.stdout)
    return read
