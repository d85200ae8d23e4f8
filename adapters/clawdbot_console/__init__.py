"""The console as a platform: whoever sits at it is owner and admin."""

from clawdbot.chat import Plugin
from clawdbot_console.adapter import ConsoleAdapter, ConsoleSettings

__all__ = ["ConsoleAdapter", "ConsoleSettings", "plugin"]

plugin = Plugin(settings=ConsoleSettings, build=ConsoleAdapter, owners=True)
