"""The simulated Discord behaves as Discord does, to an unmodified discord.py and to bare HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import discord
import pytest
from discord import app_commands
from yarl import URL

from clawdbot.chat import Rate
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.discord import Rates, SimDiscord
from clawdbot.testing.faults import Fault, Trouble

FAST = Rates(edits=Rate(2, 1.5), sends=Rate(100, 1.0), whole_bot=Rate(1000, 1.0))


class Plain(discord.Client):
    """A client as a newcomer would write it."""

    def __init__(self, *, message_content: bool = True) -> None:
        super().__init__(intents=discord.Intents(guilds=True, messages=True, message_content=message_content))
        self.tree = app_commands.CommandTree(self)
        self.said: list[discord.Message] = []
        self._news = asyncio.Event()

    async def on_message(self, message: discord.Message) -> None:
        if message.author != self.user:
            self.said.append(message)
            self._news.set()

    async def hear(self, number: int) -> list[str]:
        """Wait until so many messages were said to it; their texts."""
        async with asyncio.timeout(10):
            while len(self.said) < number:
                self._news.clear()
                await self._news.wait()
        return [message.content for message in self.said]

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No wait: nobody counts the sessions here."""


@asynccontextmanager
async def online(sim: SimDiscord, client: discord.Client) -> AsyncIterator[asyncio.Task[None]]:
    """``client`` at work on ``sim``, found through discord.py's own class attributes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discord.http.Route, "BASE", sim.rest_url)
        patch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", URL(sim.gateway_url))
        running = asyncio.create_task(client.start(sim.token))
        try:
            await asyncio.wait((running, asyncio.create_task(sim.online())), return_when=asyncio.FIRST_COMPLETED)
            yield running
        finally:
            await client.close()
            with suppress(asyncio.CancelledError, discord.DiscordException, AttributeError):
                await running


class Bare:
    """REST calls without a library."""

    def __init__(self, sim: SimDiscord, session: aiohttp.ClientSession) -> None:
        self.sim = sim
        self.session = session
        self.token = f"Bot {sim.token}"

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any, Any]:
        """Status, body and headers of one call."""
        headers = {"Authorization": self.token}
        async with self.session.request(method, self.sim.rest_url + path, json=body, headers=headers) as response:
            is_json = response.headers.get("Content-Type") == "application/json"
            return response.status, await (response.json() if is_json else response.text()), response.headers

    async def send(self, text: str, **others: Any) -> tuple[int, Any, Any]:
        """Post a message in the simulator's channel."""
        path = f"/channels/{self.sim.channel.id}/messages"
        return await self.call("POST", path, {"content": text, **others})

    async def edit(self, message: str, text: str) -> tuple[int, Any, Any]:
        """Edit a message there."""
        return await self.call("PATCH", f"/channels/{self.sim.channel.id}/messages/{message}", {"content": text})


@pytest.fixture
async def bare() -> AsyncIterator[Bare]:
    async with SimDiscord() as sim, aiohttp.ClientSession() as session:
        yield Bare(sim, session)


@pytest.fixture
async def timed(clock: ManualClock) -> AsyncIterator[Bare]:
    """The same where time passes only when the test says so."""
    async with SimDiscord(clock=clock) as sim, aiohttp.ClientSession() as session:
        yield Bare(sim, session)


async def test_a_bot_comes_online_and_answers() -> None:
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.say(sim.channel, "hi")
        await client.hear(1)
        await client.said[0].reply("hello", mention_author=False)
        assert client.said[0].mentions == [client.user]
        assert [post.text for post in sim.answers(sim.channel)] == ["hello"]


async def test_a_message_can_be_delivered_again() -> None:
    async with SimDiscord() as sim, online(sim, client := Plain()):
        post = sim.say(sim.channel, "What is a heron?")

        sim.repeat(post)

        assert len(set(await client.hear(2))) == 1
        assert client.said[0].id == client.said[1].id == post.id


async def test_without_the_content_intent_text_is_hidden_unless_the_bot_is_mentioned() -> None:
    client = Plain(message_content=False)
    async with SimDiscord(message_content=False) as sim, online(sim, client):
        sim.say(sim.channel, "secret", mention_bot=False)
        sim.say(sim.channel, "open")
        sim.say(sim.private(), "private")
        assert await client.hear(3) == ["", f"<@{sim.bot.id}> open", "private"]


async def test_discord_py_sleeps_inside_the_call_that_took_the_last_place() -> None:
    """The text is there long before the call returns."""
    client = Plain()
    async with SimDiscord(rates=FAST) as sim, online(sim, client):
        message = await client.get_partial_messageable(sim.channel.id).send("0")
        started = sim.clock.now()
        await message.edit(content="1")
        await message.edit(content="2")
        shown = sim.answers(sim.channel)[0].now
        assert shown.text == "2"
        slept = sim.clock.now() - shown.at
        assert slept > 0.2
        assert slept > shown.at - started
        assert {call.status for call in sim.calls} <= {200}


async def test_discord_py_waits_out_a_refusal() -> None:
    """It takes the simulator's 429 for Discord's own: with a Via header and the wait in the body."""
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.faults.add("POST message", Fault(Trouble.LIMITED, 0.05))
        await client.get_partial_messageable(sim.channel.id).send("hi")
        assert [call.status for call in sim.calls_of("POST message")] == [429, 200]


async def test_every_ping_is_recorded(bare: Bare) -> None:
    """Without allowed_mentions Discord reads them all, in edits as well."""
    text = f"@everyone <@{bare.sim.user.id}> <@&{bare.sim.world.bot_role}>"
    _, message, _ = await bare.send(text)
    await bare.edit(message["id"], "@here")
    await bare.send(text, allowed_mentions={"parse": ["users"]})
    await bare.send(text, allowed_mentions={"parse": []})
    first, second, third = bare.sim.answers(bare.sim.channel)
    user = f"user {bare.sim.user.id}"
    assert [shown.pinged for shown in first.history] == [
        ("everyone", user, f"role {bare.sim.world.bot_role}"),
        ("everyone",),
    ]
    assert (second.now.pinged, third.now.pinged) == ((user,), ())


async def test_edits_are_limited_in_a_channel_whatever_the_message(bare: Bare) -> None:
    ids = [(await bare.send(text))[1]["id"] for text in ("a", "b")]
    answers = [await bare.edit(ids[number % 2], f"text {number}") for number in range(6)]
    status, body, headers = answers[-1]
    assert [answer[0] for answer in answers] == [200] * 5 + [429]
    assert [answer[2]["X-RateLimit-Remaining"] for answer in answers[:5]] == ["4", "3", "2", "1", "0"]
    assert (status, body["global"], headers["Via"]) == (429, False, "1.1 simulated")
    assert 0 < body["retry_after"] <= 5.0
    assert bare.sim.answers(bare.sim.channel)[1].text == "text 3"


async def test_each_channel_and_each_kind_of_call_has_its_own_window(bare: Bare) -> None:
    for number in range(5):
        await bare.send(str(number))
    other = bare.sim.add_channel("birds")
    assert (await bare.send("one too many"))[0] == 429
    assert (await bare.call("POST", f"/channels/{other.id}/messages", {"content": "hi"}))[0] == 200
    assert (await bare.call("POST", f"/channels/{bare.sim.channel.id}/typing"))[0] == 204


async def test_a_window_begins_anew_after_its_time(timed: Bare, clock: ManualClock) -> None:
    for number in range(5):
        await timed.send(str(number))
    await clock.advance(4.9)
    assert (await timed.send("too early"))[0] == 429
    await clock.advance(0.2)
    assert (await timed.send("in time"))[0] == 200


async def test_the_whole_bot_has_a_limit_too(clock: ManualClock) -> None:
    async with SimDiscord(clock=clock, rates=Rates(whole_bot=Rate(3, 1.0))) as sim, aiohttp.ClientSession() as session:
        bare = Bare(sim, session)
        answers = [await bare.call("GET", "/users/@me") for _ in range(4)]
        assert [answer[0] for answer in answers] == [200, 200, 200, 429]
        assert answers[3][1]["global"] is True


async def test_a_message_holds_two_thousand_code_points(bare: Bare) -> None:
    assert (await bare.send("🦩" * 2000))[0] == 200
    status, body, _ = await bare.send("x" * 2001)
    assert (status, body["code"]) == (400, 50035)


async def test_white_space_is_no_message(bare: Bare) -> None:
    status, body, _ = await bare.send(" \n ")
    assert (status, body["code"]) == (400, 50006)


async def test_white_space_around_a_text_is_dropped(bare: Bare) -> None:
    assert (await bare.send("\n hi \n"))[1]["content"] == "hi"


@pytest.mark.parametrize(("channel", "message", "code"), [("1", "2", 10003), ("", "2", 10008)])
async def test_what_is_not_there_is_unknown(bare: Bare, channel: str, message: str, code: int) -> None:
    path = f"/channels/{channel or bare.sim.channel.id}/messages/{message}"
    status, body, _ = await bare.call("PATCH", path, {"content": "hi"})
    assert (status, body["code"]) == (404, code)


async def test_other_peoples_messages_cannot_be_edited(bare: Bare) -> None:
    post = bare.sim.say(bare.sim.channel, "mine")
    status, body, _ = await bare.edit(str(post.id), "yours")
    assert (status, body["code"]) == (403, 50005)


async def test_a_wrong_token_is_unauthorized(bare: Bare) -> None:
    bare.token = "Bot wrong"
    assert (await bare.send("hi"))[0] == 401


async def test_a_repeated_nonce_brings_the_message_that_is_there(bare: Bare) -> None:
    first = (await bare.send("hi", nonce="7", enforce_nonce=True))[1]
    again = (await bare.send("hi again", nonce="7", enforce_nonce=True))[1]
    assert again["id"] == first["id"]
    assert [call.repeated for call in bare.sim.calls] == [False, True]
    assert [post.text for post in bare.sim.answers(bare.sim.channel)] == ["hi"]


async def test_a_nonce_is_forgotten_after_some_minutes(timed: Bare, clock: ManualClock) -> None:
    await timed.send("hi", nonce="7", enforce_nonce=True)
    await clock.advance(301)
    await timed.send("hi", nonce="7", enforce_nonce=True)
    assert len(timed.sim.answers(timed.sim.channel)) == 2


async def test_nobody_is_told_a_nonce_later(bare: Bare) -> None:
    """It is in the answer to the send, and in no message that is read back."""
    sent = (await bare.send("hi", nonce="7", enforce_nonce=True))[1]
    (read,) = (await bare.call("GET", f"/channels/{bare.sim.channel.id}/messages"))[1]
    assert (sent["nonce"], read["id"], "nonce" in read) == ("7", sent["id"], False)


async def test_edits_of_old_messages_are_rationed(timed: Bare, clock: ManualClock) -> None:
    """Without a word about it in the headers before."""
    message = (await timed.send("hi"))[1]["id"]
    await clock.advance(3601)
    answers = [await timed.edit(message, f"text {number}") for number in range(4)]
    assert [answer[0] for answer in answers] == [200, 200, 200, 429]
    assert (answers[3][1]["code"], answers[3][1]["retry_after"]) == (30046, 20.0)
    await clock.advance(20)
    assert (await timed.edit(message, "text 5"))[0] == 200


async def test_a_crowded_channel_takes_neither_messages_nor_edits(timed: Bare, clock: ManualClock) -> None:
    message = (await timed.send("hi"))[1]["id"]
    timed.sim.channel.crowded_until = clock.now() + 3.0
    answers = [await timed.send("and again"), await timed.edit(message, "hello")]
    assert [(answer[0], answer[1]["code"], answer[1]["retry_after"]) for answer in answers] == 2 * [(429, 20028, 3.0)]
    assert {answer[2]["X-RateLimit-Scope"] for answer in answers} == {"shared"}
    await clock.advance(3.0)
    assert (await timed.send("and again"))[0] == 200


async def test_without_the_permission_for_it_earlier_messages_are_hidden(bare: Bare) -> None:
    asked = bare.sim.say(bare.sim.channel, "hi")
    bare.sim.channel.history_hidden = True
    reference = {"message_id": asked.id, "channel_id": bare.sim.channel.id, "fail_if_not_exists": False}
    status, body, _ = await bare.send("hello", message_reference=reference)
    assert (status, body["code"]) == (403, 160002)
    assert (await bare.call("GET", f"/channels/{bare.sim.channel.id}/messages"))[1] == []


async def test_messages_are_read_before_and_after_others(bare: Bare) -> None:
    ids = [str(bare.sim.say(bare.sim.channel, str(number)).id) for number in range(4)]
    path = f"/channels/{bare.sim.channel.id}/messages"

    async def read(query: str) -> list[str]:
        return [message["id"] for message in (await bare.call("GET", f"{path}?{query}"))[1]]

    assert await read(f"after={ids[0]}&limit=2") == [ids[2], ids[1]]
    assert await read(f"before={ids[3]}&limit=2") == [ids[2], ids[1]]
    assert await read("limit=1") == [ids[3]]


async def test_a_reply_to_nothing_is_refused_unless_it_does_not_matter(bare: Bare) -> None:
    nothing = {"message_id": 1, "channel_id": bare.sim.channel.id}
    assert (await bare.send("hi", message_reference=nothing))[0] == 400
    assert (await bare.send("hi", message_reference=nothing | {"fail_if_not_exists": False}))[0] == 200


@pytest.mark.parametrize(
    ("trouble", "landed"),
    [(Trouble.RESET_BEFORE, False), (Trouble.HANG, False), (Trouble.RESET_AFTER, True), (Trouble.TIMEOUT_AFTER, True)],
)
async def test_a_broken_connection_may_or_may_not_have_had_its_effect(
    bare: Bare, trouble: Trouble, landed: bool
) -> None:
    bare.sim.faults.add("POST message", Fault(trouble, 0.01))
    with pytest.raises(aiohttp.ClientError):
        await bare.send("hi")
    assert len(bare.sim.answers(bare.sim.channel)) == landed
    assert bare.sim.calls_of("POST message")[0].status == 0


async def test_a_bad_gateway_answers_in_html(bare: Bare) -> None:
    bare.sim.faults.add("POST message", Fault(Trouble.BAD_GATEWAY))
    status, body, headers = await bare.send("hi")
    assert (status, headers["Content-Type"]) == (502, "text/html; charset=utf-8")
    assert body.startswith("<html>")


async def test_half_of_the_round_trip_passes_before_a_call_has_its_effect() -> None:
    async with SimDiscord(rtt=0.1) as sim, aiohttp.ClientSession() as session:
        started = sim.clock.now()
        await Bare(sim, session).send("hi")
        shown = sim.answers(sim.channel)[0].now.at
        assert shown - started >= 0.05
        assert sim.clock.now() - shown >= 0.05


async def test_a_command_that_is_not_registered_cannot_be_called() -> None:
    async with SimDiscord() as sim:
        with pytest.raises(LookupError):
            sim.slash(sim.channel, "latency")


async def test_discord_py_registers_and_answers_commands() -> None:
    client = Plain()

    @client.tree.command(name="ping", description="Says pong")
    async def ping(interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send("pong", ephemeral=True)
        await interaction.followup.send("and more", ephemeral=True)
        await interaction.edit_original_response(content="pong!")

    async with SimDiscord() as sim, online(sim, client):
        await client.tree.sync()
        called = sim.slash(sim.channel, "ping")
        await sim.until(lambda: len(sim.calls_of("PATCH answer")) == 1)
        assert [post.text for post in called.answers] == ["pong!", "and more"]
        assert [post.only_for for post in called.answers] == [sim.user.id, sim.user.id]
        assert sim.channel.screen == []
        assert [shown.text for shown in called.answers[0].history] == ["", "pong", "pong!"]


async def called_late(bare: Bare, clock: ManualClock, seconds: float) -> tuple[int, int]:
    """Acknowledge a command so many seconds late; status and code."""
    bare.sim.interactions.register(0, [{"name": "ping", "description": "Says pong"}])
    called = bare.sim.slash(bare.sim.channel, "ping")
    await clock.advance(seconds)
    path = f"/interactions/{called.id}/{called.token}/callback"
    status, body, _ = await bare.call("POST", path, {"type": 4, "data": {"content": "pong"}})
    return status, body["code"] if status >= 400 else 0


async def test_a_command_has_to_be_acknowledged_within_three_seconds(timed: Bare, clock: ManualClock) -> None:
    assert await called_late(timed, clock, 2.9) == (204, 0)
    assert await called_late(timed, clock, 3.1) == (404, 10062)


async def test_a_command_is_acknowledged_once(timed: Bare, clock: ManualClock) -> None:
    await called_late(timed, clock, 0)
    called = timed.sim.interactions.all[0]
    path = f"/interactions/{called.id}/{called.token}/callback"
    status, body, _ = await timed.call("POST", path, {"type": 5})
    assert (status, body["code"]) == (400, 40060)


async def test_a_command_can_be_answered_for_fifteen_minutes(timed: Bare, clock: ManualClock) -> None:
    await called_late(timed, clock, 0)
    path = f"/webhooks/{timed.sim.bot.id}/{timed.sim.interactions.all[0].token}"
    await clock.advance(899)
    assert (await timed.call("POST", path, {"content": "more"}))[0] == 200
    await clock.advance(2)
    status, body, _ = await timed.call("POST", path, {"content": "even more"})
    assert (status, body["code"]) == (401, 50027)


async def test_a_button_is_shown_pressed_and_changed() -> None:
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        view = discord.ui.View(timeout=None)
        button: discord.ui.Button[discord.ui.View] = discord.ui.Button(label="Stop", custom_id="stop")

        async def stop(interaction: discord.Interaction) -> None:
            await interaction.response.edit_message(content="stopped", view=None)

        button.callback = stop  # type: ignore[method-assign]
        view.add_item(button)
        await client.get_partial_messageable(sim.channel.id).send("going", view=view)
        post = sim.answers(sim.channel)[0]
        pressed = sim.press(post, "stop")
        await sim.until(lambda: post.text == "stopped")
        assert pressed.acknowledged_at is not None
        assert [shown.buttons for shown in post.history] == [("stop",), ()]
        with pytest.raises(LookupError):
            sim.press(post, "stop")


async def test_a_wrong_token_ends_at_the_login() -> None:
    client = Plain()
    async with SimDiscord() as sim:
        sim.token = "another"
        with pytest.raises(discord.LoginFailure):
            async with online(sim, client) as running:
                await running


async def test_the_gateway_closes_with_4004_on_a_wrong_token() -> None:
    client = Plain()
    async with SimDiscord() as sim:
        sim.gateway.token = "another"
        with pytest.raises(discord.ConnectionClosed) as closed:
            async with online(sim, client) as running:
                await running
        assert closed.value.code == 4004


async def test_the_gateway_closes_with_4014_on_an_intent_that_is_not_allowed() -> None:
    client = Plain()
    async with SimDiscord(message_content=False) as sim:
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with online(sim, client) as running:
                await running


async def test_a_refused_first_handshake_kills_discord_py() -> None:
    """Known in 2.7.1; whoever uses it has to begin anew with another client."""
    client = Plain()
    async with SimDiscord() as sim:
        sim.gateway.refusals = 1
        with pytest.raises(AttributeError):
            async with online(sim, client) as running:
                await running


async def test_an_order_to_reconnect_is_followed_by_a_resume() -> None:
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.gateway.order_reconnect()
        await sim.until(lambda: sim.gateway.resumed == 1)
        sim.say(sim.channel, "hi")
        await client.hear(1)
        assert sim.gateway.identified == 1


async def test_a_resume_replays_what_was_missed_in_its_order() -> None:
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.gateway.drop()
        await sim.until(lambda: not sim.gateway.connected)
        for text in ("one", "two", "three"):
            sim.say(sim.private(), text)
        assert await client.hear(3) == ["one", "two", "three"]


async def test_an_invalid_session_is_followed_by_a_new_one() -> None:
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.gateway.invalidate()
        await sim.until(lambda: sim.gateway.identified == 2)
        assert sim.gateway.resumed == 0


async def test_a_forgotten_session_cannot_be_resumed() -> None:
    """What was said in between is lost for the gateway."""
    client = Plain()
    async with SimDiscord() as sim, online(sim, client):
        sim.gateway.forget()
        sim.gateway.drop()
        sim.say(sim.private(), "lost")
        await sim.until(lambda: sim.gateway.identified == 2)
        sim.say(sim.private(), "heard")
        assert await client.hear(1) == ["heard"]


async def test_heartbeats_are_answered() -> None:
    client = Plain()
    async with SimDiscord(heartbeat=0.02) as sim, online(sim, client):
        await sim.until(lambda: sim.gateway.heartbeats >= 3)
        assert client.latency < 1


async def test_history_is_read_newest_first(bare: Bare) -> None:
    posts = [bare.sim.say(bare.sim.channel, text, mention_bot=False) for text in ("a", "b", "c")]
    _, body, _ = await bare.call("GET", f"/channels/{bare.sim.channel.id}/messages?after={posts[0].id}&limit=50")
    assert [message["content"] for message in body] == ["c", "b"]
