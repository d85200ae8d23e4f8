"""Options that several benches have."""

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")]
SeedOption = Annotated[int, typer.Option(help="The same number draws the same questions, answers and times.")]
