"""``clawdbot`` and ``python -m clawdbot``."""

import signal
import sys


def main() -> None:
    """Run the command line. Its libraries take a second or two to import, in which it can be left as well.

    A SIGHUP that comes before anybody deals with it stays pending: ``run`` reads its configuration again then.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        from clawdbot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
