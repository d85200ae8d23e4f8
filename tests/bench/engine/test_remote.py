"""The engine in the process against the one on a server, both writing by a script."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawdbot.bench.engine import remote, remote_cli
from clawdbot.bench.engine.remote import REST, compare
from clawdbot.bench.records import parse
from clawdbot.bench.report.panels import Bars, sheet
from clawdbot.clock import SystemClock
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine

from ..conftest import Through
from ..results import REMOTE


async def test_both_are_asked_in_turns_and_whoever_goes_first_changes(clock: ManualClock, through: Through) -> None:
    """What happens to the machine meanwhile happens to both."""
    local = ScriptedEngine(lambda request: Script(["One"], first=0.1), clock)
    away = ScriptedEngine(lambda request: Script(["One"], first=0.13), clock)

    found = await through(compare(local, away, clock, pairs=3))

    asked = {at: name for name, engine in (("local", local), ("away", away)) for at in engine.asked_at.values()}
    assert [asked[at] for at in sorted(asked)] == ["local", "away", "away", "local", "local", "away"]
    assert (found.local.p50, found.remote.p50, found.added.p50) == pytest.approx((0.1, 0.13, 0.03))
    assert found.added.n == 3
    prompts = [tuple(request.prompt) for engine in (local, away) for request in engine.requests]
    assert (len(set(prompts)), len(set(map(len, prompts)))) == (6, 1)


async def test_the_machine_rests_before_each_question(clock: ManualClock, through: Through) -> None:
    """The threads of the engine that was asked last go on turning for a while."""
    engine = ScriptedEngine(lambda request: Script(["One"], first=0.1), clock)
    other = ScriptedEngine(lambda request: Script(["One"], first=0.1), clock)

    await through(compare(engine, other, clock, pairs=1))

    assert next(iter(other.asked_at.values())) - next(iter(engine.asked_at.values())) == pytest.approx(REST + 0.1)


def test_the_file_has_what_the_report_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def both(*chosen: Any) -> AsyncIterator[tuple[ScriptedEngine, ScriptedEngine]]:
        engines = [ScriptedEngine(lambda request: Script(["One"]), SystemClock()) for _ in range(2)]
        yield engines[0], engines[1]

    monkeypatch.setattr(remote, "both", both)
    monkeypatch.setattr(remote, "REST", 0.0)

    remote_cli.remote(pairs=2, json=tmp_path / "remote.json")

    found = json.loads((tmp_path / "remote.json").read_text(encoding="utf-8"))
    assert found.keys() >= {"clawdbot", "vllm", "device", "started_at", "local_ttft", "remote_ttft"}
    assert found["pairs"] == 2


def test_its_picture_has_a_bar_for_each_percentile_of_both() -> None:
    (panel,) = sheet(parse(REMOTE, "file")).panels

    assert isinstance(panel, Bars)
    assert [series.name for series in panel.series] == ["in the process", "on a server"]
