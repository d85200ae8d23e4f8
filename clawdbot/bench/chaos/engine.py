"""``python -m clawdbot.bench.chaos.engine``: the child process of a bot with a scripted engine.

It does nothing but live as vLLM's processes do: no longer than the bot.
"""

import sys
import threading

from clawdbot.engine.process import follow_parent

READY = "ready"


def main() -> None:
    """Say that the process follows its bot, then wait to be ended."""
    follow_parent()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
