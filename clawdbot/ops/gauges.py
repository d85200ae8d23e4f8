"""What the machine is doing: GPU use and memory through NVML, else CPU and memory of the bot's own processes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that the bot's processes use."""

    name: str
    busy: float
    """Share of the last sample period in which a kernel ran, 0 to 1."""
    memory_used: int
    """Bytes, by all programs together."""
    memory_total: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """One reading."""

    gpus: tuple[Gpu, ...]
    """Empty where there is none, or no driver."""
    cpu: float
    """Cores that the bot and its child processes kept busy since the reading before (1.5 is one and a half)."""
    memory: int
    """Bytes of memory that they hold (resident)."""
