"""``clawdbot bench report``: files that benches wrote, as pictures and a page."""

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import typer

from clawdbot.bench import records
from clawdbot.bench.report.drawing import draw
from clawdbot.bench.report.page import Result, page
from clawdbot.bench.report.panels import sheet
from clawdbot.errors import ConfigError

PAGE = "report.md"

FilesArgument = Annotated[list[Path], typer.Argument(help="What clawdbot tune or a bench wrote with --json.")]
OutOption = Annotated[Path, typer.Option(help="The folder for the page and its pictures; it is made.")]


def report(files: FilesArgument, out: OutOption = Path("report")) -> None:
    """Draw results as PNG and write a Markdown page with them and their tables."""
    # All of them before any: a file that is no result shall not leave half a page behind.
    found = [records.read(file) for file in files]
    names = _names(files)
    results = [Result(name, f"{name}.png", one) for name, one in zip(names, found, strict=True)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for result in results:
            (out / result.picture).write_bytes(draw(sheet(result.found)))
        (out / PAGE).write_text(page(results), encoding="utf-8")
    except OSError as error:
        raise ConfigError("--out", f"{out} cannot be written: {error.strerror}.") from error
    typer.echo(out / PAGE)


def _names(files: Sequence[Path]) -> list[str]:
    """The files' own names; a number is added where several have the same."""
    names: list[str] = []
    for file in files:
        numbered = (f"{file.stem}-{number}" for number in count(2))
        names.append(next(name for name in chain([file.stem], numbered) if name not in names))
    return names
