"""What /latency says: a report that fits one message and tells where the time went."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from clawdbot.engine.protocol import EngineInfo
from clawdbot.latency.report import REPORT_SIZE, own, report
from clawdbot.latency.timing import STAGES, Timing
from clawdbot.ops.gauges import Gauges, Gpu

from .answers import ANSWER, timings

INFO = EngineInfo("SmolLM2-135M-Instruct", "CPU, 2 cores", "vLLM 0.32.0", 2048, True, 128, 64)
ONE = {"small": INFO}
IDLE = Gauges((), 1.7, 3 * 2**30)


def table(text: str) -> dict[str, list[str]]:
    """The last table of a report: label to cells."""
    rows = text.split("```")[1].split("\n\n")[-1].splitlines()
    return {row[:15].strip(): row[15:].split() for row in rows}


def test_the_report_has_a_row_for_every_stage() -> None:
    """p50, p95 and p99 of the time since the line above."""
    slow = replace(ANSWER, first_token=0.61, first_visible=0.7, complete=4.7)
    rows = table(report([], [ANSWER, slow], ONE, IDLE))
    assert rows["last day"] == ["p50", "p95", "p99"]
    assert [rows[f"→ {stage}"][0] for stage in STAGES] == ["2.0", "2.0", "6.0", "400", "90", "4000"]
    assert rows["→ first token"] == ["400", "580", "596"]


def test_ones_own_answers_are_a_line_each() -> None:
    """What is not known is a dash; an answer without a word says so."""
    silent = replace(ANSWER, first_visible=None, first_token=None, prompt_tokens=0, complete=0.5)
    lines = own([ANSWER, silent]).split("```")[1].strip().splitlines()
    assert [line.split() for line in lines] == [
        ["first", "word", "tok/s", "cached", "total"],
        ["0.30", "s", "20", "25%", "4.30", "s"],
        ["no", "word", "-", "-", "0.50", "s"],
    ]
    assert max(map(len, lines)) <= 36


def test_who_has_asked_nothing_is_told_so() -> None:
    assert own([]) == "**Your last answers:** there are none yet."


def test_very_long_times_are_in_seconds() -> None:
    """A platform that limits the bot for four hours: the columns must not run into each other."""
    rows = table(report([], [replace(ANSWER, complete=14_000.3)], ONE, IDLE))
    assert rows["→ complete"] == ["14000s", "14000s", "14000s"]


def test_no_time_at_all_has_no_sign() -> None:
    """Two clocks that differ by microseconds would show as "-0.0"."""
    rows = table(report([], [replace(ANSWER, platform_delay=-1e-6)], ONE, IDLE))
    assert rows["~ platform"] == ["0.0", "0.0", "0.0"]


def test_the_report_names_the_hour_and_the_day() -> None:
    """Two tables; one while they would be the same."""
    older = replace(ANSWER, at=ANSWER.at - 7200)
    two, one = report([ANSWER], [older, ANSWER], ONE, IDLE), report([ANSWER], [ANSWER], ONE, IDLE)
    assert two.count("p50    p95    p99") == 2
    assert "last hour " in two
    assert "last day " in two
    assert one.count("p50    p95    p99") == 1
    assert "hour and day " in one


def test_the_report_splits_by_platform() -> None:
    """First visible and total of each."""
    day = [ANSWER, replace(ANSWER, platform="telegram", first_visible=0.5), replace(ANSWER, platform="telegram")]
    text = report(day, day, ONE, IDLE)
    assert "telegram: 2\n  first visible    400    490    498\n  total           4300   4300   4300\n" in text
    assert "discord: 1\n  first visible    300    300    300\n" in text


def test_the_report_sums_up_answers_speed_and_cache() -> None:
    """The share of all prompt tokens that the prefix cache served."""
    day = [ANSWER, replace(ANSWER, prompt_tokens=60, cached_tokens=40)]
    assert "2 answers, 20 tok/s, 50% cached" in report(day, day, ONE, IDLE)


def test_the_report_shows_the_settings_in_force() -> None:
    """Whoever tunes the engine has to see what it runs with."""
    text = report([], [], {"small": replace(INFO, chunked_prefill=False, long_prefill=0)}, IDLE)
    assert "**Engine:** `SmolLM2-135M-Instruct` · CPU, 2 cores · vLLM 0.32.0" in text
    assert "chunked prefill off · 128 tokens a step · long prompts unbounded · context 2,048\n" in text


def test_the_report_shows_gpus_where_there_are_some() -> None:
    """Several of a kind are added up; without one, the process speaks for itself."""
    gpu = Gpu("NVIDIA H200", 0.4, 70 * 2**30, 140 * 2**30)
    busy = replace(gpu, busy=0.6)
    none, one, two = (report([], [], ONE, replace(IDLE, gpus=gpus)) for gpus in ((), (gpu,), (gpu, busy)))
    assert "**Process:** CPU 1.7 cores, 3.0 GiB" in none
    assert "**GPU:** NVIDIA H200, 40% busy, 70.0 of 140.0 GiB · process CPU 1.7 cores" in one
    assert "**GPU:** 2 × NVIDIA H200, 50% busy, 140.0 of 280.0 GiB" in two


def test_the_report_says_nothing_of_what_a_server_does_not_tell() -> None:
    """An engine elsewhere: how it cuts its steps, and when it began to read."""
    elsewhere = replace(INFO, device="2 servers", chunked_prefill=None, long_prefill=None)
    untold = replace(ANSWER, queued=None, scheduled=None)
    text = report([untold], [untold], {"small": elsewhere}, IDLE)
    assert "· 2 servers ·" in text
    assert "128 tokens a step · context 2,048" in text
    assert "chunked prefill" not in text
    assert "long prompts" not in text
    rows = {row[:15].strip(): row[15:].split() for row in text.splitlines()}
    assert rows["→ queued"] == rows["→ prefill"] == ["-", "-", "-"]
    assert "-" not in rows["→ first token"]


def test_the_report_works_before_the_first_answer() -> None:
    """And while the engine still loads."""
    text = report([], [], {"small": None}, IDLE)
    assert "no answers in the last hour or day yet" in text
    assert "**Engine:** starting" in text


def test_the_report_splits_by_model_where_there_are_several() -> None:
    """And says of each what runs it, or that nothing does."""
    day = [replace(ANSWER, model="small"), replace(ANSWER, model="large", first_visible=0.5)]
    text = report(day, day, {"small": INFO, "large": None}, IDLE)
    assert "large: 1\n  first visible    500    500    500\n" in text
    assert "**small:** `SmolLM2-135M-Instruct` · CPU, 2 cores · vLLM 0.32.0\n**large:** not there yet\n" in text


@given(st.lists(timings(), max_size=30), st.lists(st.text(max_size=32), max_size=9, unique=True), st.text(max_size=300))
def test_the_report_of_many_models_fits_as_well(day: list[Timing], names: list[str], said: str) -> None:
    info = replace(INFO, model=said, device=said, version=said)
    assert len(report(day[::2], day, dict.fromkeys(["small", *names], info), IDLE)) <= REPORT_SIZE


@given(st.lists(timings(), max_size=30), st.text(max_size=300))
def test_the_report_fits_one_message_and_a_phone(day: list[Timing], name: str) -> None:
    """Whatever happened: at most 1,900 characters, and 36 in a row of the table."""
    info = replace(INFO, model=name, device=name, version=name)
    text = report(day[::2], day, {name: info}, IDLE)
    rows = text.split("```")[1].splitlines() if day else []
    assert len(text) <= REPORT_SIZE
    assert all(len(row) <= 36 for row in rows)


def test_a_row_that_a_phone_would_wrap_is_cut_at_its_commas() -> None:
    """A busy day, or a fast engine."""
    text = report([], [ANSWER] * 123_456, ONE, IDLE)
    assert all(len(row) <= 36 for row in text.split("```")[1].splitlines())
    assert "123,456 answers,\n" in text


def test_platforms_with_the_fewest_answers_give_way() -> None:
    """A bot on more platforms than one message has room for."""
    day = [replace(ANSWER, platform=f"platform {number}") for number in range(12) for _ in range(12 - number)]
    text = report(day[:40], day, ONE, IDLE)
    assert len(text) <= REPORT_SIZE
    assert "platform 0: 12" in text
    assert "platform 11" not in text
