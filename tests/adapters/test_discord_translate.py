"""The libraries' exceptions in this project's words."""

import asyncio

import aiohttp
import discord
import pytest

from clawdbot.errors import AdapterError, Unreachable, Unsure
from clawdbot_discord.translate import one_call, one_session


async def test_a_refused_connection_certainly_had_no_effect() -> None:
    """Nothing listens on this port, so that nothing can have been written."""
    with pytest.raises(Unreachable) as failure:
        async with aiohttp.ClientSession() as session, one_call(5.0):
            await session.post("http://127.0.0.1:1/")
    assert isinstance(failure.value.__cause__, aiohttp.ClientConnectorError)


async def test_a_call_through_a_client_that_was_closed_had_no_effect() -> None:
    """A command may still be answered through the session in which it was called."""
    session = aiohttp.ClientSession()
    await session.close()
    with pytest.raises(Unreachable):
        async with one_call(5.0):
            await session.post("http://127.0.0.1:1/")


async def test_an_answer_that_cannot_be_read_may_have_had_its_effect() -> None:
    """Half a body, or one that is no JSON whatever it calls itself: nothing else may stop because of it."""
    with pytest.raises(Unsure):
        async with one_call(5.0):
            discord.utils._from_json('{"content": "\\ud800')


async def test_a_fault_of_this_program_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="not one of aiohttp's"):
        async with one_call(5.0):
            raise RuntimeError("not one of aiohttp's")


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(Unsure):
        async with one_call(0.01):
            await asyncio.Event().wait()


@pytest.mark.parametrize("error", [discord.DiscordException("no gateway"), KeyError("sequence"), OSError("no route")])
def test_whatever_ends_a_session_is_one_kind_of_error(error: Exception) -> None:
    with pytest.raises(AdapterError) as failure, one_session():
        raise error
    assert failure.value.__cause__ is error
