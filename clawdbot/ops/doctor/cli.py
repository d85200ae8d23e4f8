"""``clawdbot doctor``: makes the checks, prints a line for each, writes the same as data."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import typer

from clawdbot import plugins
from clawdbot.bench import output
from clawdbot.clock import SystemClock
from clawdbot.engine.host import OpenEngine
from clawdbot.latency.timing import Timing, stages
from clawdbot.ops.doctor import configuration
from clawdbot.ops.doctor.checks import checks_of
from clawdbot.ops.doctor.configuration import Configuration
from clawdbot.ops.doctor.finding import Finding, Level, examine, warn
from clawdbot.ops.doctor.probe import ABOUT, probe
from clawdbot.ops.logs import logged
from clawdbot.ops.meter import read_nvml
from clawdbot.ops.redaction import Redactor, secrets_of
from clawdbot.settings.config import Settings
from clawdbot.store import beside

SURFACE = "console"
"""The platform that the probe is asked on."""
COLOURS: Mapping[Level, str | None] = {Level.OK: None, Level.WARN: "yellow", Level.FAIL: "red"}


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
    started_at = datetime.now(UTC)
    found = configuration.read(config_file, environ)
    redact = Redactor(secrets_of(found.settings, environ))
    findings: list[Finding] = []

    def tell(finding: Finding) -> None:
        said = finding.without(redact)
        findings.append(said)
        typer.secho(said.line, fg=COLOURS[said.level])

    with logged("error", "text", redact):
        timing = asyncio.run(_look(found, environ, open_engine, tell, online=online))
    numbers = {level: sum(finding.level is level for finding in findings) for level in Level}
    typer.echo(", ".join(f"{number} {level}" for level, number in numbers.items()))
    if json_file is not None:
        gpus = read_nvml(())
        facts = {"findings": [finding.to_map() for finding in findings], "latency": _milliseconds(timing)}
        output.write(json_file, output.origin(started_at, gpus[0].name if gpus else None) | facts)
    return not numbers[Level.FAIL]


async def _look(
    found: Configuration,
    environ: Mapping[str, str],
    open_engine: Callable[[Settings], OpenEngine] | None,
    tell: Callable[[Finding], None],
    *,
    online: bool,
) -> Timing | None:
    findings = await examine(checks_of(found, environ, time.time(), online=online), tell)
    if open_engine is None:
        return None
    finding, timing = await _probe(found.settings, findings, open_engine)
    tell(finding)
    return timing


async def _probe(
    settings: Settings | None, findings: list[Finding], open_engine: Callable[[Settings], OpenEngine]
) -> tuple[Finding, Timing | None]:
    """What the probe finds; it is left out where it could not work or would do harm."""
    if settings is None or any(finding.level is Level.FAIL for finding in findings):
        return warn(ABOUT, "Not measured.", "Mend what failed above, then ask again."), None
    if beside.holder(settings.store.path) is not None:
        told = "Not measured: a bot is running, and a second engine would take its memory."
        return warn(ABOUT, told, "Ask the running bot: /latency; or end it first."), None
    build = partial(plugins.build_one, SURFACE, known=plugins.installed())
    return await probe(settings, open_engine(settings), build, SystemClock())


def _milliseconds(timing: Timing | None) -> Mapping[str, float] | None:
    return None if timing is None else {name: round(seconds * 1000, 3) for name, seconds in stages(timing)}
