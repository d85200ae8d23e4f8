"""A simulated Telegram: the Bot API over real HTTP with its limits and whims, and people who write to the bot."""

from clawdbot.testing.telegram.files import Sent
from clawdbot.testing.telegram.harness import TelegramHarness
from clawdbot.testing.telegram.rules import Allowance
from clawdbot.testing.telegram.server import Call, Verdict
from clawdbot.testing.telegram.sim import SimTelegram
from clawdbot.testing.telegram.world import DRAFT_LIFE, Button, Chat, Draft, Entity, Kind, Look, Shown, User

__all__ = [
    "DRAFT_LIFE",
    "Allowance",
    "Button",
    "Call",
    "Chat",
    "Draft",
    "Entity",
    "Kind",
    "Look",
    "Sent",
    "Shown",
    "SimTelegram",
    "TelegramHarness",
    "User",
    "Verdict",
]
