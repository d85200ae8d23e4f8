"""The gauges read the machine as it is, whatever of it is there."""

import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pynvml
import pytest

from clawdbot.ops.gauges import Gpu
from clawdbot.ops.meter import SHORTEST, Meter, read_nvml
from clawdbot.testing.clock import ManualClock

BURN = "import time\nwhile time.process_time() < 0.2: pass\n"
HOLD = "data = bytearray(64 * 2**20)\n"
WAIT = "import sys\nprint('ready', flush=True)\nsys.stdin.read()"
NEST = "import subprocess, sys\nwith subprocess.Popen([sys.executable, '-c', {inner!r}]): pass"


@contextmanager
def python(code: str) -> Iterator[psutil.Process]:
    """A process that has run ``code`` and now waits."""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield psutil.Process(child.pid)
        child.communicate()


def no_gpus(pids: Collection[int]) -> tuple[Gpu, ...]:
    """A machine without GPUs."""
    return ()


def seconds_used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def test_cpu_is_measured_from_one_reading_to_the_next() -> None:
    """The first reading covers the process's whole life, the next only what came since."""
    with python(BURN + WAIT) as process:
        clock = ManualClock(epoch=process.create_time() + 2.0)
        meter = Meter(process.pid, clock, no_gpus)
        first = meter.read().cpu
        await clock.advance(10)
        second = meter.read().cpu
        expected = seconds_used(process) / 2.0
    assert first == pytest.approx(expected, abs=0.02)
    assert second == pytest.approx(0.0, abs=0.02)


async def test_a_reading_soon_after_another_repeats_its_cpu_figure() -> None:
    """Over a moment the system's ticks of 10 ms would make any figure."""
    with python(BURN + WAIT) as process:
        clock = ManualClock(epoch=process.create_time() + 2.0)
        meter = Meter(process.pid, clock, no_gpus)
        first = meter.read().cpu
        await clock.advance(SHORTEST / 2)
        second = meter.read().cpu
    assert first == second > 0.05


def test_child_processes_count() -> None:
    """The model lives in a child process: the bot's own memory and CPU alone would say nothing."""
    with python(NEST.format(inner=BURN + HOLD + WAIT)) as process:
        reading = Meter(process.pid, ManualClock(epoch=process.create_time() + 2.0), no_gpus).read()
    assert reading.memory > 64 * 2**20
    assert reading.cpu > 0.1


def test_a_process_that_is_gone_counts_as_nothing() -> None:
    """The report is asked for just when things go wrong: a reading never raises."""
    with python(WAIT) as process:
        meter = Meter(process.pid, ManualClock(epoch=process.create_time() + 2.0), no_gpus)
    reading = meter.read()
    assert (reading.cpu, reading.memory) == (0.0, 0)


class Driver:
    """NVML as a machine with some GPUs has it: each with a name, its use in percent and the ids of its processes."""

    def __init__(self, *gpus: tuple[str, int, list[int]]) -> None:
        self._gpus = gpus
        self.open = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Stand in for the library."""
        calls: dict[str, Callable[..., object]] = {
            "nvmlInit": lambda: self._opened(+1),
            "nvmlShutdown": lambda: self._opened(-1),
            "nvmlDeviceGetCount": lambda: len(self._gpus),
            "nvmlDeviceGetHandleByIndex": lambda index: self._gpus[index],
            "nvmlDeviceGetName": lambda gpu: gpu[0],
            "nvmlDeviceGetUtilizationRates": self._rates,
            "nvmlDeviceGetMemoryInfo": lambda gpu: SimpleNamespace(used=2**30, total=2**37),
            "nvmlDeviceGetComputeRunningProcesses": lambda gpu: [SimpleNamespace(pid=pid) for pid in gpu[2]],
        }
        for name, call in calls.items():
            patch.setattr(pynvml, name, call)

    def _opened(self, change: int) -> None:
        self.open += change

    def _rates(self, gpu: tuple[str, int, list[int]]) -> SimpleNamespace:
        if gpu[1] < 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return SimpleNamespace(gpu=gpu[1])


def test_the_gpu_that_the_bot_uses_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a shared host the other GPUs are other people's."""
    driver = Driver(("A", 10, [1, 2]), ("B", 90, [7]))
    driver.install(monkeypatch)
    assert read_nvml([7, 8]) == (Gpu("B", 0.9, 2**30, 2**37),)


def test_all_gpus_are_shown_when_nobody_knows_which_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the driver's process ids are the host's."""
    driver = Driver(("A", 10, [1, 2]), ("B", 90, []))
    driver.install(monkeypatch)
    assert [gpu.name for gpu in read_nvml([7, 8])] == ["A", "B"]


def test_a_gpu_that_tells_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some devices do not support every question; the others are still read, and the library is closed."""
    driver = Driver(("A", -1, [7]), ("B", 90, []))
    driver.install(monkeypatch)
    assert [gpu.name for gpu in read_nvml([7])] == ["B"]
    assert driver.open == 0


def test_no_driver_means_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without NVIDIA's library is the usual one for a first try."""

    def no_library() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_library)
    assert read_nvml([7]) == ()
