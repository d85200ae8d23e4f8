"""The ways to run an engine that the benches compare (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clawdbot.engine.arguments import Profile

LARGE_GPU = 70 * 2**30
"""Bytes of memory from which on vLLM takes a GPU for an H100 or better."""


class Policy(StrEnum):
    """How prompts are let into the engine's steps."""

    OFF = "off"
    """Chunked prefill off: a step takes whole prompts, as many as fit into the context."""
    ON = "on"
    """Chunked prefill on, with the step budget that `vllm serve` takes, and nothing else."""
    FIRST_TOKEN_FIRST = "first-token-first"
    """The bot's own: a small part of each step for a long prompt, one of which is read at a time."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the comparison depends on."""

    gpu_memory: int
    """Bytes of the first GPU, 0 without one."""

    @property
    def has_gpu(self) -> bool:
        """Whether the engine runs on a GPU."""
        return self.gpu_memory > 0

    @property
    def served(self) -> Mapping[str, Any]:
        """What `vllm serve` takes by itself; an engine that is opened in Python gets less on a large GPU."""
        if self.gpu_memory >= LARGE_GPU:
            return {"max_num_batched_tokens": 8192, "max_num_seqs": 1024}
        if self.has_gpu:
            return {"max_num_batched_tokens": 2048, "max_num_seqs": 256}
        # More running answers than the bot's own default would only divide the same memory.
        return {"max_num_batched_tokens": 2048}

    @property
    def context(self) -> int:
        """The context to measure with: room for the longest prompt of the machine's own trace."""
        return 16_384 if self.has_gpu else 4096


@dataclass(frozen=True, slots=True)
class Start:
    """What an engine is started with for one policy."""

    args: Mapping[str, Any]
    profile: Profile


def start(policy: Policy, machine: Machine, profile: Profile) -> Start:
    """How to start the engine; ``profile`` is for the bot's own policy, the other two are vLLM's."""
    context = {"max_model_len": machine.context}
    match policy:
        case Policy.OFF:
            return Start({**context, **machine.served, "enable_chunked_prefill": False}, "throughput")
        case Policy.ON:
            return Start({**context, **machine.served, "long_prefill_token_threshold": 0}, "throughput")
        case Policy.FIRST_TOKEN_FIRST:
            return Start(context, profile)
