"""Whether a growing answer is shown as a draft."""

import logging

from clawdbot.chat import Drafts
from clawdbot_telegram.place import Place
from clawdbot_telegram.settings import TelegramSettings

logger = logging.getLogger(__name__)


class DraftMode:
    """Drafts, if they are wanted, until Telegram refuses one; from then on answers grow by edits, at their pace.

    A refusal holds for the whole bot as long as the process lives: trying again would cost every answer a call.
    """

    def __init__(self, settings: TelegramSettings) -> None:
        self._settings = settings
        self._on = settings.drafts

    def at(self, place: Place) -> Drafts | None:
        """How drafts are shown in ``place``: in private chats, for a question, whose number names the draft."""
        if not self._on or not place.private or not place.message:
            return None
        return self._settings.drafting(place.chat)

    def refused(self, why: str) -> None:
        """Show no more drafts."""
        if self._on:
            logger.warning("Telegram takes no drafts (%s); answers grow by edits from now on", why)
        self._on = False
