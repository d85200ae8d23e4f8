"""``clawdbot bench``: the commands that measure, each with a module that has its options and its tables."""

import logging

import typer

from clawdbot.bench.chaos.cli import chaos
from clawdbot.bench.delivery.cli import delivery
from clawdbot.bench.engine.cli import overhead, stop, turns, warmth
from clawdbot.bench.engine.policies_cli import load, ttft
from clawdbot.bench.engine.remote_cli import remote
from clawdbot.bench.report.cli import report
from clawdbot.bench.scale.cli import scale

bench = typer.Typer(no_args_is_help=True, help="Measure this machine, its engine and the bot.")

for measure in (load, ttft, turns, warmth, overhead, stop, remote, chaos, report, delivery, scale):
    bench.command()(measure)


@bench.callback()
def _quiet() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
