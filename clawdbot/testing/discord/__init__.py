"""A Discord on this machine: gateway and REST for an unmodified discord.py, and a person's side to play."""

from clawdbot.testing.discord.harness import DiscordHarness
from clawdbot.testing.discord.records import Call, Channel, Interaction, Post, Shown, User
from clawdbot.testing.discord.server import SimDiscord
from clawdbot.testing.discord.windows import Rates

__all__ = ["Call", "Channel", "DiscordHarness", "Interaction", "Post", "Rates", "Shown", "SimDiscord", "User"]
