"""The configuration: is there one, is it right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from clawdbot import plugins
from clawdbot.chat import Plugin
from clawdbot.errors import ConfigError
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn
from clawdbot.settings import config
from clawdbot.settings.config import Settings

ABOUT = "configuration"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is known of it."""

    finding: Finding
    settings: Settings | None
    """None where it has faults: what depends on it cannot be looked at."""
    path: Path | None = None
    platforms: Mapping[str, tuple[Plugin, BaseModel]] = field(default_factory=dict)
    """Those that are enabled, with their own settings."""


def read(path: Path | None, environ: Mapping[str, str]) -> Configuration:
    """Read the file at ``path``, or the one that is meant when none is named."""
    path = path or config.find(environ)
    if path is None:
        told = "There is none: the defaults are looked at, with the demo model."
        remedy = "Copy config.example.toml to config.toml, or name another file with --config."
        return Configuration(warn(ABOUT, told, remedy), Settings())
    try:
        settings = config.load(path, environ)
        platforms = plugins.choose_all(settings, plugins.installed())
    except ConfigError as error:
        remedy = "config.example.toml shows every setting with its default."
        return Configuration(fail(ABOUT, f"{error.source}: {' '.join(error.faults)}", remedy), None, path)
    if not platforms:
        remedy = "Set enabled = true in a table such as [adapters.telegram]; until then there is clawdbot chat."
        return Configuration(warn(ABOUT, f"{path}: no platform is enabled.", remedy), settings, path)
    return Configuration(ok(ABOUT, f"{path}, for {', '.join(platforms)}."), settings, path, platforms)
