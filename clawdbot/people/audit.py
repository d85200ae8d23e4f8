"""The text of /audit (pure)."""

from collections.abc import Sequence
from datetime import UTC, datetime

from clawdbot.store import Entry

LENGTH = 15
"""Decisions that are shown: about what one message holds."""


def audit(entries: Sequence[Entry]) -> str:
    """The decisions, the latest first, a line each; times in UTC."""
    if not entries:
        return "Nothing was decided yet."
    return "\n".join(["The last decisions, the latest first (UTC):", "```", *map(_line, entries), "```"])


def _line(entry: Entry) -> str:
    at = datetime.fromtimestamp(entry.at, UTC).strftime("%m-%d %H:%M")
    why = f" ({entry.reason})" if entry.reason else ""
    maker = "" if entry.maker in (None, entry.person) else f" by {entry.maker}"
    return f"{at}  {entry.decision.value}{why}: {entry.platform} {entry.person}{maker}, in {entry.conversation}"
