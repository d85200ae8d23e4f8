from clawdbot.bench.engine.arrivals import draw, prompt


def test_a_seed_draws_the_same_traffic_again() -> None:
    assert draw("h200", 5) == draw("h200", 5) != draw("h200", 6)


def test_the_traffic_of_a_cpu_is_ten_long_prompts_among_seventy_short_ones() -> None:
    traffic = draw("cpu", 1)

    longs = [arrival.at for arrival in traffic.arrivals if arrival.kind == "long"]
    shorts = [arrival for arrival in traffic.arrivals if arrival.kind == "short"]
    assert longs == [12.0 * number for number in range(10)]
    assert len(shorts) == 70
    assert {arrival.tokens for arrival in shorts} == {30}
    assert traffic.streams.chats == 2


def test_the_traffic_of_an_h200_is_short_prompts_at_ten_a_second_among_very_long_ones() -> None:
    traffic = draw("h200", 1)

    longs = [arrival for arrival in traffic.arrivals if arrival.kind == "long"]
    shorts = [arrival for arrival in traffic.arrivals if arrival.kind == "short"]
    assert 15 <= len(longs) <= 45  # 30 on average
    assert all(arrival.at < 20 and arrival.tokens == 12_000 for arrival in longs)
    assert len(shorts) == 200
    assert all(40 <= arrival.tokens <= 200 for arrival in shorts)
    assert shorts[-1].at < 20 <= shorts[-1].at + 0.2
    assert traffic.streams.chats == 16


def test_arrivals_stand_in_the_order_of_their_times() -> None:
    times = [arrival.at for arrival in draw("h200", 2).arrivals]

    assert times == sorted(times)


def test_no_two_prompts_begin_alike() -> None:
    """The prefix cache keeps whole blocks, the smallest of 16 tokens; one that it knew would need no reading."""
    beginnings = {tuple(prompt(1, f"run-{run}", number, tokens=40)[:16]) for run in range(3) for number in range(100)}

    assert len(beginnings) == 300


def test_a_prompt_is_drawn_again_as_it_was() -> None:
    assert prompt(1, "a", tokens=30) == prompt(1, "a", tokens=30)
