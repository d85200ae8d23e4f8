"""What the simulated Telegram accepts: lengths, entities, buttons and rates. Pure."""

import itertools
import math
from collections import deque
from dataclasses import dataclass, replace

from clawdbot.chat import Rate
from clawdbot.testing.telegram.wire import Fields, bad
from clawdbot.testing.telegram.world import Button, Entity


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits in force. Telegram publishes few numbers, so each one can be set.

    A private chat takes one call a second over time and some more in a burst, but no more than three within a second:
    the FAQ's "avoid more than one message per second", short bursts allowed. Sends, edits and chat actions share it.
    """

    private: tuple[Rate, ...] = (Rate(3, 1.0), Rate(8, 5.0), Rate(35, 30.0))
    group: tuple[Rate, ...] = (Rate(20, 60.0),)
    bot: tuple[Rate, ...] = (Rate(30, 1.0),)
    drafts: tuple[Rate, ...] = (Rate(5, 1.0),)
    penalty: float = 0.0
    """The shortest wait, in seconds, that a refusal asks for; what people saw lay between 3 and 280."""
    text: int = 4096
    """The most UTF-16 code units of a text."""
    caption: int = 1024
    """The most UTF-16 code units of a caption."""
    entities: int = 100
    """Further entities of a message are ignored in silence."""
    callback_data: int = 64
    """The most bytes of a button's data."""


class Budget:
    """The calls of one place: at most so many in any stretch of time, under several rates at once."""

    def __init__(self, rates: tuple[Rate, ...], penalty: float = 0.0) -> None:
        self._rates = rates
        self._penalty = penalty
        self._spent: deque[float] = deque(maxlen=max(rate.calls for rate in rates))
        self._closed_until = -math.inf

    def wait(self, now: float) -> float:
        """Seconds until a call is allowed, 0 when it is. One that comes too early closes the place for so long."""
        if now < self._closed_until:
            return self._closed_until - now
        wait = max(self._missing(rate, now) for rate in self._rates)
        if wait <= 0:
            return 0.0
        wait = max(math.ceil(wait), self._penalty)
        self._closed_until = now + wait
        return wait

    def spend(self, now: float) -> None:
        """Count a call that was let through."""
        self._spent.append(now)

    def _missing(self, rate: Rate, now: float) -> float:
        full = len(self._spent) >= rate.calls
        return self._spent[-rate.calls] + rate.seconds - now if full else 0.0


def units(text: str) -> int:
    """The length of ``text`` in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def written(fields: Fields, label: str, allowance: Allowance) -> tuple[str, tuple[Entity, ...]]:
    """The text or caption of a call with its entities, as people will see it. ``label`` is "text" or "caption".

    Space at the end is cut, as Telegram does. Raises `Refusal` for what is too long or lies outside of the text.
    """
    if fields.text("parse_mode"):
        raise bad("unsupported parse_mode")
    raw = fields.text(label)
    text = raw.rstrip()
    most = allowance.text if label == "text" else allowance.caption
    if units(text) > most:
        raise bad("message is too long" if label == "text" else "message caption is too long")
    name = "entities" if label == "text" else "caption_entities"
    borders = _borders(raw)
    entities = [_entity(one, borders) for one in fields.nested(name) or ()][: allowance.entities]
    end = units(text)
    cut = [replace(one, length=min(one.length, end - one.offset)) for one in entities if one.offset < end]
    return text, tuple(cut)


def keyboard(fields: Fields, allowance: Allowance) -> tuple[tuple[Button, ...], ...]:
    """The buttons of a call. Raises `Refusal` when the data of one is missing or too long."""
    markup = fields.nested("reply_markup") or {}
    rows = markup.get("inline_keyboard", ())
    for button in itertools.chain.from_iterable(rows):
        data = str(button.get("callback_data", ""))
        if not 1 <= len(data.encode()) <= allowance.callback_data:
            raise bad("BUTTON_DATA_INVALID")
    return tuple(tuple(Button(one["text"], one["callback_data"]) for one in row) for row in rows if row)


def _entity(raw: dict[str, object], borders: set[int]) -> Entity:
    extra = tuple(sorted((k, v) for k, v in raw.items() if k not in ("type", "offset", "length")))
    entity = Entity(str(raw.get("type")), _whole(raw, "offset"), _whole(raw, "length"), extra)
    end = entity.offset + entity.length
    if entity.offset < 0 or entity.length < 0:
        raise bad("can't parse MessageEntity: receive an entity with incorrect offset or length")
    if end > max(borders):
        raise bad(
            f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text at UTF-16 offset {end}"
        )
    if not {entity.offset, end} <= borders:
        raise bad(f"entity beginning at UTF-16 offset {entity.offset} begins or ends in a middle of a UTF-16 symbol")
    return entity


def _whole(raw: dict[str, object], name: str) -> int:
    value = raw.get(name)
    if not isinstance(value, int):
        raise bad(f"can't parse MessageEntity: field {name} must be of type Number")
    return value


def _borders(text: str) -> set[int]:
    """Where signs begin and end, in UTF-16 code units."""
    if text.isascii():
        return set(range(len(text) + 1))
    return {0, *itertools.accumulate(2 if ord(letter) > 0xFFFF else 1 for letter in text)}
