"""Runs ``clawdbot bench delivery`` for every pair of a pace and a length, with one chat and with eight.

``python tools/delivery_matrix.py FILE`` takes about a quarter of an hour on an idle machine, writes all figures to FILE
and prints the table of docs/latency.md.
"""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CHATS, TOKENS, RATES = (1, 8), (400, 1100), (40, 150)
ROUND_TRIP = 80
COLUMNS = ("chats", "tokens", "tokens/s", "where", "`tax`", "`staleness`", "`freeze` p95", "`finish_lag` p95")


def measured(chats: int, tokens: int, rate: int, folder: Path) -> dict[str, Any]:
    """What one run writes."""
    file = folder / "run.json"
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


def main(path: Path) -> None:
    """Run all of them."""
    runs: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for chats, tokens, rate in product(CHATS, TOKENS, RATES):
            runs.append(measured(chats, tokens, rate, Path(folder)))
            path.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")
    table = [_line(*COLUMNS), _line(*["---"] * len(COLUMNS)), *(row for run in runs for row in rows(run))]
    sys.stdout.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
