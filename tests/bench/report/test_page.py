"""The page that goes with the pictures."""

import pytest

from clawdbot.bench.records import parse
from clawdbot.bench.report.page import Result, page

from ..results import ALL, DELIVERY, ORIGIN, SCALE, TUNING, TURNS, delivered


def written(content: dict[str, object]) -> str:
    return page([Result("name", "name.png", parse(content, "file"))])


@pytest.mark.parametrize("name", ALL)
def test_each_result_has_its_origin_its_picture_and_a_table(name: str) -> None:
    text = written(ALL[name])

    assert f"`clawdbot {'tune' if name == 'tune' else f'bench {name}'}`" in text
    assert "CPU, 2 cores, vLLM 0.32.0, ClawdBot 0.1.0; 2026-11-30T17:30:43+00:00" in text
    assert "![name](name.png)" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    assert {line.count("|") for line in lines} == {lines[0].count("|")}


def test_results_stand_in_the_order_in_which_they_were_named() -> None:
    text = page([Result(name, f"{name}.png", parse(ALL[name], "file")) for name in ("turns", "load")])

    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## turns", "## load"]


def test_turns_stand_ten_in_a_row() -> None:
    text = written(TURNS)

    assert "| 1 to 10 | 100 to 1,000 | 90% |  | 16.5 | 30.0 |" in text
    assert "| 11 to 15 | 1,100 to 1,500 | 90% | 12 | 39.0 | 45.0 |" in text


def test_delivery_has_the_minimal_bot_and_the_counts() -> None:
    text = written(DELIVERY)

    assert "| discord | tax | 4.0 | 8.0 | 12.0 | 16.0 | 10 | 2.0 | 4.0 |" in text
    assert "3 calls, 3 refused, 3 lost, 3 duplicated, 3 ambiguous sends" in text


def test_scale_ends_with_what_the_crowd_takes() -> None:
    text = written(SCALE)

    assert "| loop lag | 1.5 | 3.0 | 4.5 | 6.0 | 10 |" in text
    assert "| MiB | 61.3 |" in text


def test_what_never_came_is_a_dash() -> None:
    text = written(ORIGIN | {"platforms": {"discord": delivered(None)}})

    assert "| discord | tax | - | - | - | - | 0 | - | - |" in text


def test_tune_ends_with_the_settings_and_what_was_not_measured() -> None:
    text = written(TUNING)

    assert "```toml\n[engine]\n" in text
    assert "long_prefill_token_threshold = 32\n```" in text
    assert "* Not measured: 128/all (no time left)." in text
