"""What vLLM is started with: the admin's choice, safe defaults for the device, no contradictions. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clawdbot.errors import ConfigError
from clawdbot.settings.faults import nearest

_STEP, _LONG = "max_num_batched_tokens", "long_prefill_token_threshold"

CPU_CONTEXT = 4096
"""Tokens of context on a CPU unless the configuration says otherwise: more makes prompts nobody wants to wait for."""

DEFAULTS_CPU: Mapping[str, Any] = {
    # bfloat16 is 4 to 5 times slower without AVX-512, and with it the demo model's answers were wrong.
    "dtype": "float32",
    # Compiling takes one to two minutes at the first start and gains about a fifth afterwards.
    "enforce_eager": True,
    # A share of all RAM there, checked at start; 0.92, vLLM's own default, fails on a shared machine.
    "gpu_memory_utilization": 0.3,
    "max_num_seqs": 16,
    # vLLM's own 128 are read again at every turn, half of them on average: on two cores that is 0.1 s.
    "block_size": 32,
}
DEFAULTS_CUDA: Mapping[str, Any] = {"gpu_memory_utilization": 0.9}
DEFAULTS: Mapping[str, Any] = {"enable_chunked_prefill": True, "use_tqdm_on_load": False}


@dataclass(frozen=True, slots=True)
class Chunks:
    """How prompts are cut into steps; the smaller, the sooner a short prompt gets its turn beside a long one."""

    step: int
    """`max_num_batched_tokens`: the most tokens of one step."""
    long: int
    """`long_prefill_token_threshold`: the most tokens of a step for one long prompt; 0 is no bound."""


Profile = Literal["balanced", "snappy", "throughput"]

# Measured, see docs/benchmarks.md. Fewer than 128 tokens a step cost a CPU a third of its throughput.
CHUNKS_CPU: Mapping[Profile, Chunks] = {
    "balanced": Chunks(160, 80),
    "snappy": Chunks(160, 40),
    "throughput": Chunks(512, 0),
}
CHUNKS_CUDA: Mapping[Profile, Chunks] = {
    "balanced": Chunks(2048, 960),
    "snappy": Chunks(2048, 512),
    "throughput": Chunks(8192, 0),
}

# A step that mixes reading and writing costs about 17 ms of host time unless its size has a CUDA graph, and vLLM
# captures none above 512 tokens by itself. The sizes between are what a chunk and some running answers add up to.
GRAPH_SIZES = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16), 576, 640, 768, 1024, 1088, 1280, 1536, 2048)


def check_names(args: Iterable[str], known: Iterable[str], at: str = "engine") -> None:
    """Raise `ConfigError` for names in the table ``at`` that this vLLM's ``AsyncEngineArgs`` does not know."""
    names = set(known)
    faults = [
        f"{at}.args.{name}: this vLLM's AsyncEngineArgs has no such argument; {nearest(name, names)}"
        for name in sorted(set(args) - names)
    ]
    if faults:
        raise ConfigError(f"[{at}.args]", *faults)


def complete(chosen: Mapping[str, Any], *, on_cpu: bool, limit: int, profile: Profile = "balanced") -> dict[str, Any]:
    """All arguments but the model: ``chosen`` by the admin, defaults for the rest that do not contradict them.

    ``limit``: the most tokens of context that the model was made for.
    """
    chunks = (CHUNKS_CPU if on_cpu else CHUNKS_CUDA)[profile]
    sizes = {_STEP: chunks.step, _LONG: chunks.long}
    merged = {**DEFAULTS, **(DEFAULTS_CPU if on_cpu else DEFAULTS_CUDA), **sizes, **chosen}
    if not on_cpu and profile != "throughput" and merged["enable_chunked_prefill"]:
        graphs = [size for size in GRAPH_SIZES if size <= merged[_STEP]]
        merged.setdefault("compilation_config", {"cudagraph_capture_sizes": graphs})
    if on_cpu:
        merged.setdefault("max_model_len", min(CPU_CONTEXT, limit))
    if not merged["enable_chunked_prefill"]:
        # One step then has to take the longest prompt whole, and a smaller bound for long prompts has no meaning.
        merged[_STEP] = max(merged.get("max_model_len", limit), chosen.get(_STEP, 0))
        merged[_LONG] = chosen.get(_LONG, 0)
    elif _LONG not in chosen:
        merged[_LONG] = min(merged[_LONG], merged[_STEP] // 2)
    if "max_num_seqs" in merged and "max_num_seqs" not in chosen:
        merged["max_num_seqs"] = min(merged["max_num_seqs"], merged[_STEP])
    return merged
