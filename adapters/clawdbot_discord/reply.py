"""Answers as messages in a channel."""

from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import discord
from discord.http import handle_message_parameters

from clawdbot.attached import Attachment
from clawdbot.chat import Frame, Limits
from clawdbot.errors import Forbidden, Unreachable, Unsure
from clawdbot_discord.attachments import load
from clawdbot_discord.controls import controls
from clawdbot_discord.landed import Sought, landed
from clawdbot_discord.line import Line
from clawdbot_discord.render import drawn, render
from clawdbot_discord.translate import NO_REFERENCE, code_of

LOOKED_THROUGH = 500
"""So many messages of a channel are looked through for one that may have been posted, the newest first."""


@dataclass(slots=True)
class _Doubt:
    """Sends of one part of which nobody knows whether they posted it."""

    since: float
    """When the first of them was made, seconds of `Clock.now`: what was tried before is settled."""
    texts: set[str] = field(default_factory=set)


class ChannelReply:
    """A `Reply` in a channel, a thread or a private chat, to the message ``question`` (0: to none in particular).

    It is `Fetching`, too. ``taken_up``: an earlier process may have sent parts of it. ``since``: the number of what it
    answers where that is no message; those of its messages are larger.
    """

    def __init__(self, line: Line, channel: int, question: int = 0, *, taken_up: bool = False, since: int = 0) -> None:
        self._line = line
        self._channel = channel
        self._question = question
        self._since = since or question
        self._taken_up = taken_up
        self._begun = False
        """Whether something was sent: only the first part points at the question."""
        self._doubts: dict[str, _Doubt] = {}

    @property
    def ref(self) -> str:
        return f"{self._channel}:{self._question}"

    @property
    def limits(self) -> Limits:
        return self._line.settings.limits(self._channel)

    async def send(self, frame: Frame, key: str) -> "ChannelPost":
        sent = await self.look_up(frame, key) if self._nonce_forgotten(key) else None
        if sent is None:
            sent = await self._post(frame, key)
        self._doubts.pop(key, None)
        self._begun = True
        return ChannelPost(self._line, self._channel, sent.id, key)

    def post(self, ref: str) -> "ChannelPost":
        self._begun = True
        return ChannelPost(self._line, self._channel, int(ref))

    async def typing(self) -> None:
        async with self._line.write(self._channel) as client:
            await client.get_partial_messageable(self._channel).typing()

    async def fetch(self, file: Attachment, most: int) -> bytes:
        """All of it: Discord has told how large it is, and whoever calls has looked at that."""
        return await load(self._line, file.ref)

    async def _post(self, frame: Frame, key: str) -> discord.Message:
        """Make one call; where none may point at the question, the next one does not. Raises `DeliveryError`."""
        started = self._line.clock.now()
        try:
            return await self._create(frame, key)
        except Unsure:
            self.doubt(frame, key, started)
            raise
        except Forbidden as error:
            if code_of(error) not in NO_REFERENCE:
                raise
            self._line.places.refuse_references(self._channel)
            raise Unreachable("Messages there may not point at others; the next try does not.") from error

    async def _create(self, frame: Frame, key: str) -> discord.Message:
        options = shown(frame, key)
        if self._question and not self._begun and self._line.places.takes_references(self._channel):
            options["reference"] = discord.MessageReference(
                message_id=self._question, channel_id=self._channel, fail_if_not_exists=False
            )
        async with self._line.write(self._channel) as client:
            # A link preview that comes and goes moves the text below it: none before the last frame.
            return await client.get_partial_messageable(self._channel).send(
                nonce=key, mention_author=False, suppress_embeds=not frame.state.lasting, files=files(frame), **options
            )

    def _nonce_forgotten(self, key: str) -> bool:
        """Whether an earlier send of this part may be one that Discord would not recognise any more."""
        clock, life = self._line.clock, self._line.settings.nonce_life
        if key in self._doubts:
            return clock.now() - self._doubts[key].since > life
        asked = discord.utils.snowflake_time(self._question).timestamp()
        return self._taken_up and clock.wall() - asked > life

    def doubt(self, frame: Frame, key: str, started: float) -> None:
        """Note that a send that was ``started`` then (seconds of `Clock.now`) may have posted a part."""
        self._doubts.setdefault(key, _Doubt(started)).texts.add(render(frame.text))

    def in_doubt(self, key: str) -> bool:
        """Whether a part may be there already."""
        return key in self._doubts

    async def look_up(self, frame: Frame, key: str) -> discord.Message | None:
        """The message that an earlier send of this part has posted, from the channel. Raises `DeliveryError`."""
        doubt = self._doubts.get(key) or _Doubt(0.0)
        texts = frozenset(doubt.texts | {render(frame.text)}) - {""}
        looked_at = self._line.clock.now()
        after = discord.Object(self._since) if self._since else None
        try:
            async with self._line.read() as client:
                place = client.get_partial_messageable(self._channel)
                history = place.history(limit=LOOKED_THROUGH, after=after, oldest_first=False)
                me = client.user.id if client.user else 0
                sought = Sought(me, key, texts, 0 if self._begun else self._question)
                found = landed([message async for message in history], sought)
        except Unsure as error:
            raise Unreachable("Discord did not say what is in the channel.") from error
        if found is None:
            self._doubts[key] = _Doubt(looked_at)
        return found


class ChannelPost:
    """A `Post` that everybody in the channel sees; ``key`` is the one that it was sent with, if that is known."""

    def __init__(self, line: Line, channel: int, message: int, key: str = "") -> None:
        self._line = line
        self._channel = channel
        self._message = message
        self._key = key

    @property
    def ref(self) -> str:
        return str(self._message)

    async def edit(self, frame: Frame) -> None:
        options = shown(frame, self._key, clear=True)
        if frame.files or frame.state.lasting:  # a file of an answer that was written anew goes
            options["attachments"] = files(frame)
        if frame.state.lasting:
            options["flags"] = discord.MessageFlags()
        async with self._line.write(self._channel) as client:
            # discord.py's own `edit` sends flags with every frame, which brings the link previews back, or with none.
            with handle_message_parameters(allowed_mentions=client.allowed_mentions, **options) as params:
                await client.http.edit_message(self._channel, self._message, params=params)


def shown(frame: Frame, key: str = "", *, clear: bool = False) -> dict[str, Any]:
    """Text and buttons of the part ``key`` as discord.py's calls take them; ``clear``: no buttons means remove them."""
    options: dict[str, Any] = {"content": drawn(frame)}
    buttons = controls(frame, key)
    if buttons is not None or clear:
        options["view"] = buttons
    return options


def files(frame: Frame) -> list[discord.File]:
    """What ``frame`` attaches, to be read once."""
    return [discord.File(BytesIO(file.data), filename=file.name) for file in frame.files]
