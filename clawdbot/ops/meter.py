"""Reads what the machine is doing: GPU use and memory through NVML, CPU and memory of the bot's own processes."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator

import psutil
import pynvml

from clawdbot.clock import Clock
from clawdbot.ops.gauges import Gauges, Gpu

# Seconds that CPU use is measured over at least, since the system counts it in ticks of 10 ms: a reading that comes
# sooner after another repeats its figure.
SHORTEST = 1.0


class Meter:
    """Reads the gauges, remembering CPU times from one reading to the next; the first reading covers all time before.

    A reading takes some milliseconds, so call it in a thread; several at once are safe. ``pid`` is the bot's process;
    its children count too.
    """

    def __init__(
        self, pid: int, clock: Clock, read_gpus: Callable[[Collection[int]], tuple[Gpu, ...]] | None = None
    ) -> None:
        self._clock = clock
        self._read_gpus = read_gpus or read_nvml
        self._process = psutil.Process(pid)
        self._lock = threading.Lock()
        self._since = clock.now() - (clock.wall() - self._process.create_time())
        self._used: dict[psutil.Process, float] = {}
        self._cpu = 0.0

    def read(self) -> Gauges:
        """The gauges now. Never raises: what cannot be read counts as nothing."""
        with self._lock:
            used, memory = _usage(self._process)
            seconds = self._clock.now() - self._since
            if seconds >= SHORTEST:
                self._cpu = sum(total - self._used.get(process, 0.0) for process, total in used.items()) / seconds
                self._used, self._since = used, self._since + seconds
            cpu = self._cpu
        return Gauges(self._read_gpus([process.pid for process in used]), cpu, memory)


def _usage(root: psutil.Process) -> tuple[dict[psutil.Process, float], int]:
    """CPU seconds so far of each process of a tree, and the bytes of memory of all."""
    used: dict[psutil.Process, float] = {}
    memory = 0
    processes = [root]
    with contextlib.suppress(psutil.Error):
        processes += root.children(recursive=True)
    for process in processes:
        # A process that ends meanwhile leaves the sum.
        with contextlib.suppress(psutil.Error), process.oneshot():
            times = process.cpu_times()
            memory += process.memory_info().rss
            used[process] = times.user + times.system
    return used, memory


def read_nvml(pids: Collection[int]) -> tuple[Gpu, ...]:
    """The GPUs that one of these processes uses; all when none is seen to (in a container); none without a driver."""
    found: list[Gpu] = []
    ours: list[Gpu] = []
    with contextlib.suppress(pynvml.NVMLError), _nvml():
        for index in range(pynvml.nvmlDeviceGetCount()):
            with contextlib.suppress(pynvml.NVMLError):
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                found.append(_gpu(handle))
                if any(process.pid in pids for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)):
                    ours.append(found[-1])
    return tuple(ours or found)


def _gpu(handle: object) -> Gpu:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    busy = pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
    return Gpu(pynvml.nvmlDeviceGetName(handle), busy, memory.used, memory.total)


@contextlib.contextmanager
def _nvml() -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()
