"""Files that benches wrote are read as typed records, or refused with a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawdbot.bench.records import (
    Candidate,
    Delivery,
    Load,
    Overhead,
    Record,
    Remote,
    Scale,
    Stop,
    Ttft,
    Tuning,
    Turns,
    Warmth,
    figure,
    parse,
    read,
)
from clawdbot.errors import ConfigError

from .results import ALL, DELIVERY, LOAD, ORIGIN, TUNING, candidate, delivered

DOCS = Path(__file__).parents[2] / "docs"
KINDS: dict[str, type[Record]] = {
    "ttft": Ttft,
    "load": Load,
    "turns": Turns,
    "delivery": Delivery,
    "overhead": Overhead,
    "remote": Remote,
    "warmth": Warmth,
    "scale": Scale,
    "stop": Stop,
    "tune": Tuning,
}


@pytest.mark.parametrize("name", ALL)
def test_the_keys_say_which_bench_wrote_a_file(name: str) -> None:
    assert type(parse(ALL[name], "file")) is KINDS[name]


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in [*DOCS.glob("benchmarks/*.json"), *DOCS.glob("results/*.json")]
        if any(name in path.stem for name in KINDS)
    ],
    ids=lambda path: path.stem,
)
def test_every_result_in_the_documentation_can_be_read(path: Path) -> None:
    wanted = next(kind for name, kind in KINDS.items() if name in path.stem)

    assert type(read(path)) is wanted


def test_the_minimal_bot_stands_beside_the_own_one() -> None:
    found = parse(DELIVERY, "file")

    assert isinstance(found, Delivery)
    discord = found.platforms["discord"]
    assert discord.ideal is not None
    assert (discord.bot.tax.p50, discord.ideal.tax.p50) == (4.0, 2.0)


def test_a_file_without_the_minimal_bot_is_read() -> None:
    found = parse(ORIGIN | {"platforms": {"discord": delivered(4.0)}}, "file")

    assert isinstance(found, Delivery)
    assert found.platforms["discord"].ideal is None


def test_a_load_of_an_older_bot_has_no_tokens_of_prompts() -> None:
    old = {name: {**one, "work_tok_s": None} for name, one in LOAD["policies"].items()}

    found = parse(LOAD | {"policies": old}, "file")
    assert isinstance(found, Load)
    assert found.policies["off"].work_tok_s is None


@pytest.mark.parametrize("content", [{}, [], 3, None, {"rows": []}, {"rows": [{"else": 1}]}, {"policy": "off"}])
def test_what_no_bench_wrote_is_refused(content: Any) -> None:
    with pytest.raises(ConfigError, match=r"^odd\.json: holds no results that can be reported"):
        parse(content, "odd.json")


def test_a_missing_figure_is_named_with_its_place() -> None:
    broken = json.loads(json.dumps(LOAD))
    del broken["policies"]["on"]["short_ttft"]["p95"]

    with pytest.raises(ConfigError, match=r"^odd\.json: policies\.on\.short_ttft\.p95 is missing"):
        parse(broken, "odd.json")


def test_a_tuning_without_a_measurement_is_refused() -> None:
    """There is nothing to recommend from."""
    with pytest.raises(ConfigError, match="measurements: it must hold 1 or more"):
        parse(TUNING | {"measurements": []}, "odd.json")


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("{")
    (tmp_path / "bytes.json").write_bytes(b"\xff\x00")

    for name in ("odd.json", "bytes.json"):
        with pytest.raises(ConfigError, match="is not JSON"):
            read(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read(tmp_path / "missing.json")


def test_a_figure_has_a_digit_after_the_point_where_it_counts() -> None:
    assert [figure(value) for value in (0.751, 99.94, 123.4, 5977.0, None)] == ["0.8", "99.9", "123", "5,977", "-"]


@pytest.mark.parametrize(
    ("long", "at_once", "shown"), [(64, 1, "128/64"), (64, 2, "128/64 x2"), (0, 1, "128/all"), (0, 2, "128/all x2")]
)
def test_a_candidate_is_short_in_tables(long: int, at_once: int, shown: str) -> None:
    found = Candidate.model_validate({**candidate(long), "max_long_prefills": at_once})

    assert f"{found}" == shown
