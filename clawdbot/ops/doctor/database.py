"""The database: can it be read, is it up to date, is there room, who uses it."""

import os
import shutil
from pathlib import Path

from clawdbot.errors import StoreError
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn
from clawdbot.store import beside
from clawdbot.store.database import STEPS

MIB = 2**20
LEAST, COMFORTABLE = 100 * MIB, 1024 * MIB
"""Bytes of free disk: below the one nothing should be started, below the other somebody should look."""


def database(about: str, path: Path, now: float) -> Finding:
    """Whether the file at ``path`` can be read, and which version it has."""
    if not path.exists():
        return _absent(about, path)
    if not _writable(path.parent):
        told = f"The folder {path.parent} may not be written by this user."
        return fail(about, told, "The database needs files beside it: start the bot as the user that owns the folder.")
    try:
        found = beside.facts(path, now)
    except StoreError as error:
        return fail(about, str(error), "Bring back a backup, or name another file ([store] path).")
    if not os.access(path, os.W_OK):
        return fail(about, f"{path} may not be written by this user.", "Start the bot as the user that owns it.")
    size = path.stat().st_size / MIB
    if found.version < len(STEPS):
        return warn(
            about,
            f"{path} ({size:,.0f} MiB) has version {found.version} of {len(STEPS)}.",
            "The next start brings it up to date; make a backup first: clawdbot backup FILE",
        )
    return ok(about, f"{path} ({size:,.0f} MiB), version {found.version}.")


def _absent(about: str, path: Path) -> Finding:
    above = next(place for place in path.absolute().parents if place.exists())
    wrong = "is no folder" if not above.is_dir() else None if _writable(above) else "may not be written"
    if wrong:
        return fail(about, f"{path} cannot be made: {above} {wrong}.", "Name another file ([store] path).")
    return ok(about, f"{path} is not there yet; the first start makes it.")


def disk(about: str, path: Path) -> Finding:
    """Whether the disk of the database at ``path`` has room."""
    above = _existing(path)
    free = shutil.disk_usage(above).free
    told = f"{free / MIB:,.0f} MiB are free at {above}."
    if free < LEAST:
        return fail(about, told, "Make room: without it no question can be kept.")
    return ok(about, told) if free >= COMFORTABLE else warn(about, told, "Make room before the disk is full.")


def in_use(about: str, path: Path, holder: int | None) -> Finding:
    """Whether a bot runs on the database at ``path``: ``holder`` is its process."""
    if holder is None:
        return ok(about, "No bot uses the database.")
    return warn(
        about, f"A bot is running on {path.name} (process {holder}).", "A second one on the same file would be refused."
    )


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _existing(path: Path) -> Path:
    """The nearest folder above ``path`` that is there."""
    return next(folder for folder in path.absolute().parents if folder.is_dir())
