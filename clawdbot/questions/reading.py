"""What came with a question is looked at, loaded and read, or refused with a sentence that names it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PIL.Image import Image
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential

from clawdbot import words
from clawdbot.attached import Attachment, Fetching
from clawdbot.chat import Message, Reply
from clawdbot.clock import Clock
from clawdbot.engine.protocol import EngineInfo, Tokenizer
from clawdbot.errors import DeliveryError, Limited, PicturesRefused, Unreachable, Unreadable, Unsure
from clawdbot.questions.documents import decode, label
from clawdbot.questions.pictures import open_picture
from clawdbot.tasks.together import together

TRIES = 5
LONGEST_WAIT = 60.0
"""Seconds that a platform may ask to wait before a file is given up: somebody sits there and can send it again."""
SLICE = 8192
"""Characters that are counted at a time, in 50 ms at most: the tokenizer has one thread, and others wait for it too."""

_FAMILIES = ("audio/", "video/", "font/", "model/")
_NO_TEXT = frozenset(
    {
        "application/gzip",
        "application/java-archive",
        "application/msword",
        "application/pdf",
        "application/vnd.android.package-archive",
        "application/vnd.ms-excel",
        "application/x-7z-compressed",
        "application/x-rar-compressed",
        "application/x-tar",
        "application/zip",
    }
)
"""What is no text whatever its size: making it smaller would not help."""
_OFFICE = ("application/vnd.openxmlformats", "application/vnd.oasis.opendocument")

_backoff = wait_exponential(multiplier=0.5, max=8.0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may come with one question."""

    files: int
    document_bytes: int
    picture_bytes: int


@dataclass(frozen=True, slots=True)
class Read:
    """A question with what came along, as the model is given it."""

    message: Message
    """With the text of each document."""
    pictures: tuple[Image, ...] = ()


class Reading:
    """Decides what can be read, and reads it."""

    def __init__(self, bounds: Bounds, info: Callable[[str], EngineInfo | None], clock: Clock) -> None:
        """``info`` tells what is known of the engine that answers in a conversation (a `Conversation.key`).

        None before it was up for the first time.
        """
        self._bounds = bounds
        self._info = info
        self._clock = clock
        self._unpacking = asyncio.Lock()
        """One picture at a time: however few bytes it has, it may take half a gigabyte of memory meanwhile."""

    def check(self, message: Message) -> None:
        """Look at what is known without loading anything. Raises `Unreadable`."""
        info = self._info(message.conversation.key)
        most = None if info is None else info.images
        names = [*message.beside, *(label(file.name) for file in message.files if _is_foreign(file))]
        if names:
            raise Unreadable(
                words.UNREADABLE.format(
                    names=_listed(names), what=words.READABLE_WITH_PICTURES if most else words.READABLE
                )
            )
        pictures = [label(file.name) for file in message.files if file.is_picture]
        if pictures and most == 0:
            raise Unreadable(words.NO_PICTURES.format(names=_listed(pictures)))
        if most is not None and len(pictures) > most:
            raise Unreadable(words.TOO_MANY_PICTURES.format(count=len(pictures), limit=most))
        if len(message.files) > self._bounds.files:
            raise Unreadable(words.TOO_MANY_FILES.format(count=len(message.files), limit=self._bounds.files))
        for file in message.files:
            self._check_size(file, file.size)

    async def read(self, message: Message, reply: Reply) -> Read:
        """Load and read what came with ``message``; what a document says only once, pictures every time.

        Raises `Unreadable`.
        """
        self.check(message)
        async with together() as group:
            files = [group.create_task(self._read(file, reply)) for file in message.files]
        read = [file.result() for file in files]
        pictures = tuple(found for found in read if not isinstance(found, Attachment))
        known = [
            found if isinstance(found, Attachment) else file for file, found in zip(message.files, read, strict=True)
        ]
        return Read(replace(message, files=tuple(known)), pictures)

    async def _read(self, file: Attachment, reply: Reply) -> Attachment | Image:
        """The file with its text, or the picture that it is."""
        if file.text is not None:
            return file
        data = await self._load(file, reply)
        if len(data) > (limit := self._limit(file)):
            raise _too_large(file, words.MORE_THAN.format(size=_bytes(limit)), limit)
        if file.is_picture:
            async with self._unpacking:
                picture = await asyncio.to_thread(open_picture, data)
            if picture is None:
                raise Unreadable(words.NO_PICTURE.format(name=label(file.name)))
            return picture
        text = await asyncio.to_thread(decode, data)
        if text is None:
            raise Unreadable(words.NO_TEXT.format(name=label(file.name)))
        return replace(file, text=text, size=len(data))

    async def _load(self, file: Attachment, reply: Reply) -> bytes:
        """Bring the content; what passes is tried again. Raises `Unreadable` when it does not pass."""
        if not isinstance(reply, Fetching):
            raise Unreadable(words.NOT_LOADED.format(name=label(file.name)))
        tries = AsyncRetrying(
            sleep=self._clock.sleep,
            wait=_pause,
            stop=stop_after_attempt(TRIES),
            retry=retry_if_exception(_passes),
            reraise=True,
        )
        try:
            return await tries(reply.fetch, file, self._limit(file))
        except DeliveryError as error:
            raise Unreadable(words.NOT_LOADED.format(name=label(file.name))) from error

    def _check_size(self, file: Attachment, size: int) -> None:
        if size > (limit := self._limit(file)):
            raise _too_large(file, _bytes(size), limit)

    def _limit(self, file: Attachment) -> int:
        """The most bytes that it may have."""
        return self._bounds.picture_bytes if file.is_picture else self._bounds.document_bytes


async def sizes(tokenizer: Tokenizer, files: Sequence[Attachment]) -> list[tuple[str, int]]:
    """Name and tokens of each document, about: tokens that lie across the border of two slices are counted twice."""
    found = []
    for file in files:
        if file.text is None:
            continue
        slices = [file.text[start : start + SLICE] for start in range(0, len(file.text), SLICE)]
        found.append((label(file.name), sum([len(await tokenizer.encode(part)) for part in slices])))
    return found


def _too_large(file: Attachment, size: str, limit: int) -> Unreadable:
    return Unreadable(words.FILE_TOO_LARGE.format(name=label(file.name), size=size, limit=_bytes(limit)))


def refused(message: Message, error: PicturesRefused) -> str:
    """The sentence for pictures that only the engine itself could refuse."""
    pictures = [label(file.name) for file in message.files if file.is_picture]
    if error.limit:
        return words.TOO_MANY_PICTURES.format(count=len(pictures), limit=error.limit)
    said = words.PICTURES_REFUSED if error.limit is None else words.NO_PICTURES
    return said.format(names=_listed(pictures))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _is_foreign(file: Attachment) -> bool:
    """Whether it certainly is neither text nor picture."""
    media = file.media.partition(";")[0].strip().lower()
    return media.startswith(_FAMILIES + _OFFICE) or media in _NO_TEXT


def _passes(error: BaseException) -> bool:
    if isinstance(error, Limited):
        return error.retry_after <= LONGEST_WAIT
    return isinstance(error, Unreachable | Unsure)


def _pause(attempt: RetryCallState) -> float:
    """The platform's own wait, if it names one."""
    error = attempt.outcome.exception() if attempt.outcome else None
    return error.retry_after if isinstance(error, Limited) else _backoff(attempt)


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.0f} kB"
