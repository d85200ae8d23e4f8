"""Which checks there are, for a configuration and this machine."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil

from clawdbot.access import NOBODY
from clawdbot.config import Settings
from clawdbot.engine.arguments import DEFAULTS_CUDA
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.survey import package, survey
from clawdbot.errors import StoreError
from clawdbot.ops.doctor import database, install, leftovers, machine, openness, platforms
from clawdbot.ops.doctor.configuration import Configuration
from clawdbot.ops.doctor.finding import Check, Finding, check, ok
from clawdbot.ops.doctor.model import dtype_of, folder_of, model, weights_of
from clawdbot.ops.doctor.servers import servers
from clawdbot.ops.gauges import Gpu
from clawdbot.ops.meter import read_nvml
from clawdbot.store import beside
from clawdbot.store.beside import Facts

CACHE = "VLLM_CPU_KVCACHE_SPACE"
"""The environment variable that names the size of the KV cache on a CPU, in GiB."""


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
        return [*checks, *_of_vllm({})]
    path = settings.store.path
    holder = beside.holder(path)
    return [
        *checks,
        *_of_engine(settings.engine, environ, holder, online=online),
        check("database", database.database, path, now),
        check("disk", database.disk, path),
        check("bot", database.in_use, path, holder),
        *_of_people(found, settings, _facts(path, now)),
        *_of_platforms(found, online=online),
    ]


def _of_engine(
    engine: EngineSettings, environ: Mapping[str, str], holder: int | None, *, online: bool
) -> Sequence[Check]:
    if engine.kind == "remote":
        return servers(engine.remote) if online else ()
    return [
        *_of_vllm(engine.args),
        *_of_machine(engine, environ, holder),
        Check("model", lambda: model("model", engine.model, environ, online)),
    ]


def _of_vllm(chosen: Mapping[str, object]) -> list[Check]:
    installed = package()
    version = check("vllm version", install.vllm_version, installed.version if installed else None)
    return [version, check("vllm", install.vllm_works, survey, chosen)] if installed else [version]


def _of_machine(engine: EngineSettings, environ: Mapping[str, str], holder: int | None) -> list[Check]:
    installed, gpus = package(), read_nvml(())
    for_cpu = installed is not None and installed.for_cpu
    on_cpu = for_cpu or not gpus
    return [
        check("device", machine.device, engine.device, gpus, machine.read_cpu(), for_cpu),
        check("memory", _memory, engine, () if on_cpu else gpus, environ, holder),
        check("leftovers", lambda about: leftovers.leftovers(about, leftovers.running(), set(psutil.pids()))),
    ]


def _memory(
    about: str, engine: EngineSettings, gpus: Sequence[Gpu], environ: Mapping[str, str], holder: int | None
) -> Finding:
    if holder is not None:
        return ok(about, "A running bot has the model in memory.")
    folder = folder_of(engine.model, environ)
    files, dtype = (weights_of(folder), dtype_of(folder)) if folder else (None, "")
    need = machine.need_of(files, dtype, engine, on_cpu=not gpus, cache=float(environ.get(CACHE, "1")))
    if not gpus:
        return machine.memory(about, need, psutil.virtual_memory().available, "memory")
    used = gpus[: int(engine.args.get("tensor_parallel_size", 1))]
    share = float(engine.args.get("gpu_memory_utilization", DEFAULTS_CUDA["gpu_memory_utilization"]))
    return machine.gpu_memory(about, need, used, share)


def _facts(path: Path, now: float) -> Facts:
    """What the database tells about people; nothing where it cannot be read, which is a finding of its own."""
    try:
        return beside.facts(path, now)
    except StoreError:
        return Facts(0, {}, 0)


def _of_people(found: Configuration, settings: Settings, facts: Facts) -> list[Check]:
    def rulings(platform: str) -> Mapping[object, int]:
        return {ruling: number for (on, ruling), number in facts.rulings.items() if on == platform}

    allowed = {name: settings.access.get(name, NOBODY) for name in found.platforms}
    open_to_places = any(getattr(one, place) for one in allowed.values() for place in openness.PLACES)
    path = settings.store.path
    private = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
    token_files = (settings.ops.token_file, *(table.token_file for table in settings.adapters.values()))
    private += [file for file in token_files if file is not None]
    return [
        *(check(f"access.{name}", openness.access, one, rulings(name)) for name, one in allowed.items()),
        check("access.quota", openness.quota, settings.quota, open_to_places),
        check("codes", openness.codes, facts.codes),
        check("files", openness.files, private, found.path),
        check("ops", openness.address, settings.ops),
    ]


def _of_platforms(found: Configuration, *, online: bool) -> list[Check]:
    checks: list[Check] = []
    for name, (plugin, settings) in found.platforms.items():
        if plugin.check_token is not None:
            checks.append(check(f"{name} token", platforms.token, plugin.check_token, settings))
        if online and plugin.account is not None:
            checks.append(Check(name, partial(platforms.account, name, plugin.account, settings)))
    return checks
