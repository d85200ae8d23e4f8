"""What is drawn is what was measured."""

from clawdbot.bench.records import parse
from clawdbot.bench.report.panels import Bars, Course, Series, sheet

from ..results import DELIVERY, LOAD, ORIGIN, OVERHEAD, SCALE, STOP, TTFT, TUNING, TURNS, WARMTH, delivered


def test_load_has_a_bar_for_each_policy_in_each_panel() -> None:
    panels = sheet(parse(LOAD, "file")).panels

    assert len(panels) == 4
    for panel in panels:
        assert isinstance(panel, Bars)
        assert panel.labels == ["off", "on", "first-token-first"]
    short = panels[0]
    assert isinstance(short, Bars)
    assert short.series == [Series("", [300.0, 250.0, 90.0], [600.0, 500.0, 180.0])]


def test_tune_lets_what_it_recommends_stand_out() -> None:
    drawn = sheet(parse(TUNING, "file"))

    assert {panel.chosen for panel in drawn.panels if isinstance(panel, Bars)} == {"128/32"}
    assert drawn.note.endswith("orange: recommended")


def test_ttft_has_a_panel_for_each_model_with_a_series_for_each_mode() -> None:
    small, large = sheet(parse(TTFT, "file")).panels

    assert isinstance(small, Bars)
    assert isinstance(large, Bars)
    assert (small.title[:5], large.title[:5]) == ("small", "large")
    assert small.labels == ["100 tokens", "2,000 tokens"]
    assert [series.name for series in small.series] == ["chunked prefill off", "chunked prefill on"]
    assert small.series[0].values == [10.0, 200.0]


def test_a_length_that_was_not_measured_in_one_mode_is_no_bar() -> None:
    rows = [row for row in TTFT["rows"] if (row["mode"], row["prompt_tokens"]) != ("on", 2000)]

    small = sheet(parse(TTFT | {"rows": rows}, "file")).panels[0]
    assert isinstance(small, Bars)
    assert small.series[1].values == [10.0, None]


def test_turns_piles_up_what_was_cached_and_what_was_read() -> None:
    times, tokens = sheet(parse(TURNS, "file")).panels

    assert isinstance(times, Course)
    assert isinstance(tokens, Course)
    assert (times.marks, tokens.marks) == ([12], [12])
    cached, fresh = tokens.series
    assert (cached.values[9], fresh.values[9]) == (900, 100)


def test_delivery_holds_both_bots_against_each_other_on_each_platform() -> None:
    panels = sheet(parse(DELIVERY, "file")).panels

    assert len(panels) == 6
    tax = panels[2]
    assert isinstance(tax, Bars)
    assert tax.title.startswith("Tax")
    assert tax.series == [
        Series("ClawdBot", [4.0, 5.0], [8.0, 10.0]),
        Series("minimal bot", [2.0, 3.0], [4.0, 6.0]),
    ]


def test_a_bot_that_was_not_measured_has_no_bars() -> None:
    panels = sheet(parse(ORIGIN | {"platforms": {"discord": delivered(4.0)}}, "file")).panels

    assert all(len(panel.series) == 1 for panel in panels)


def test_overhead_has_the_percentiles_of_both_ways() -> None:
    (panel,) = sheet(parse(OVERHEAD, "file")).panels

    assert isinstance(panel, Bars)
    assert panel.labels == ("p50", "p95", "p99", "max")
    assert [series.values[0] for series in panel.series] == [176.2, 178.9]


def test_warmth_has_the_three_ways_side_by_side() -> None:
    (panel,) = sheet(parse(WARMTH, "file")).panels

    assert isinstance(panel, Bars)
    assert panel.labels == ["kept", "forgotten", "read ahead"]
    assert panel.series[0].values == [461.0, 7354.0, 467.0]


def test_scale_says_how_many_there_were_and_what_they_took() -> None:
    (panel,) = sheet(parse(SCALE, "file")).panels

    assert isinstance(panel, Bars)
    assert panel.title == "1,000 conversations: 0.42 cores, 61 MiB"
    assert panel.series == [Series("", [1.5, 4.0], [3.0, 8.0])]


def test_stop_has_all_stops_and_those_of_each_moment() -> None:
    (panel,) = sheet(parse(STOP, "file")).panels

    assert isinstance(panel, Bars)
    assert panel.labels == ["all", "queued", "reading", "writing"]
    assert panel.series[0].values == [3.0, 2.0, 4.0, 3.0]
