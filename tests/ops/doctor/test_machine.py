"""The machine, and engines that nobody owns."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import psutil
import pytest

from clawdbot.engine.process import PARENT
from clawdbot.engine.settings import EngineSettings
from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.leftovers import Running, leftovers, running
from clawdbot.ops.doctor.machine import GIB, Cpu, Need, device, gpu_memory, memory, need_of, read_cpu, together
from clawdbot.ops.gauges import Gpu

GPU = Gpu("NVIDIA H200", 0.0, 2 * GIB, 140 * GIB)
GOOD = Cpu(8, frozenset({"avx2", "avx512f"}))


@pytest.mark.parametrize(
    ("wanted", "gpus", "cpu", "cpu_build", "level", "words"),
    [
        ("auto", [GPU, GPU], GOOD, False, Level.OK, "2 GPUs: NVIDIA H200 with 140.0 GiB, 2.0 GiB in use"),
        ("cuda", [GPU], GOOD, False, Level.OK, "1 GPU:"),
        ("cuda", [], GOOD, False, Level.FAIL, "no GPU"),
        ("auto", [GPU], GOOD, True, Level.WARN, "is not used"),
        ("cpu", [GPU], GOOD, True, Level.OK, "8 cores with AVX-512"),
        ("auto", [], Cpu(2, frozenset({"avx2"})), True, Level.OK, "without AVX-512"),
        ("auto", [], Cpu(2, frozenset({"sse"})), True, Level.FAIL, "without AVX2"),
        ("auto", [], Cpu(1, frozenset({"avx2"})), True, Level.WARN, "too few"),
        ("auto", [], Cpu(4, frozenset()), True, Level.OK, "CPU, 4 cores."),
    ],
)
def test_there_is_what_the_engine_runs_on(
    wanted: Literal["auto", "cpu", "cuda"], gpus: Sequence[Gpu], cpu: Cpu, cpu_build: bool, level: Level, words: str
) -> None:
    found = device("device", wanted, gpus, cpu, cpu_build)

    assert found.level is level
    assert words in found.text


def test_the_processor_is_read_from_the_system(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nflags\t\t: fpu avx2 avx512f\nprocessor : 1\n")

    assert read_cpu(cpuinfo).flags == {"fpu", "avx2", "avx512f"}
    assert read_cpu(tmp_path / "none") == Cpu(len(os.sched_getaffinity(0)), frozenset())


@pytest.mark.parametrize(
    ("weights", "level"),
    [(6 * GIB, Level.OK), (8 * GIB, Level.FAIL), (None, Level.OK)],
    ids=["fits", "too big", "unknown"],
)
def test_the_model_finds_room(weights: int | None, level: Level) -> None:
    found = memory("memory", Need(weights, 2 * GIB), 9 * GIB, "memory")

    assert found.level is level
    assert "9.0 GiB of memory" in found.text


@pytest.mark.parametrize(
    ("weights", "used", "level", "words"),
    [
        (100 * GIB, 2 * GIB, Level.OK, "126.0 GiB of GPU memory"),
        (100 * GIB, 20 * GIB, Level.FAIL, "only 120.0 GiB are free"),
        (130 * GIB, 2 * GIB, Level.FAIL, "needs about 131.0 GiB"),
    ],
    ids=["fits", "somebody else's", "too big"],
)
def test_a_gpu_has_the_share_that_vllm_takes(weights: int, used: int, level: Level, words: str) -> None:
    """Of what is free it would not take a byte more, and it refuses to start with less."""
    gpu = Gpu("NVIDIA H200", 0.0, used, 140 * GIB)

    found = gpu_memory("memory", Need(weights, GIB), [gpu], 0.9)
    assert found.level is level
    assert words in found.text


def test_weights_grow_where_they_are_loaded_in_a_wider_type() -> None:
    """On a CPU it is float32 unless the configuration says otherwise."""
    engine, narrow = EngineSettings(), EngineSettings(args={"dtype": "bfloat16"})

    assert need_of(GIB, "bfloat16", engine, on_cpu=True, cache=1.0) == Need(2 * GIB, 3 * GIB)
    assert need_of(GIB, "bfloat16", narrow, on_cpu=True, cache=1.0) == Need(GIB, 3 * GIB)
    assert need_of(GIB, "bfloat16", engine, on_cpu=False, cache=1.0) == Need(GIB, GIB)
    assert need_of(None, "", engine, on_cpu=True, cache=1.0).weights is None


# Engines that nobody owns


@pytest.mark.parametrize(
    ("process", "left"),
    [
        (Running(7, "python -c spawn_main", owner=99, orphan=False), True),
        (Running(7, "python -c spawn_main", owner=1, orphan=True), False),
        (Running(7, "VLLM::EngineCore", owner=None, orphan=True), True),
        (Running(7, "VLLM::EngineCore", owner=None, orphan=False), False),
        (Running(7, "postgres", owner=None, orphan=True), False),
    ],
    ids=["its bot is gone", "its bot is there", "nobody made it", "somebody made it", "something else"],
)
def test_an_engine_without_a_bot_is_told(process: Running, left: bool) -> None:
    found = leftovers("leftovers", [process], alive={1, 7})

    assert (found.level, found.remedy) == ((Level.WARN, "End them: kill 7") if left else (Level.OK, ""))


def test_the_owner_of_a_process_is_read_from_its_environment() -> None:
    code = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, PARENT: "4194303"},
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seen = {process.pid: process for process in running()}
        child.communicate(b"\n")

    assert seen[child.pid].owner == 4194303
    assert seen[child.pid].orphan is False
    assert set(seen) <= {*psutil.pids(), *seen}


def test_models_beside_each_other_need_what_all_of_them_need() -> None:
    """Which nobody knows as long as the files of one are missing."""
    assert together([Need(2 * GIB, GIB), Need(GIB, GIB)]) == Need(3 * GIB, 2 * GIB)
    assert together([Need(None, GIB), Need(GIB, GIB)]).weights is None
