import pytest

from clawdbot.testing.waiting import patience, polled


async def test_who_waited_in_vain_reads_what_was_there() -> None:
    with pytest.raises(TimeoutError, match=r"within 0 s\. What was there: \['A heron'\]"):
        async with patience(0, lambda: ["A heron"]):
            await polled(lambda: False)


async def test_another_time_out_inside_is_not_taken_for_this_one() -> None:
    with pytest.raises(TimeoutError, match="the platform's own"):
        async with patience(10, lambda: None):
            raise TimeoutError("the platform's own")


async def test_a_look_is_taken_until_it_gives_something() -> None:
    looks = iter((None, "", "A heron"))

    assert await polled(lambda: next(looks)) == "A heron"


async def test_a_look_may_take_its_time() -> None:
    looks = iter(([], ["A heron"]))

    async def look() -> list[str]:
        return next(looks)

    assert await polled(look) == ["A heron"]


async def test_what_was_seen_last_is_told() -> None:
    with pytest.raises(TimeoutError, match=r"What was there: 0"):
        await polled(lambda: 0, 0)
