"""Options that several benches have."""

from pathlib import Path
from typing import Annotated

import typer

from clawdbot.errors import ConfigError


def writable(path: Path | None) -> Path | None:
    """``path`` itself. Raises `ConfigError` when its folder is missing: better now than after minutes of measuring."""
    if path is not None and not path.parent.is_dir():
        raise ConfigError("--json", f"{path} cannot be written: {path.parent} is no folder.")
    return path


JsonOption = Annotated[Path | None, typer.Option("--json", callback=writable, help="Write all figures to this file.")]
SeedOption = Annotated[int, typer.Option(help="The same number draws the same questions, answers and times.")]
