"""Where one answer goes, and the messages that it becomes."""

from collections.abc import Sequence
from zlib import crc32

from clawdbot.attached import Attachment
from clawdbot.chat import Drafts, File, Frame, Limits
from clawdbot.errors import Moved, Rejected
from clawdbot_telegram.calls import Calls, is_picture
from clawdbot_telegram.controls import controls
from clawdbot_telegram.drafts import DraftMode
from clawdbot_telegram.place import Place
from clawdbot_telegram.render import Drawn, Renderer, footed

CAPTIONED = "*"
"""Stands in the ref of a file whose caption is the text."""

MOVED = "@"
"""Stands in the ref before the number of the chat, where that is not the reply's own."""

NO_TEXT = Drawn("", ())


class TelegramReply:
    """A `Reply` in one place, `Drafting`, and `Fetching`.

    Telegram has nothing ephemeral: a private frame is seen by everybody in a group.
    """

    def __init__(
        self,
        place: Place,
        calls: Calls,
        limits: Limits,
        renderer: Renderer,
        caption_limit: int,
        draft_mode: DraftMode,
        download_timeout: float = 60.0,
    ) -> None:
        self._place = place
        self._calls = calls
        self._limits = limits
        self._renderer = renderer
        self._caption_limit = caption_limit
        self._draft_mode = draft_mode
        self._download_timeout = download_timeout
        self._begun: dict[str, TelegramPost] = {}
        """By key, parts whose text was posted but not yet all of their files: another try goes on from there."""

    @property
    def ref(self) -> str:
        return self._place.ref

    @property
    def limits(self) -> Limits:
        return self._limits

    async def send(self, frame: Frame, key: str) -> "TelegramPost":
        """Telegram cannot recognise a repeated send: after `Unsure` another try may show the part twice."""
        post = self._begun.get(key) or await self._begin(frame)
        if frame.files:
            self._begun[key] = post
            await post.attach(frame.files)
            del self._begun[key]
        return post

    def post(self, ref: str) -> "TelegramPost":
        name, *others = ref.split("/")
        captioned = CAPTIONED in others or name.endswith("c")  # which stood there in earlier versions
        chat = next((int(other[1:]) for other in others if other.startswith(MOVED)), self._place.chat)
        self._calls.follow(chat)
        attached = [other for other in others if other != CAPTIONED and not other.startswith(MOVED)]
        return self._post(int(name.removesuffix("c")), chat, captioned=captioned, attached=attached)

    @property
    def drafts(self) -> Drafts | None:
        return self._draft_mode.at(self._place)

    async def draft(self, frame: Frame) -> None:
        """Where Telegram refuses one, it is the last that was tried."""
        if self.drafts is None:
            raise Rejected("There are no drafts here.")
        drawn = visible(self._renderer.draw(frame.text))
        try:
            await self._calls.show_draft(drawn)
        except Rejected as refusal:
            self._draft_mode.refused(str(refusal))
            raise

    async def typing(self) -> None:
        await self._calls.typing()

    async def fetch(self, file: Attachment, most: int) -> bytes:
        """By its id, which stays good; the path that Telegram gives for it is so for an hour."""
        return await self._calls.download(file.ref, most, self._download_timeout)

    async def _begin(self, frame: Frame) -> "TelegramPost":
        """Post the text, as the caption of the first file where that makes one message of two."""
        drawn = footed(self._renderer.draw(frame.text), frame.footnote)
        file = frame.files[0] if frame.files else None
        if file and (not drawn.text or (is_picture(file) and drawn.units <= self._caption_limit)):
            message = await self._calls.send_file(file, drawn, controls(frame, self._calls.topic))
            return self._post(message, self._calls.chat, captioned=True, attached=[mark_of(file)])
        message = await self._calls.send_text(visible(drawn), controls(frame, self._calls.topic))
        return self._post(message, self._calls.chat)

    def _post(
        self, message: int, chat: int, *, captioned: bool = False, attached: Sequence[str] = ()
    ) -> "TelegramPost":
        moved = chat != self._place.chat
        return TelegramPost(
            message, self._calls, self._renderer, chat=chat, moved=moved, captioned=captioned, attached=attached
        )


class TelegramPost:
    """A `Post`: one message of the bot's. ``captioned``: its text is a caption; ``attached``: the files it has.

    Both are in its ref: files are messages of their own, which an edit after a restart would else post again. So is
    ``chat`` if it has ``moved`` since the question was asked.
    """

    def __init__(
        self,
        message: int,
        calls: Calls,
        renderer: Renderer,
        *,
        chat: int,
        moved: bool = False,
        captioned: bool = False,
        attached: Sequence[str] = (),
    ) -> None:
        self._message = message
        self._chat = chat
        self._moved = moved
        self._calls = calls
        self._renderer = renderer
        self._captioned = captioned
        self._attached = list(attached)

    @property
    def ref(self) -> str:
        moved = [f"{MOVED}{self._chat}"] if self._moved else []
        return "/".join([str(self._message), *moved, *([CAPTIONED] if self._captioned else []), *self._attached])

    async def edit(self, frame: Frame) -> None:
        if self._chat != self._calls.chat:
            raise Moved(self._calls.chat)
        drawn = footed(self._renderer.draw(frame.text), frame.footnote)
        if self._captioned:
            await self._calls.edit_caption(self._message, drawn, controls(frame, self._calls.topic))
        else:
            await self._calls.edit_text(self._message, visible(drawn), controls(frame, self._calls.topic))
        await self.attach(frame.files)

    async def attach(self, files: tuple[File, ...]) -> None:
        """Post those of ``files`` that are not there yet, a message each. Raises `DeliveryError`."""
        for file in files:
            if mark_of(file) not in self._attached:
                await self._calls.send_file(file, NO_TEXT)
                self._attached.append(mark_of(file))


def mark_of(file: File) -> str:
    """Tells a file from others, also from one of the same name: an answer that is written anew has other ones."""
    return f"{file.name}:{crc32(file.data):08x}"


def visible(drawn: Drawn) -> Drawn:
    """``drawn``, if it shows anything: Telegram refuses an empty message. Raises `Rejected`."""
    if not drawn.text.strip():
        raise Rejected("Nothing of this text would be seen.")
    return drawn
