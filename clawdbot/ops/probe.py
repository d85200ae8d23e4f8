"""``python -m clawdbot.ops.probe``: asks a bot whether it is alive, as a container's health check does.

The bot is the one whose settings are found as ``clawdbot run`` finds them. Exit code 0: it is, or its settings say that
it serves no such thing; 1: it is not.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException

from clawdbot.errors import ConfigError
from clawdbot.settings import config
from clawdbot.settings.config import OpsSettings

PATIENCE = 5.0
"""Seconds that an answer may take."""


def alive(settings: OpsSettings) -> bool:
    """Whether the bot that was started with ``settings`` answers."""
    # Whatever it is bound to, it is asked from its own machine.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    connection = HTTPConnection(host, settings.port, timeout=PATIENCE)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def main() -> int:
    """Ask, and say in a sentence what came of it; the exit code."""
    try:
        settings = config.load(None, os.environ).ops
    except ConfigError as error:
        said, code = str(error), 1
    else:
        if not settings.enabled:
            said, code = "[ops] is not enabled: there is nothing to ask.", 0
        elif alive(settings):
            said, code = "alive", 0
        else:
            said, code = f"No answer from {settings.host}, port {settings.port}.", 1
    sys.stdout.write(f"{said}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
