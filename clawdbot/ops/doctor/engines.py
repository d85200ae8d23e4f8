"""The engines: what those in the bot need of this machine, and whether those elsewhere can be reached."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import psutil

from clawdbot.engine.arguments import DEFAULTS_CUDA
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.several import SHARE
from clawdbot.engine.survey import Package, Survey
from clawdbot.ops.doctor import install, leftovers, machine
from clawdbot.ops.doctor.finding import Check, Finding, check, ok
from clawdbot.ops.doctor.model import dtype_of, folder_of, model, weights_of
from clawdbot.ops.doctor.servers import servers
from clawdbot.ops.gauges import Gpu

CACHE = "VLLM_CPU_KVCACHE_SPACE"
"""The environment variable that names the size of the KV cache on a CPU, in GiB."""

Engines = Mapping[str, EngineSettings]
"""By the names of their tables in the configuration."""


def of_engines(
    engines: Engines,
    environ: Mapping[str, str],
    installed: Package | None,
    survey: Callable[[], Survey],
    gpus: Sequence[Gpu],
    holder: int | None,
    *,
    online: bool,
) -> list[Check]:
    """All about them. ``holder``: the process of a bot that runs already; ``gpus``: those of this machine."""
    local = {table: engine for table, engine in engines.items() if engine.kind == "vllm"}
    checks = []
    if local:
        checks += of_vllm(local, installed, survey)
        checks += _of_machine(local, environ, installed, gpus, holder)
        for table, engine in local.items():
            about = _of("model", table, engines)
            checks.append(Check(about, partial(model, about, engine.model, environ, online, table)))
    for table, engine in engines.items():
        if engine.kind == "remote" and online:
            checks += servers(engine.remote, _of("server", table, engines), f"{table}.remote")
    return checks


def of_vllm(local: Engines, installed: Package | None, survey: Callable[[], Survey]) -> list[Check]:
    """Whether it is there, and knows what is asked of it."""
    version = check("vllm version", install.vllm_version, installed.version if installed else None)
    chosen = {table: engine.args for table, engine in local.items()}
    return [version, check("vllm", install.vllm_works, survey, chosen)] if installed else [version]


def _of(what: str, table: str, engines: Engines) -> str:
    """What a check is about; where there are several models, of which."""
    return what if len(engines) == 1 else f"{table} {what}"


def _of_machine(
    local: Engines, environ: Mapping[str, str], installed: Package | None, gpus: Sequence[Gpu], holder: int | None
) -> list[Check]:
    for_cpu = installed is not None and installed.for_cpu
    used = () if for_cpu else gpus
    wanted = dict.fromkeys(engine.device for engine in local.values())
    return [
        *(check("device", machine.device, device, gpus, machine.read_cpu(), for_cpu) for device in wanted),
        check("memory", _memory, [*local.values()], used, environ, holder),
        check("leftovers", lambda about: leftovers.leftovers(about, leftovers.running(), set(psutil.pids()))),
    ]


def _memory(
    about: str, local: Sequence[EngineSettings], gpus: Sequence[Gpu], environ: Mapping[str, str], holder: int | None
) -> Finding:
    """Whether all of them find room beside each other."""
    if holder is not None:
        return ok(about, "A running bot has the model in memory.")
    needs = [_need(engine, environ, on_cpu=not gpus) for engine in local]
    if not gpus:
        return machine.memory(about, machine.together(needs), psutil.virtual_memory().available, "memory")
    widest = max(int(engine.args.get("tensor_parallel_size", 1)) for engine in local)
    share = sum(float(engine.args.get(SHARE, DEFAULTS_CUDA[SHARE])) for engine in local)
    return machine.gpu_memory(about, machine.together(needs), gpus[:widest], share)


def _need(engine: EngineSettings, environ: Mapping[str, str], *, on_cpu: bool) -> machine.Need:
    folder = folder_of(engine.model, environ)
    files, dtype = (weights_of(folder), dtype_of(folder)) if folder else (None, "")
    return machine.need_of(files, dtype, engine, on_cpu=on_cpu, cache=float(environ.get(CACHE, "1")))
