"""The settings of the Telegram adapter: the table ``[adapters.telegram]``."""

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

from clawdbot.chat import Bucket, Drafts, Limits, Pace, Rate
from clawdbot.errors import Unauthorized
from clawdbot_telegram.render import Renderer

TOKEN = re.compile(r"\d+:[\w-]+")
HOW_TO_GET_A_TOKEN = (
    "Ask @BotFather on Telegram for one (/newbot, or /token for a bot that exists) and put it into the environment "
    "variable CLAWDBOT_TELEGRAM_TOKEN."
)
ADDRESS = r"^https?://\S+$"
Rates = Annotated[tuple[tuple[PositiveInt, PositiveFloat], ...], Field(min_length=1)]
Corners = Annotated[tuple[tuple[NonNegativeFloat, PositiveFloat], ...], Field(min_length=1)]


def _of_a_proxy(url: SecretStr) -> SecretStr:
    if not re.fullmatch(ADDRESS, url.get_secret_value()):
        raise ValueError("it must be the URL of an HTTP proxy, such as http://localhost:3128.")
    return url


class Section(BaseModel):
    """A table that refuses keys it does not know and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatLimits(Section):
    """What one kind of chat allows, and how fast an answer grows there. Times in seconds."""

    rates: Rates
    """Pairs (calls, seconds): at most so many sends, edits and typing signs together in any so many seconds."""
    first: tuple[NonNegativeFloat, ...]
    """Times before the second, third, … frame of an answer."""
    by_age: Corners
    """Corners (age of the answer, time between its frames)."""

    @property
    def pace(self) -> Pace:
        """How fast an answer grows there."""
        return Pace(self.first, self.by_age)


class PrivateLimits(ChatLimits):
    """Telegram's FAQ: no more than one message a second in a chat, short bursts allowed. A little less, for jitter."""

    rates: Rates = ((3, 1.1), (8, 5.2), (34, 30.5))
    first: tuple[NonNegativeFloat, ...] = (0.4, 0.8)
    by_age: Corners = ((0.0, 1.0), (28.0, 1.0), (30.0, 1.4), (60.0, 3.0))
    """One a second for as long as most answers take: what slows down from the start trails a bot that does not."""


class GroupLimits(ChatLimits):
    """Telegram's FAQ: 20 messages a minute in a group; edits count like messages."""

    rates: Rates = ((3, 1.1), (20, 61.0))
    first: tuple[NonNegativeFloat, ...] = (1.5,)
    by_age: Corners = ((0.0, 3.5), (30.0, 3.5), (60.0, 5.0))
    """A message that is full costs two calls: a long answer slows down before they are missing."""


class DraftLimits(ChatLimits):
    """Drafts in a private chat. Telegram says nothing about how many it takes; nobody is notified by one."""

    rates: Rates = ((3, 1.1), (45, 31.0))
    first: tuple[NonNegativeFloat, ...] = (0.4, 0.6)
    by_age: Corners = ((0.0, 0.75), (60.0, 0.75), (90.0, 1.5))
    renew: PositiveFloat = 20.0
    """A draft that has not changed for so long is shown again: after 30 s Telegram takes it away."""


class TelegramSettings(Section):
    """How to reach Telegram and how much to ask of it. Times in seconds."""

    token: SecretStr = Field(description="Ask @BotFather on Telegram for one (/newbot, or /token for an old bot).")
    base_url: Annotated[str, Field(pattern=ADDRESS)] = "https://api.telegram.org"
    """Another one for a Bot API server of one's own."""
    proxy: Annotated[SecretStr, AfterValidator(_of_a_proxy)] | None = None
    """The URL of an HTTP proxy, with its password if it has one."""
    poll_timeout: Annotated[int, Field(ge=1, le=50)] = 25
    """How long Telegram may hold a poll that has nothing to bring."""
    connect_timeout: PositiveFloat = 5.0
    call_timeout: PositiveFloat = 10.0
    """How long a call may go without an answer."""
    upload_timeout: PositiveFloat = 60.0
    download_timeout: PositiveFloat = 60.0
    """How long loading a file may take that somebody has sent."""
    connections: PositiveInt = 256
    """The most calls at the same time."""
    keep_warm: PositiveFloat = 25.0
    """How often a few connections carry a call that costs nothing, so that a first word does not wait for a new one."""
    stall: PositiveFloat = 120.0
    """A poll that is this late means that polling has died; the adapter is started anew."""
    text_limit: PositiveInt = 4096
    """The most UTF-16 code units of a message."""
    paste_from: PositiveInt = 2048
    """The shortest text, in UTF-16 code units, that may be the beginning of one that the sender's client cut."""
    caption_limit: PositiveInt = 1024
    entity_limit: PositiveInt = 100
    """Telegram ignores further styles and links of a message in silence."""
    private: PrivateLimits = PrivateLimits()
    group: GroupLimits = GroupLimits()
    bot_rates: Rates = ((30, 1.05),)
    """What the whole bot may do: about 30 calls a second."""
    drafts: bool = False
    """Whether a growing answer in a private chat is a draft, which becomes a message at its end."""
    draft: DraftLimits = DraftLimits()

    @property
    def longest_call(self) -> float:
        """After so long a call has ended: it waits for a place, a connection, its own way and the answer."""
        return 2 * (self.connect_timeout + self.call_timeout)

    def read_token(self) -> str:
        """The token. Raises `Unauthorized` with what to do when it cannot be one."""
        token = self.token.get_secret_value()
        if not TOKEN.fullmatch(token):
            raise Unauthorized(f"This is no Telegram token: one is digits, a colon, letters. {HOW_TO_GET_A_TOKEN}")
        return token

    def limits(self, chat: int, renderer: Renderer) -> Limits:
        """What Telegram allows in ``chat``: a person's number is positive, a group's negative."""
        kind = self.private if chat > 0 else self.group
        bucket = Bucket(f"telegram:{chat}", _rates(kind.rates))
        return Limits(
            fits=renderer.fits,
            size=self.text_limit,
            sends=bucket,
            edits=bucket,
            typing=bucket,
            bot=Bucket("telegram", _rates(self.bot_rates)),
            pace=kind.pace,
        )

    def drafting(self, chat: int) -> Drafts:
        """What Telegram allows of drafts in the private ``chat``."""
        kind = self.draft
        return Drafts(Bucket(f"telegram:{chat}:draft", _rates(kind.rates)), kind.pace, kind.renew)


def _rates(pairs: Rates) -> tuple[Rate, ...]:
    return tuple(Rate(calls, seconds) for calls, seconds in pairs)
