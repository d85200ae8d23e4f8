"""Telegram, through python-telegram-bot."""

from clawdbot.chat import Plugin
from clawdbot_telegram.adapter import TelegramAdapter
from clawdbot_telegram.settings import TelegramSettings

plugin = Plugin(settings=TelegramSettings, build=TelegramAdapter)

__all__ = ["TelegramAdapter", "TelegramSettings", "plugin"]
