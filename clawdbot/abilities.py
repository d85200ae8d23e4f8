"""What an adapter may be besides an `Adapter`, for whoever runs the bot. None has to be; the core asks each."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Connects(Protocol):
    """An adapter that knows whether its platform's people are heard; any other is taken to hear them while it runs."""

    @property
    def connected(self) -> bool:
        """Whether they are heard just now."""
        ...
