"""Two processes that share one bot's servers by Discord's own shards, each with a database of its own."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.discord.records import Channel
from clawdbot_discord import DiscordSettings

from .discord_bot import DiscordBot


def texts(sim: SimDiscord, channel: Channel) -> list[str]:
    """What the bot's messages say there now."""
    return [post.now.text for post in sim.answers(channel)]


async def test_each_shard_answers_in_its_own_servers_and_the_first_in_private(tmp_path: Path) -> None:
    """Everything that is asked is answered once, whoever of them could see it."""
    async with SimDiscord() as sim:
        # The first number of shards with which the server is not the first one's, as private chats always are.
        count = next(count for count in range(2, 9) if (sim.world.guild >> 22) % count)
        number = (sim.world.guild >> 22) % count
        for folder in ("first", "other"):
            (tmp_path / folder).mkdir()
        first = DiscordBot(sim, tmp_path / "first", shard=[0, count])
        other = DiscordBot(sim, tmp_path / "other", shard=[number, count])
        async with first.running(), other.running():
            await sim.until(lambda: sim.gateway.identified == 2)
            private = sim.private()
            sim.say(sim.channel, "in the server")
            sim.say(private, "in private")
            await sim.until(lambda: texts(sim, sim.channel) == ["You said: ada: in the server"])
            await sim.until(lambda: texts(sim, private) == ["You said: in private"])

    assert (len(first.requests), len(other.requests)) == (1, 1)


@pytest.mark.parametrize("shard", [[2, 2], [-1, 2], [0, 0], [0]])
def test_a_shard_that_does_not_exist_is_refused(shard: list[int]) -> None:
    with pytest.raises(ValidationError):
        DiscordSettings.model_validate({"token": "t", "shard": shard})
