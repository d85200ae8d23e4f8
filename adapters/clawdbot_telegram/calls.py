"""The calls of the Bot API that an answer needs, for one place."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from telegram import Bot, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import BadRequest

from clawdbot.chat import File
from clawdbot.errors import Forbidden, Moved, Unreachable
from clawdbot_telegram.closed import Closed
from clawdbot_telegram.moves import Moves
from clawdbot_telegram.place import Place
from clawdbot_telegram.render import Drawn
from clawdbot_telegram.translate import one_call
from clawdbot_telegram.transport import Transport

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

T = TypeVar("T")
Call = Callable[[str, Sequence[MessageEntity]], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Patience:
    """After so many seconds a call has ended, whatever becomes of it."""

    call: float = 30.0
    upload: float = 90.0
    download: float = 60.0


class Calls:
    """Each method is one call.

    ``bot`` gives the connected bot or raises `Unreachable`. All raise `DeliveryError`: `Forbidden` without a call where
    a text was refused, until ``closed`` is told otherwise; `Moved` where the group is another one now, which ``moves``
    is told: the next call goes there; `Unreachable` where the styles of a text were refused: the next one goes plain.
    """

    def __init__(
        self,
        place: Place,
        bot: Callable[[], Bot],
        closed: Closed,
        moves: Moves,
        patience: Patience = Patience(),
    ) -> None:
        self._asked = place
        self._bot = bot
        self._closed = closed
        self._moves = moves
        self._patience = patience
        self._plain = False
        """Whether texts go without styles, since Telegram has refused those of one."""

    @property
    def chat(self) -> int:
        """The number of the chat that is called."""
        return self._place.chat

    @property
    def topic(self) -> int:
        """The number of the forum topic in it; 0 for none."""
        return self._place.topic

    @property
    def _place(self) -> Place:
        return self._moves.now(self._asked)

    def follow(self, chat: int) -> None:
        """Call ``chat`` from now on: it is what the group has become."""
        self._moves.find(self._asked.chat, chat)

    async def typing(self) -> None:
        """Show "typing" for about 5 s."""
        async with self._remembering():
            await self._bot().send_chat_action(
                self._place.chat, ChatAction.TYPING, message_thread_id=self._place.topic or None
            )

    async def show_draft(self, drawn: Drawn) -> None:
        """Show a text as the draft of an answer to the place's message, for 30 s or until a message is sent.

        The person gets Telegram's own Stop button, where the API has it; others ignore what they do not know.
        """
        bot = self._bot()

        async def call(text: str, entities: Sequence[MessageEntity]) -> None:
            await bot.send_message_draft(
                self._place.chat,
                self._place.message,
                text,
                message_thread_id=self._place.topic or None,
                entities=entities,
                api_kwargs={"can_stop": True, "keep_on_stop": True},
            )

        async with self._remembering():
            await self._styled(drawn, call)

    async def send_text(self, drawn: Drawn, buttons: InlineKeyboardMarkup | None) -> int:
        """Post a text; the id of the message."""
        bot = self._bot()

        async def call(text: str, entities: Sequence[MessageEntity]) -> int:
            message = await bot.send_message(
                text=text,
                entities=entities,
                reply_markup=buttons,
                link_preview_options=NO_PREVIEW,
                **self._address(),
            )
            return message.message_id

        async with self._remembering():
            return await self._styled(drawn, call)

    async def send_file(self, file: File, caption: Drawn, buttons: InlineKeyboardMarkup | None = None) -> int:
        """Post a file, PNG as a picture; the id of the message. Where no files may be sent, texts may be."""
        bot = self._bot()

        async def call(text: str, entities: Sequence[MessageEntity]) -> int:
            said: dict[str, Any] = {"caption": text or None, "caption_entities": entities, "reply_markup": buttons}
            if is_picture(file):
                message = await bot.send_photo(photo=file.data, filename=file.name, **said, **self._address())
            else:
                message = await bot.send_document(document=file.data, filename=file.name, **said, **self._address())
            return message.message_id

        self._closed.check(self._place)
        async with self._following(self._patience.upload):
            return await self._styled(caption, call)

    async def edit_text(self, message: int, drawn: Drawn, buttons: InlineKeyboardMarkup | None) -> None:
        """Show another text, with these buttons or none. A text that is there already is success."""
        bot = self._bot()

        async def call(text: str, entities: Sequence[MessageEntity]) -> None:
            await bot.edit_message_text(
                text=text,
                chat_id=self._place.chat,
                message_id=message,
                entities=entities,
                reply_markup=buttons,
                link_preview_options=NO_PREVIEW,
            )

        async with self._remembering():
            await self._styled(drawn, _repeatable(call))

    async def edit_caption(self, message: int, drawn: Drawn, buttons: InlineKeyboardMarkup | None) -> None:
        """The same for the caption of a picture or file."""
        bot = self._bot()

        async def call(text: str, entities: Sequence[MessageEntity]) -> None:
            await bot.edit_message_caption(
                chat_id=self._place.chat,
                message_id=message,
                caption=text,
                caption_entities=entities,
                reply_markup=buttons,
            )

        async with self._remembering():
            await self._styled(drawn, _repeatable(call))

    async def download(self, file: str, most: int) -> bytes:
        """The content of a file, by its id; of one that is longer than ``most`` bytes, so many and one more."""
        async with one_call(self._patience.download):
            bot = self._bot()
            found = await bot.get_file(file)
            assert isinstance(bot.request, Transport), "this bot loads no files"
            return await bot.request.load(found.file_path or "", most)

    @asynccontextmanager
    async def _following(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with one_call(seconds):
                yield
        except Moved as moved:
            self.follow(moved.to)
            raise

    @asynccontextmanager
    async def _remembering(self) -> AsyncIterator[None]:
        self._closed.check(self._place)
        try:
            async with self._following(self._patience.call):
                yield
        except Forbidden as refusal:
            self._closed.close(self._place, str(refusal))
            raise

    async def _styled(self, drawn: Drawn, call: Call[T]) -> T:
        try:
            return await call(drawn.text, () if self._plain else drawn.entities)
        except BadRequest as error:
            if self._plain or not drawn.entities or "entit" not in error.message.lower():
                raise
            self._plain = True
            raise Unreachable("Telegram refuses the styles of a text; the next try goes without.") from error

    def _address(self) -> dict[str, Any]:
        """The arguments that bring a message to the place. In a group it answers the question visibly."""
        place = self._place
        address: dict[str, Any] = {"chat_id": place.chat, "message_thread_id": place.topic or None}
        if place.message and not place.private:
            address["reply_parameters"] = ReplyParameters(place.message, allow_sending_without_reply=True)
        return address


def is_picture(file: File) -> bool:
    """Whether Telegram should show the file instead of offering it."""
    return file.name.lower().endswith(".png")


def _repeatable(call: Call[None]) -> Call[None]:
    async def once(text: str, entities: Sequence[MessageEntity]) -> None:
        try:
            await call(text, entities)
        except BadRequest as error:
            if "not modified" not in error.message.lower():
                raise

    return once
