"""What comes with a message beside its text."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message. Its content stays on the platform until a `Fetching` brings it."""

    name: str
    """Chosen by whoever sent it: it may hold anything."""
    media: str
    """The media type that the platform names, such as "text/plain"; "" when it names none."""
    size: int
    """Bytes; 0 when the platform does not say."""
    ref: str
    """Names it for its adapter, after a restart too; can be stored."""
    text: str | None = None
    """What it says; None before it was read, and for a picture."""

    @property
    def is_picture(self) -> bool:
        """Whether it is to be looked at instead of read."""
        return self.media.startswith("image/") and "svg" not in self.media

    @property
    def is_recording(self) -> bool:
        """Whether it is sound or film."""
        return self.media.startswith(("audio/", "video/"))


@runtime_checkable
class Fetching(Protocol):
    """What a `clawdbot.chat.Reply` may be besides: one that brings what was attached to the message that it answers."""

    async def fetch(self, file: Attachment, most: int) -> bytes:
        """The content of ``file``; may be called again. Raises `DeliveryError`: `Gone` when it is there no more.

        Of a file that is longer than ``most`` bytes, whatever the platform has said, so many and one more will do: no
        more should be held in memory.
        """
        ...
