"""What people send on the simulated Telegram besides text, and how a bot gets at it."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clawdbot.clock import Clock
from clawdbot.testing.telegram.wire import Refusal, bad

LARGEST = 20_000_000
"""Bytes of the largest file that a bot may load."""
PATH_LIFE = 3600.0
"""Seconds for which a path of `getFile` is good."""

_PICTURE: Mapping[str, Any] = {"width": 90, "height": 90}
_LENGTH: Mapping[str, Any] = {"duration": 3}
_ALWAYS: Mapping[str, Mapping[str, Any]] = {
    "photo": _PICTURE,
    "document": {},
    "audio": _LENGTH,
    "voice": _LENGTH,
    "video": {**_PICTURE, **_LENGTH},
    "animation": {**_PICTURE, **_LENGTH},
    "video_note": {"length": 90, **_LENGTH},
    "sticker": {**_PICTURE, "type": "regular", "is_animated": False, "is_video": False},
}
"""The kinds that have a content, with the fields that each has in any case."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One thing that somebody sends: a ``kind`` of the Bot API's, such as "document", "voice" or "location".

    Kinds without a content have their fields in ``about``.
    """

    kind: str
    name: str = ""
    media: str = ""
    """Its media type; the Bot API leaves it out where it is not known."""
    data: bytes = b""
    about: Mapping[str, Any] = field(default_factory=dict)
    sized: bool = True
    """Whether the Bot API tells how large it is: "file_size" is optional."""

    @property
    def size(self) -> dict[str, int]:
        """The field that tells how large it is, if one does."""
        return {"file_size": len(self.data)} if self.sized else {}

    def json(self, number: int) -> dict[str, Any]:
        """The field of a message that carries it, and its value; ``number`` names the file."""
        if self.kind not in _ALWAYS:
            return {self.kind: dict(self.about)}
        ids: dict[str, Any] = {"file_id": f"file-{number}", "file_unique_id": f"unique-{number}", **self.size}
        if self.kind == "photo":  # in several sizes, the original last; nothing tells its name or type
            small = {"file_id": f"thumb-{number}", "file_unique_id": f"small-{number}", "file_size": 900}
            return {"photo": [{**small, **_PICTURE}, {**ids, **_PICTURE}]}
        known = {"file_name": self.name, "mime_type": self.media}
        named = {key: value for key, value in known.items() if value and self.kind not in ("sticker", "video_note")}
        body: dict[str, Any] = {self.kind: {**ids, **_ALWAYS[self.kind], **named}}
        # Older clients know no animations, so each comes as a document as well.
        return body | ({"document": {**ids, **named}} if self.kind == "animation" else {})


class Files:
    """All that was sent, and the paths under which the bot may load it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._sent: dict[str, Sent] = {}
        self._paths: dict[str, tuple[Sent, float]] = {}
        """With the time, by the simulator's clock, at which each is good no more."""

    def keep(self, sent: Sent) -> int:
        """Take something in; its number."""
        number = next(self._numbers)
        self._sent[f"file-{number}"] = sent
        return number

    def forget(self) -> None:
        """Lose all files, as when they are too old."""
        self._sent.clear()

    def path_of(self, file_id: str) -> dict[str, Any]:
        """As the Bot API's ``File``. Raises `Refusal`."""
        sent = self._sent.get(file_id)
        if sent is None:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if len(sent.data) > LARGEST:
            raise bad("file is too big")
        path = f"{sent.kind}s/{file_id}"
        self._paths[path] = (sent, self._clock.now() + PATH_LIFE)
        return {"file_id": file_id, "file_unique_id": file_id, **sent.size, "file_path": path}

    def read(self, path: str) -> bytes:
        """The content under a path. Raises `Refusal`."""
        sent, until = self._paths.get(path, (None, 0.0))
        if sent is None or self._clock.now() > until:
            raise Refusal(404, "Not Found")
        return sent.data
