"""The commands on engines that write by a script: what they leave in the file."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clawdbot.bench.cli import bench
from clawdbot.bench.engine import arrivals, cli, opening, policies_cli
from clawdbot.bench.engine.arrivals import Arrival, Streams, Traffic
from clawdbot.bench.engine.policies import Machine, Policy
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.errors import ConfigError
from clawdbot.testing.engine import Script, ScriptedEngine

ORIGIN = {"clawdbot", "vllm", "device", "started_at"}
MAP = {"p50", "p95", "p99", "max", "n"}
TRAFFIC = Traffic("cpu", 1, Streams(1, 5, 50), (Arrival(0.0, "long", 2000, 1), Arrival(0.02, "short", 6, 1)))


def quick(request: Request) -> Script:
    return Script(["word "] * request.sampling.max_tokens, first=0.001, gap=0.001)


class Quick(ScriptedEngine):
    """It has nothing to forget."""

    async def forget(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Policy]]:
    """Model and policy of every engine that was started; each of them is quick."""
    started: list[tuple[str, Policy]] = []

    @asynccontextmanager
    async def opened(model: str, policy: Policy, machine: Machine, profile: str) -> AsyncIterator[ScriptedEngine]:
        started.append((model, policy))
        yield Quick(quick, SystemClock())

    monkeypatch.setattr(opening, "opened", opened)
    monkeypatch.setattr(arrivals, "draw", lambda name, seed: TRAFFIC)
    return started


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_load_compares_three_policies_on_the_trace_that_it_keeps(
    asked: list[tuple[str, Policy]], tmp_path: Path
) -> None:
    policies_cli.load(repeats=2, json=tmp_path / "load.json")

    found = read(tmp_path / "load.json")
    assert asked == [("demo", policy) for policy in Policy]
    assert found.keys() >= ORIGIN | {"policies", "trace"}
    assert found["policies"].keys() == {"off", "on", "first-token-first"}
    for one in found["policies"].values():
        assert all(one[name].keys() == MAP for name in ("short_ttft", "long_ttft", "token_gap"))
        assert one["throughput_tok_s"] > 0
        assert len(one["runs"]) == 2
    assert found["trace"]["seed"] == 1
    assert [arrival["tokens"] for arrival in found["trace"]["arrivals"]] == [2000, 6]


def test_ttft_has_a_row_for_every_model_mode_and_length(asked: list[tuple[str, Policy]], tmp_path: Path) -> None:
    shapes = [ShapeName.QWEN2_0_5B, ShapeName.QWEN2_7B]

    policies_cli.ttft(shape=shapes, repeats=1, json=tmp_path / "ttft.json")

    rows = read(tmp_path / "ttft.json")["rows"]
    wanted = [
        (shape, mode, length) for shape in shapes for mode in ("off", "on") for length in (100, 500, 1000, 1500, 2000)
    ]
    assert [(row["model"], row["mode"], row["prompt_tokens"]) for row in rows] == wanted
    assert all(row["ttft"].keys() == MAP for row in rows)


def test_turns_has_a_row_for_every_question(asked: list[tuple[str, Policy]], tmp_path: Path) -> None:
    cli.turns(count=4, answer=3, json=tmp_path / "turns.json")

    rows = read(tmp_path / "turns.json")["rows"]
    assert [row["turn"] for row in rows] == [1, 2, 3, 4]
    assert all(row.keys() == {"turn", "prompt_tokens", "cached_tokens", "trimmed", "ttft"} for row in rows)
    assert asked == [("demo", Policy.FIRST_TOKEN_FIRST)]


def test_what_is_measured_is_chosen_by_the_same_options_in_every_command(
    asked: list[tuple[str, Policy]], tmp_path: Path
) -> None:
    """Those of the command and those of the engine stand on one command line and in one file."""
    path = tmp_path / "turns.json"
    line = "turns --turns 2 --answer 3 --shape qwen2-0.5b --profile snappy --json"

    ended = CliRunner().invoke(bench, [*line.split(), str(path)])

    assert ended.exit_code == 0, ended.output
    assert read(path)["options"] == {"model": "qwen2-0.5b", "profile": "snappy", "answer": 3, "seed": 1}
    assert asked == [(ShapeName.QWEN2_0_5B, Policy.FIRST_TOKEN_FIRST)]


def test_overhead_holds_the_bot_against_the_engine(asked: list[tuple[str, Policy]], tmp_path: Path) -> None:
    cli.overhead(pairs=2, json=tmp_path / "overhead.json")

    found = read(tmp_path / "overhead.json")
    assert found.keys() >= ORIGIN
    assert found["raw_ttft"].keys() == found["bot_ttft"].keys() == MAP
    assert found["pairs"] == 2


def test_stop_tells_the_moments_apart(asked: list[tuple[str, Policy]], tmp_path: Path) -> None:
    cli.stop(stops=3, chats=1, json=tmp_path / "stop.json")

    found = read(tmp_path / "stop.json")
    assert found.keys() >= ORIGIN | {"press_to_abort", "moments", "text_after_stop", "leaked_blocks"}
    assert found["press_to_abort"].keys() == MAP
    assert found["press_to_abort"]["n"] == 3
    assert found["leaked_blocks"] == 0
    assert asked == [("demo", Policy.FIRST_TOKEN_FIRST)]


def test_warmth_says_what_a_question_waits_for_each_way(asked: list[tuple[str, Policy]], tmp_path: Path) -> None:
    cli.warmth(count=2, rounds=2, json=tmp_path / "warmth.json")

    found = read(tmp_path / "warmth.json")
    assert found.keys() >= ORIGIN | {"prompt_tokens", "cached_tokens"}
    for name in ("kept_ttft", "cold_ttft", "warmed_ttft", "reading"):
        assert found[name].keys() == MAP
        assert found[name]["n"] == 2
    assert asked == [("demo", Policy.FIRST_TOKEN_FIRST)]


def test_policies_are_named_with_commas_between_them() -> None:
    assert policies_cli.policies("off, first-token-first") == [Policy.OFF, Policy.FIRST_TOKEN_FIRST]


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match=r"'of' is not a valid Policy. There are off, on, first-token-first"):
        policies_cli.policies("of,on")
