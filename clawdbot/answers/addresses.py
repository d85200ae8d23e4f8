"""Where the answers of earlier messages, and of earlier runs of the bot, go."""

from collections.abc import Mapping

from clawdbot.chat import Adapter, Reply
from clawdbot.errors import DeliveryError
from clawdbot.store import Unfinished


class Addresses:
    """Finds the way back to a conversation, as long as its platform is served."""

    def __init__(self) -> None:
        self._adapters: Mapping[str, Adapter] = {}
        """Those that serve, by the name of their platform."""

    def serve(self, adapters: Mapping[str, Adapter]) -> None:
        """From now on these are the platforms."""
        self._adapters = adapters

    def serves(self, platform: str) -> bool:
        """Whether a platform is among them."""
        return platform in self._adapters

    def reply(self, platform: str, ref: str) -> Reply | None:
        """Where that leads, if the platform is served and knows it."""
        adapter = self._adapters.get(platform)
        try:
            return adapter.reply(ref) if adapter else None
        except (DeliveryError, ValueError):  # or a ref that another version of the adapter has made
            return None

    def reply_to(self, left: Unfinished) -> Reply | None:
        """Where the answer to an earlier question goes."""
        return self.reply(left.question.message.conversation.platform, left.question.reply_ref)
