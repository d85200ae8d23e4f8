"""The bot's own page as a platform: whoever the web server lets in is owner and admin."""

from clawdbot.chat import Plugin
from clawdbot_web.adapter import WebAdapter, WebSettings

__all__ = ["WebAdapter", "WebSettings", "plugin"]

plugin = Plugin(settings=WebSettings, build=WebAdapter, owners=True, hosted=True)
