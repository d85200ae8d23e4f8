"""``python -m clawdbot``."""

from clawdbot.cli import main

if __name__ == "__main__":
    main()
