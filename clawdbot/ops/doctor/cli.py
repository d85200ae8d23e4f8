"""``clawdbot doctor``: makes the checks, prints a line for each, writes the same as data."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import typer

from clawdbot import plugins
from clawdbot.bench import report
from clawdbot.clock import SystemClock
from clawdbot.config import Settings
from clawdbot.engine.host import OpenEngine
from clawdbot.latency import Timing, stages
from clawdbot.ops.doctor import configuration
from clawdbot.ops.doctor.checks import checks_of
from clawdbot.ops.doctor.finding import Finding, Level, examine, warn
from clawdbot.ops.doctor.probe import ABOUT, probe
from clawdbot.ops.meter import read_nvml
from clawdbot.ops.redaction import Redactor, secrets_of
from clawdbot.store import beside

SURFACE = "console"
"""The platform that the probe is asked on."""


def diagnose(
    config_file: Path | None,
    json_file: Path | None,
    environ: Mapping[str, str],
    open_engine: Callable[[Settings], OpenEngine] | None,
    *,
    online: bool,
) -> bool:
    """Make all checks, and one probe where ``open_engine`` is given; whether nothing has to be mended.

    ``environ`` holds the tokens; what is started here inherits them only where the process still has them. Raises
    `ConfigError` when ``json_file`` cannot be written.
    """
    started_at, clock = datetime.now(UTC), SystemClock()
    found = configuration.read(config_file, environ)
    redact = Redactor(secrets_of(found.settings, environ))

    def show(finding: Finding) -> None:
        _show(finding.without(redact))

    checks = checks_of(found, environ, clock.wall(), online=online)
    findings = asyncio.run(examine(checks, show))
    timing = None
    if open_engine is not None:
        finding, timing = _probe(found.settings, findings, open_engine)
        show(finding)
        findings.append(finding)
    numbers = {level: sum(finding.level is level for finding in findings) for level in Level}
    typer.echo(", ".join(f"{number} {level}" for level, number in numbers.items()))
    if json_file is not None:
        gpus = read_nvml(())
        facts = {
            "findings": [finding.without(redact).to_map() for finding in findings],
            "latency": _milliseconds(timing),
        }
        report.write(json_file, report.origin(started_at, gpus[0].name if gpus else None) | facts)
    return not numbers[Level.FAIL]


def _show(finding: Finding) -> None:
    colour = {Level.OK: None, Level.WARN: "yellow", Level.FAIL: "red"}[finding.level]
    typer.secho(finding.line, fg=colour)


def _probe(
    settings: Settings | None, findings: list[Finding], open_engine: Callable[[Settings], OpenEngine]
) -> tuple[Finding, Timing | None]:
    """What the probe finds; it is left out where it could not work or would do harm."""
    if settings is None or any(finding.level is Level.FAIL for finding in findings):
        return warn(ABOUT, "Not measured.", "Mend what failed above, then ask again."), None
    if beside.holder(settings.store.path) is not None:
        told = "Not measured: a bot is running, and a second engine would take its memory."
        return warn(ABOUT, told, "Ask the running bot: /latency; or end it first."), None
    build = partial(plugins.build_one, SURFACE, known=plugins.installed())
    return asyncio.run(probe(settings, open_engine(settings), build, SystemClock()))


def _milliseconds(timing: Timing | None) -> Mapping[str, float] | None:
    return None if timing is None else {name: round(seconds * 1000, 3) for name, seconds in stages(timing)}
