"""Which checks there are, for a configuration and this machine."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.several import table_of
from clawdbot.engine.survey import package, survey
from clawdbot.errors import StoreError
from clawdbot.ops.doctor import database, install, listening, openness, platforms
from clawdbot.ops.doctor.configuration import Configuration
from clawdbot.ops.doctor.engines import of_engines, of_vllm
from clawdbot.ops.doctor.finding import Check, check
from clawdbot.ops.meter import read_nvml
from clawdbot.people.access import NOBODY
from clawdbot.settings.config import OpsSettings, Settings
from clawdbot.store import beside
from clawdbot.store.beside import Facts


def checks_of(found: Configuration, environ: Mapping[str, str], now: float, *, online: bool) -> list[Check]:
    """All that there is to look at, in the order in which it is told.

    Without ``online`` nobody outside this machine is asked. ``now``: seconds since the epoch.
    """
    checks = [
        check("python", install.python, sys.version_info[:3]),
        check(found.finding.about, lambda about: found.finding),
    ]
    settings = found.settings
    if settings is None:
        return [*checks, *of_vllm({}, package(), survey)]
    path = settings.store.path
    holder = beside.holder(path)
    return [
        *checks,
        *of_engines(_tables(settings), environ, package(), survey, read_nvml(()), holder, online=online),
        check("database", database.database, path, now),
        check("disk", database.disk, path),
        check("bot", database.in_use, path, holder),
        *_of_people(found, settings, _facts(path, now)),
        *_of_server(found, settings.ops, holder),
        *_of_platforms(found, online=online),
    ]


def _tables(settings: Settings) -> dict[str, EngineSettings]:
    return {"engine": settings.engine, **{table_of(name): engine for name, engine in settings.models.items()}}


def _facts(path: Path, now: float) -> Facts:
    """What the database tells about people; nothing where it cannot be read, which is a finding of its own."""
    try:
        return beside.facts(path, now)
    except StoreError:
        return Facts(0, {}, 0)


def _of_people(found: Configuration, settings: Settings, facts: Facts) -> list[Check]:
    def rulings(platform: str) -> Mapping[object, int]:
        return {ruling: number for (on, ruling), number in facts.rulings.items() if on == platform}

    def moved(platform: str) -> Mapping[int, int]:
        return {old: now for (on, old), now in facts.moved.items() if on == platform}

    allowed = {name: settings.access.get(name, NOBODY) for name in found.platforms}
    open_to_places = any(getattr(one, place) for one in allowed.values() for place in openness.PLACES)
    path = settings.store.path
    private = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    token_files = (settings.ops.token_file, *(table.token_file for table in settings.adapters.values()))
    private += [file for file in token_files if file is not None]
    return [
        *(
            check(f"access.{name}", openness.access, one, rulings(name), found.platforms[name][0].owners)
            for name, one in allowed.items()
        ),
        *(
            check(f"access.{name} chats", openness.chats, one, moved(name))
            for name, one in allowed.items()
            if one.chats
        ),
        check("access.quota", openness.quota, settings.quota, open_to_places),
        check("codes", openness.codes, facts.codes),
        check("files", openness.files, private, found.path),
    ]


def _of_server(found: Configuration, ops: OpsSettings, holder: int | None) -> list[Check]:
    """About the bot's own web server; a bot that runs (``holder``) has its port itself."""
    served = ops.enabled or any(plugin.hosted for plugin, _ in found.platforms.values())
    checks = [check("ops", openness.address, ops if served else None)]
    if served and holder is None:
        checks.append(check("ops port", listening.free, ops))
    return checks


def _of_platforms(found: Configuration, *, online: bool) -> list[Check]:
    checks: list[Check] = []
    for name, (plugin, settings) in found.platforms.items():
        if plugin.check_token is not None:
            checks.append(check(f"{name} token", platforms.token, plugin.check_token, settings))
        if online and plugin.account is not None:
            checks.append(Check(name, partial(platforms.account, name, plugin.account, settings)))
    return checks
