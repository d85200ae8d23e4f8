"""Events that can be kept. Pure.

Half characters, which no UTF-8 has, become the sign for one that is not known: JSON can say them, and a cut in the
middle of a pair makes them. The database refuses such a text, and tokenizers do. It takes no number beyond 64 bits
either; no platform gives any, so an event that has one is forged.
"""

from dataclasses import is_dataclass, replace
from typing import Any

from clawdbot.chat import Event

LARGEST = 2**63 - 1
"""The largest number that the database takes; the smallest is as far below zero, less one."""


def wellformed(event: Event) -> Event | None:
    """``event`` with every text in it as it can be kept; None when it holds a number that cannot be."""
    try:
        kept: Event = _kept(event)
    except OverflowError:
        return None
    return kept


def whole(text: str) -> str:
    """``text`` without half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _kept(value: Any) -> Any:
    """``value`` itself where nothing in it has to change. Raises OverflowError."""
    kept = value
    if isinstance(value, str):
        kept = whole(value)
    elif isinstance(value, int) and not -LARGEST <= value <= LARGEST:
        raise OverflowError
    elif isinstance(value, tuple) and value:
        kept = tuple(map(_kept, value))
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [(name, getattr(value, name)) for name in value.__dataclass_fields__]
        changed = {name: new for name, part in parts if (new := _kept(part)) is not part}
        kept = replace(value, **changed) if changed else value
    return kept
