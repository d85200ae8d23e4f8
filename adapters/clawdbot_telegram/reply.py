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
    ) -> None:
        self._place = place
        self._calls = calls
        self._limits = limits
        self._renderer = renderer
        self._caption_limit = caption_limit
        self._draft_mode = draft_mode

    @property
    def ref(self) -> str:
        return self._place.ref

    @property
    def limits(self) -> Limits:
        return self._limits

    async def send(self, frame: Frame, key: str) -> "TelegramPost":
        """Post the text, as the caption of the first file where that makes one message of two.

        Telegram cannot recognise a repeated send: after `Unsure` another try may show the part twice.
        """
        drawn, buttons = footed(self._renderer.draw(frame.text), frame.footnote), controls(frame, self._calls.topic)
        file = frame.files[0] if frame.files else None
        if file and (not drawn.text or (is_picture(file) and drawn.units <= self._caption_limit)):
            message = await self._calls.send_file(file, drawn, buttons)
            post = self._post(message, self._calls.chat, captioned=True, attached=[mark_of(file)])
        else:
            message = await self._calls.send_text(visible(drawn), buttons)
            post = self._post(message, self._calls.chat)
        post.shows(frame)
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
        return await self._calls.download(file.ref, most)

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
    ``chat`` if it has ``moved`` since the question was asked. Since every file is a call of its own, it is `Stepwise`.
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
        self._shown: Frame | None = None
        """What it is known to show, but for files that are not there yet."""

    @property
    def unfinished(self) -> bool:
        """See `clawdbot.abilities.Stepwise`."""
        return self._shown is not None and bool(self._missing(self._shown))

    @property
    def ref(self) -> str:
        moved = [f"{MOVED}{self._chat}"] if self._moved else []
        return "/".join([str(self._message), *moved, *([CAPTIONED] if self._captioned else []), *self._attached])

    async def edit(self, frame: Frame) -> None:
        """Show the text or, where that is all that ``frame`` still lacks, post one of its files."""
        if self._chat != self._calls.chat:
            raise Moved(self._calls.chat)
        missing = self._missing(frame)
        if missing and self._shown == frame:
            await self._calls.send_file(missing[0], NO_TEXT)
            self._attached.append(mark_of(missing[0]))
        else:
            await self._rewrite(footed(self._renderer.draw(frame.text), frame.footnote), frame)
        self.shows(frame)

    def shows(self, frame: Frame) -> None:
        """Note that it shows ``frame``, perhaps without all of its files."""
        self._shown = frame

    async def _rewrite(self, drawn: Drawn, frame: Frame) -> None:
        buttons = controls(frame, self._calls.topic)
        if self._captioned:
            await self._calls.edit_caption(self._message, drawn, buttons)
        else:
            await self._calls.edit_text(self._message, visible(drawn), buttons)

    def _missing(self, frame: Frame) -> list[File]:
        return [file for file in frame.files if mark_of(file) not in self._attached]


def mark_of(file: File) -> str:
    """Tells a file from others, also from one of the same name: an answer that is written anew has other ones."""
    return f"{file.name}:{crc32(file.data):08x}"


def visible(drawn: Drawn) -> Drawn:
    """``drawn``, if it shows anything: Telegram refuses an empty message. Raises `Rejected`."""
    if not drawn.text.strip():
        raise Rejected("Nothing of this text would be seen.")
    return drawn
