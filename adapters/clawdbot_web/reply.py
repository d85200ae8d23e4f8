"""One answer on the page."""

from clawdbot.chat import Bucket, Frame, Limits, Pace
from clawdbot.errors import Rejected
from clawdbot_web.board import Board, Note

SIZE = 16_000
"""Characters of one message: a growing one is sent whole with every frame."""

_NO_LIMIT = Bucket("web", ())

# The page takes any frame at any time; closer ones would only cost.
LIMITS = Limits(
    fits=lambda text: len(text) <= SIZE,
    size=SIZE,
    sends=_NO_LIMIT,
    edits=_NO_LIMIT,
    typing=None,
    bot=_NO_LIMIT,
    pace=Pace(first=(), by_age=((0.0, 0.05), (10.0, 0.1), (60.0, 0.3))),
)


class WebReply:
    """Where one answer goes: below its question."""

    limits = LIMITS

    def __init__(self, board: Board, question: str) -> None:
        self.ref = question
        self._board = board

    async def send(self, frame: Frame, key: str) -> "WebPost":
        """See `Reply.send`; a key names one message, however often it is sent."""
        post = self.post(key)
        await post.edit(frame)
        return post

    def post(self, ref: str) -> "WebPost":
        """See `Reply.post`."""
        return WebPost(self._board, self.ref, ref)

    async def typing(self) -> None:
        """See `Reply.typing`; the page shows none."""


class WebPost:
    """One message of an answer."""

    def __init__(self, board: Board, question: str, ref: str) -> None:
        self.ref = ref
        self._board = board
        self._question = question

    async def edit(self, frame: Frame) -> None:
        """See `Post.edit`."""
        if not LIMITS.fits(frame.text):
            raise Rejected(f"The message has {len(frame.text):,} characters; {SIZE:,} are shown at most.")
        self._board.put(Note(self.ref, self._question, frame.text, frame))
