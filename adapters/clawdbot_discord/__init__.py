"""ClawdBot on Discord."""

from clawdbot.chat import Plugin
from clawdbot_discord.account import account
from clawdbot_discord.adapter import DiscordAdapter
from clawdbot_discord.settings import DiscordSettings

__all__ = ["DiscordAdapter", "DiscordSettings", "plugin"]

plugin = Plugin(settings=DiscordSettings, build=DiscordAdapter, check_token=DiscordSettings.read_token, account=account)
