"""ClawdBot: a self-hosted chat bot that shows the first word of an answer as early as the platform allows."""

__version__ = "0.1.0"
