"""What the machine is doing, as numbers; `clawdbot.ops.meter` reads them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that the bot's processes use."""

    name: str
    busy: float
    """Share of the driver's last sample period (up to a second) in which a kernel ran, 0 to 1."""
    memory_used: int
    """Bytes, by all programs together."""
    memory_total: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """One reading."""

    gpus: tuple[Gpu, ...]
    """Those that the bot's processes use, or all when that cannot be told (in a container); empty without a driver."""
    cpu: float
    """Cores that the bot and its child processes kept busy since the reading before (1.5 is one and a half)."""
    memory: int
    """Bytes of memory that they hold (resident)."""
