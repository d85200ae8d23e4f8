"""``clawdbot`` and ``python -m clawdbot``."""

import sys


def main() -> None:
    """Run the command line. Its libraries take a second or two to import, in which it can be left as well."""
    try:
        from clawdbot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
