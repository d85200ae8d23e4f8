"""``clawdbot tune`` on engines that write by a script: the file that it leaves, and what it prints."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clawdbot.bench import output, records
from clawdbot.bench.engine.arrivals import Streams
from clawdbot.bench.engine.policies import Machine
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.records import Tuning
from clawdbot.bench.tune import cli, traffic
from clawdbot.bench.tune.candidates import GOALS, candidates, recommend
from clawdbot.bench.tune.traffic import Scene
from clawdbot.cli import cli as commands
from clawdbot.clock import SystemClock
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import Request
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError
from clawdbot.settings import config
from clawdbot.testing.engine import INFO, Script, ScriptedEngine

RECORDED = Path(__file__).parent / "recorded" / "tune-cpu.json"
"""A run on two cores with the demo model."""


def quick(request: Request) -> Script:
    return Script(["word "] * request.sampling.max_tokens, first=0.001, gap=0.001)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str, Mapping[str, Any], str]]:
    """Model, device, arguments and profile of every engine that was started; each of them is quick."""
    found: list[tuple[str, str, Mapping[str, Any], str]] = []

    @asynccontextmanager
    async def started(
        model: str, device: str, args: Mapping[str, Any], profile: Profile
    ) -> AsyncIterator[ScriptedEngine]:
        found.append((model, device, args, profile))
        yield ScriptedEngine(quick, SystemClock(), replace(INFO, device="scripted device"))

    monkeypatch.setattr(cli, "started", started)
    monkeypatch.setattr(cli, "this_machine", lambda: Machine(0))
    monkeypatch.setattr(cli, "CPU", Scene("test", Streams(1, 5, 20), 100, 400, (4, 6), 2))
    monkeypatch.setattr(traffic, "SECONDS", 0.1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("CLAWDBOT_CONFIG", raising=False)
    return found


Asked = list[tuple[str, str, Mapping[str, Any], str]]


def printed_settings(out: str, tmp_path: Path) -> EngineSettings:
    """What the bot makes of the snippet at the end of the output."""
    (tmp_path / "tuned.toml").write_text(out[out.index("[engine]") :])
    return config.load(tmp_path / "tuned.toml", {}).engine


def test_every_candidate_is_measured_and_kept(asked: Asked, tmp_path: Path) -> None:
    cli.tune(json=tmp_path / "tune.json")

    found = json.loads((tmp_path / "tune.json").read_text(encoding="utf-8"))
    tried = [one.model_dump() for one in candidates("balanced", on_cpu=True)]
    assert found.keys() >= {"clawdbot", "vllm", "device", "started_at", "options", "trace", "recommended"}
    assert found["device"] == "scripted device"
    assert [one["candidate"] for one in found["measurements"]] == tried
    assert found["recommended"] in tried
    assert found["left_out"] == []


def test_each_engine_gets_its_candidates_settings(asked: Asked) -> None:
    cli.tune()

    sizes = ("max_num_batched_tokens", "long_prefill_token_threshold")
    started = [(*(args[name] for name in sizes), profile) for _, _, args, profile in asked]
    wanted = [(*(getattr(one, name) for name in sizes), one.profile) for one in candidates("balanced", on_cpu=True)]
    assert started == list(dict.fromkeys(wanted))
    assert {(model, device) for model, device, _, _ in asked} == {("demo", "auto")}


def test_the_admins_own_model_and_arguments_are_measured(asked: Asked, tmp_path: Path) -> None:
    """But for the two that are looked for, whatever they are now."""
    (tmp_path / "config.toml").write_text(
        '[engine]\nmodel = "mine"\ndevice = "cpu"\n[engine.args]\nmax_model_len = 4000\nmax_num_batched_tokens = 77\n'
    )

    cli.tune(minutes=0)

    model, device, args, _ = asked[0]
    tried = candidates("balanced", on_cpu=True)[0].max_num_batched_tokens
    assert (model, device, args["max_model_len"], args["max_num_batched_tokens"]) == ("mine", "cpu", 4000, tried)


def test_the_file_names_the_admins_arguments_but_no_secret(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[engine.args]\nmax_model_len = 4000\nhf_token = "hf_secret"\n')

    cli.tune(minutes=0, json=tmp_path / "tune.json")

    text = (tmp_path / "tune.json").read_text(encoding="utf-8")
    assert json.loads(text)["options"]["args"] == {"max_model_len": 4000}
    assert "hf_secret" not in text
    assert asked[0][2]["hf_token"] == "hf_secret"


def test_another_model_leaves_the_admins_arguments_alone(asked: Asked, tmp_path: Path) -> None:
    """A context or a number of GPUs was chosen for the one in the configuration."""
    (tmp_path / "config.toml").write_text('[engine]\nmodel = "mine"\n[engine.args]\nmax_model_len = 4000\n')

    cli.tune(minutes=0, model="other")
    cli.tune(minutes=0, shape=ShapeName.QWEN2_7B)

    assert [model for model, _, _, _ in asked] == ["other", "qwen2-7b"]
    assert all("max_model_len" not in args for _, _, args, _ in asked)


def test_what_there_was_no_time_for_is_said(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    cli.tune(minutes=0)

    out = capsys.readouterr().out
    assert len(asked) == 1
    assert "Not measured: 512/all (no time left)." in out
    assert out.count("Not measured") == len(candidates("balanced", on_cpu=True)) - 1


@pytest.mark.parametrize("profile", GOALS)
def test_a_recorded_run_is_judged_again_without_an_engine(
    asked: Asked, profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For each profile the same as ever: what is printed follows from the figures alone."""
    cli.tune(profile=profile, recorded=RECORDED)

    found = records.read(RECORDED)
    assert isinstance(found, Tuning)
    best = recommend(found.measurements, GOALS[profile]).candidate
    engine = printed_settings(capsys.readouterr().out, tmp_path)
    assert asked == []
    assert (engine.profile, engine.max_long_prefills) == (best.profile, best.max_long_prefills)
    assert engine.args["max_num_batched_tokens"] == best.max_num_batched_tokens
    assert engine.args["long_prefill_token_threshold"] == best.long_prefill_token_threshold


def test_the_table_fits_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And says why a candidate is not recommended."""
    monkeypatch.setenv("COLUMNS", "80")

    cli.tune(profile="throughput", recorded=RECORDED)

    out = capsys.readouterr().out
    assert "…" not in out
    assert out.count("recommended") == 1
    assert "few tok/s" in out


def test_it_is_a_command_of_its_own() -> None:
    ended = CliRunner().invoke(commands, ["tune", "--from", str(RECORDED), "--profile", "snappy"])

    assert ended.exit_code == 0
    assert "For config.toml (snappy):" in ended.output


def test_a_file_of_another_bench_is_refused(tmp_path: Path) -> None:
    times = {"p50": 1.0, "p95": 1.0, "p99": 1.0, "max": 1.0, "n": 1}
    origin = {"clawdbot": "0.1.0", "vllm": None, "device": "none", "started_at": "2026-11-30T17:30:43+00:00"}
    output.write(tmp_path / "other.json", {**origin, "raw_ttft": times, "bot_ttft": times, "pairs": 1})

    with pytest.raises(ConfigError, match="is not from clawdbot tune"):
        cli.tune(recorded=tmp_path / "other.json")


@pytest.mark.parametrize("option", ["config_file", "model", "shape", "json"])
def test_what_has_no_effect_on_a_recorded_run_is_refused(option: str, tmp_path: Path) -> None:
    """Its figures are those of the machine and model that it was measured on."""
    chosen: dict[str, Any] = {option: ShapeName.QWEN2_7B if option == "shape" else tmp_path / "other"}

    with pytest.raises(ConfigError, match="means nothing with --from"):
        cli.tune(recorded=RECORDED, **chosen)


def test_a_recorded_run_is_for_what_it_was_measured_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless another profile is asked for."""
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    found["options"]["profile"] = "throughput"
    (tmp_path / "tune.json").write_text(json.dumps(found), encoding="utf-8")

    cli.tune(recorded=tmp_path / "tune.json")
    cli.tune(recorded=tmp_path / "tune.json", profile="snappy")

    first, _, second = capsys.readouterr().out.partition("For config.toml (throughput):")
    assert first
    assert "For config.toml (snappy):" in second


def test_a_model_and_a_shape_are_one_too_many(asked: Asked) -> None:
    with pytest.raises(ConfigError, match="--shape: takes the place of a model"):
        cli.tune(model="other", shape=ShapeName.QWEN2_7B)
    assert asked == []


def test_there_is_nothing_to_tune_where_no_prompt_is_cut(asked: Asked, tmp_path: Path) -> None:
    """Every candidate would be the same engine."""
    (tmp_path / "config.toml").write_text("[engine.args]\nenable_chunked_prefill = false\n")

    with pytest.raises(ConfigError, match="no prompt is cut"):
        cli.tune()
    assert asked == []
