"""Runs ``clawdbot bench delivery`` for every pair of a pace and a length, with one chat and with eight.

``python tools/delivery_matrix.py FOLDER`` takes about a quarter of an hour on an idle machine, leaves a file of each
run in FOLDER and prints the table of docs/latency.md.
"""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

CHATS, TOKENS, RATES = (1, 8), (400, 1100), (40, 150)
ROUND_TRIP = 80
COLUMNS = ("chats", "tokens", "tokens/s", "where", "`tax`", "`staleness`", "`freeze` p95", "`finish_lag` p95")


def measured(chats: int, tokens: int, rate: int, folder: Path) -> dict[str, Any]:
    """What one run writes."""
    file = folder / f"delivery-{chats}x{tokens}-at-{rate}.json"
    options = {"rtt": ROUND_TRIP, "rate": rate, "tokens": tokens, "chats": chats, "rounds": 1, "platform": "all"}
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    subprocess.run([sys.executable, "-m", "clawdbot", "bench", "delivery", *given, "--json", str(file)], check=True)
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def rows(run: dict[str, Any]) -> list[str]:
    """A line of Markdown for each platform."""
    options = run["options"]
    first = [f"{options['chats']}", f"{options['tokens']:,}", f"{options['rate']:g}"]
    return [
        _line(
            *first,
            where,
            *(f"{one[name]['p50']:,.0f} ({one[f'ideal_{name}']['p50']:,.0f})" for name in ("tax", "staleness")),
            *(f"{one[name]['p95']:,.0f}" for name in ("freeze", "finish_lag")),
        )
        for where, one in run["platforms"].items()
    ]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main(folder: Path) -> None:
    """Run all of them."""
    runs = [measured(*chosen, folder) for chosen in product(CHATS, TOKENS, RATES)]
    table = [_line(*COLUMNS), _line(*["---"] * len(COLUMNS)), *(row for run in runs for row in rows(run))]
    sys.stdout.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
