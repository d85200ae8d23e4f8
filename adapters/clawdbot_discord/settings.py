"""What can be set for Discord, in the table ``[adapters.discord]``."""

import re
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
)

from clawdbot.chat import Bucket, Limits, Pace, Rate
from clawdbot.errors import Unauthorized
from clawdbot_discord.render import SIZE, fits

PORTAL = "https://discord.com/developers/applications"
TOKEN = re.compile(r"[^\s\x00-\x1f\x7f]+")


def _in_range(shard: tuple[int, int]) -> tuple[int, int]:
    number, count = shard
    if not 0 <= number < count:
        raise ValueError("it must be [number, count], with numbers counted from 0: [0, 2] and [1, 2] are two shards.")
    return shard


Shard = Annotated[tuple[int, int], AfterValidator(_in_range)]
CallsIn = tuple[PositiveInt, PositiveFloat]
"""So many calls in any so many seconds."""
Corners = Annotated[tuple[tuple[NonNegativeFloat, PositiveFloat], ...], Field(min_length=1)]


class DiscordSettings(BaseModel):
    """How to reach Discord and how much to ask of it; the token alone is needed. Times in seconds.

    The limits are the ones that Discord announced at the time of writing. It repeats them in the headers of every
    answer, and what the headers say holds; the settings only keep the pace below.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: SecretStr = Field(description=f"Make one on the page Bot of your application at {PORTAL}.")
    api_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """A proxy for Discord's REST, with its path: "http://127.0.0.1:8080/api/v10"."""
    gateway_url: Annotated[str, Field(pattern=r"^wss?://")] | None = None
    """A proxy for Discord's gateway; connections to any host of discord.gg go there."""

    shard: Shard = (0, 1)
    """Which part of the guilds this process serves: its number, and how many processes there are."""
    command_guild: int = 0
    """The guild that gets the slash commands at once; 0 registers them for everywhere."""
    presence: bool = True
    """Whether the line below the bot's name says how much it has to do."""
    typing_events: bool = False
    """Whether the bot is told when somebody starts to type; it then reads the conversation ahead."""

    sends: CallsIn = (5, 5.0)
    """New messages in one channel."""
    edits: CallsIn = (5, 5.0)
    """Edits of messages in one channel."""
    typing: CallsIn = (5, 5.0)
    """Typing signs in one channel."""
    answers: CallsIn = (5, 5.0)
    """Messages and edits that answer one slash command."""
    whole_bot: CallsIn = (50, 1.0)
    first: tuple[NonNegativeFloat, ...] = (0.4, 0.6, 0.9)
    """Times before the second, third, … frame of an answer."""
    by_age: Corners = ((0.0, 1.25),)
    """Corners (age of the answer, time between its frames)."""

    lookback: NonNegativeFloat = 900.0
    """How old a message may be that was missed and is fetched after a gap or a restart; 0 fetches none."""
    nonce_life: NonNegativeFloat = 60.0
    """For how long Discord certainly knows a message that is sent again; it says "a few minutes"."""
    call_timeout: PositiveFloat = 20.0
    """How long a call may go without an answer."""
    download_timeout: PositiveFloat = 60.0
    """How long loading a file may take that somebody has sent."""
    keep_warm: NonNegativeFloat = 50.0
    """Time between small calls that keep connections open, so that a first word costs one round trip; 0 for none."""
    identify_delay: NonNegativeFloat = 5.0
    """Time before a further session is begun; Discord asks for 5."""
    patience: PositiveFloat = 90.0
    """Time without a gateway after which the client is built anew."""
    defer_after: PositiveFloat = 2.0
    """Time after which a slash command that has no answer yet is acknowledged; Discord allows 3."""

    def read_token(self) -> str:
        """The token. Raises `Unauthorized` with what to do when it cannot be one."""
        token = self.token.get_secret_value()
        if not TOKEN.fullmatch(token):
            raise Unauthorized(
                "This is no Discord token: one has no spaces and no line breaks. Reset it on the page Bot of your "
                f"application at {PORTAL} and put the new one into CLAWDBOT_DISCORD_TOKEN."
            )
        return token

    def limits(self, channel: int) -> Limits:
        """What Discord allows in ``channel``: a bucket for each kind of call."""
        return Limits(
            fits=fits,
            size=SIZE,
            sends=Bucket(f"discord:{channel}:send", (Rate(*self.sends),)),
            edits=Bucket(f"discord:{channel}:edit", (Rate(*self.edits),)),
            typing=Bucket(f"discord:{channel}:typing", (Rate(*self.typing),)),
            bot=Bucket("discord", (Rate(*self.whole_bot),)),
            pace=Pace(self.first, self.by_age),
        )

    def command_limits(self, interaction: int) -> Limits:
        """What Discord allows for the answer to one slash command: one bucket, and no part in the whole bot's.

        A single message, which may be written again: for further ones Discord takes no nonce, and those for the asker
        alone are listed nowhere, so one whose receipt got lost would be seen twice.
        """
        bucket = Bucket(f"discord:command:{interaction}", (Rate(*self.answers),))
        every = Bucket("discord:commands", ())
        pace = Pace(self.first, self.by_age)
        return Limits(fits=fits, size=SIZE, sends=bucket, edits=bucket, typing=None, bot=every, pace=pace, messages=1)
