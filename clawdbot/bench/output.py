"""What every bench writes: a table to read and a JSON file to compare."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from clawdbot import __version__
from clawdbot.engine.survey import package
from clawdbot.errors import ConfigError


def origin(started_at: datetime, device: str | None = None) -> dict[str, str | None]:
    """What a JSON file says about where it comes from; without ``device`` the bench used no more than the CPU."""
    found = package()
    return {
        "clawdbot": __version__,
        "vllm": found.version if found else None,
        "device": device or f"CPU, {os.cpu_count()} cores",
        "started_at": started_at.astimezone(UTC).isoformat(timespec="seconds"),
    }


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file. Raises `ConfigError` when the place cannot be written."""
    try:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError("--json", f"{path} cannot be written: {error.strerror}.") from error


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print ``title`` and a table whose first column holds names and whose others hold numbers."""
    table = Table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(title, style="bold")
    console.print(table)


def milliseconds(seconds: float) -> str:
    """A time for a table; a digit more where it is short."""
    return "-" if isnan(seconds) else f"{seconds * 1000:,.{1 if abs(seconds) < 0.1 else 0}f}"
