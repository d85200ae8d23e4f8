"""Telegram, through python-telegram-bot."""

from clawdbot.chat import Plugin
from clawdbot_telegram.account import account
from clawdbot_telegram.adapter import TelegramAdapter
from clawdbot_telegram.settings import TelegramSettings

plugin = Plugin(
    settings=TelegramSettings, build=TelegramAdapter, check_token=TelegramSettings.read_token, account=account
)

__all__ = ["TelegramAdapter", "TelegramSettings", "plugin"]
