"""What the store takes and gives back, and how that lies in rows."""

import asyncio
import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Self, TypeVar

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Message, Person, Quoted, State
from clawdbot.engine.protocol import Role
from clawdbot.questions.asking import LONGEST_QUOTE, turn_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A message to answer, and where the answer goes (`Reply.ref`)."""

    message: Message
    reply_ref: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A question that is in the store."""

    reply: int
    """The id of its reply."""
    question: Question
    """As it is kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine made of a question."""

    text: str
    state: State
    """Final, or what cut it short; streaming as long as it is being written."""
    tokenizer: str
    """The `Tokenizer.fingerprint` of the one that made the tokens; "" when there are none."""
    question_tokens: Sequence[int] | None = None
    """The user turn (`asking.turn_text`) as the prompt had it; None when not known."""
    tokens: Sequence[int] | None = None
    """The answer's own tokens, as generated."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the messages that a question is made of."""

    id: str
    """`Message.id`."""
    text: str
    """Empty for one that was removed."""
    joint: str = ""
    """What stands between it and the text before."""
    files: int = 0
    """How many of the question's files came with it."""

    @classmethod
    def of(cls, message: Message) -> Self:
        """The piece that ``message`` is."""
        return cls(message.id, message.text, "\n" if message.album else message.joint, len(message.files))


def joined(pieces: Iterable[Piece]) -> str:
    """What the messages of a question say together."""
    text = ""
    for piece in pieces:
        if piece.text:
            text += f"{piece.joint}{piece.text}" if text else piece.text
    return text


@dataclass(frozen=True, slots=True)
class Revision:
    """Why an answer is written anew, and what changes in its question."""

    by: int | None = None
    """Whose question it counts as; None: nobody's."""
    event: str = ""
    """`Message.event` of what asked for it, which is applied once; "" for what cannot be delivered again."""
    piece: Piece | None = None
    """What one of the question's messages says from now on; a message that is new to it comes at its end."""
    removed: str = ""
    """`Message.id` of one that is there no more."""
    unfinished: bool = False
    """As `Message.unfinished`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One side of a finished exchange. Ids grow along a conversation and are never used twice."""

    id: int
    role: Role
    text: str
    tokens: list[int] | None
    """None when they are not known, or another tokenizer's."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A reply that lacks something: its last frame on the screen, or the rest of an interrupted text."""

    reply: int
    question: Question
    posts: list[str | None]
    """`Post.ref` of each of its messages; None for one whose posting was begun: it may be there or not."""
    answer: Answer | None
    """All that is known of its text, "streaming" as long as it is being written; None if nothing is known."""
    revised: bool = False
    """Whether it was asked for anew; its question counts as received then."""
    pieces: Sequence[Piece] = ()
    """The messages that the question is made of; none where it is one alone."""

    def part(self, message_id: str) -> Piece:
        """What one of the question's messages says."""
        message = self.question.message
        whole = Piece(message.id, message.text, files=len(message.files))
        return next((piece for piece in self.pieces if piece.id == message_id), whole)

    def with_piece(self, changed: Piece) -> str:
        """What the question says when one of its messages is ``changed``, or comes to it."""
        if not self.pieces and changed.id == self.question.message.id:
            return changed.text
        pieces = self.pieces or (self.part(self.question.message.id),)
        if all(piece.id != changed.id for piece in pieces):
            pieces = (*pieces, changed)
        return joined(replace(piece, text=changed.text) if piece.id == changed.id else piece for piece in pieces)

    def rests_on(self, message_id: str) -> bool:
        """Whether nothing is left of the question without that message."""
        return all(piece.id == message_id or not (piece.text or piece.files) for piece in self.pieces)


ASKED = (
    "conversation, platform, chat, topic, private, guild, person, message_id, author, author_name, question, "
    "received_at, sent_at, reply_ref, quoted, quoted_name, quoted_own, attached"
)
"""The columns of ``reply`` that are known when a question is."""


def question_row(question: Question, received_at: float) -> tuple[object, ...]:
    """The columns of ``reply`` that `ASKED` names; ``received_at`` in seconds since the epoch."""
    message, place = question.message, question.message.conversation
    where = (place.key, place.platform, place.chat, place.topic, place.private, place.guild, place.person)
    what = (message.id, message.author.id, message.author.name, message.text)
    quoted = message.quoted
    # One more than is shown, so that it is shown as cut.
    quote = (quoted.text[: LONGEST_QUOTE + 1], quoted.name, quoted.own) if quoted else (None, None, None)
    return (*where, *what, received_at, message.sent_at, question.reply_ref, *quote, pack_files(message.files))


def pack_files(files: Sequence[Attachment]) -> str | None:
    """The column ``attached`` of ``reply``."""
    # One by one, since no other thread has its turn within a call of `dumps`.
    return f"[{', '.join(json.dumps(asdict(file)) for file in files)}]" if files else None


def _read_files(row: sqlite3.Row) -> tuple[Attachment, ...]:
    return tuple(Attachment(**file) for file in json.loads(row["attached"] or "[]"))


def read_conversation(row: sqlite3.Row) -> Conversation:
    """The conversation of a row of ``reply``."""
    return Conversation(row["platform"], row["chat"], row["topic"], bool(row["private"]), row["guild"], row["person"])


def read_question(row: sqlite3.Row, received_at: float) -> Question:
    """The question of a row of ``reply``; ``received_at`` in seconds of `Clock.now`."""
    return Question(_read_message(row, received_at), row["reply_ref"])


def _read_message(row: sqlite3.Row, received_at: float) -> Message:
    # Not an owner, whoever asked: only an adapter that sees the person can vouch for that.
    author = Person(row["author"], row["author_name"])
    quoted = None
    if row["quoted"] is not None:
        quoted = Quoted(row["quoted_name"], row["quoted"], bool(row["quoted_own"]))
    where, text, files = read_conversation(row), row["question"], _read_files(row)
    return Message(row["message_id"], where, author, text, received_at, row["sent_at"], quoted, files)


def answer_row(answer: Answer) -> tuple[object, ...]:
    """The columns of ``reply`` from state to answer_tokens, for an answer that is over or still being written."""
    return (answer.state.value, answer.text, answer.tokenizer, _pack(answer.question_tokens), _pack(answer.tokens))


def read_answer(row: sqlite3.Row) -> Answer | None:
    """The answer of a row of ``reply``; None while there is none."""
    if row["answer"] is None:
        return None
    question_tokens, tokens = _unpack(row["question_tokens"]), _unpack(row["answer_tokens"])
    return Answer(row["answer"], State(row["state"]), row["tokenizer"], question_tokens, tokens)


def read_posts(rows: Iterable[sqlite3.Row], begun: int) -> list[str | None]:
    """`Unfinished.posts` from the rows of ``post`` of one reply and the number of messages that were ``begun``."""
    refs: dict[int, str] = {row["part"]: row["ref"] for row in rows}
    return [refs.get(part) for part in range(max(begun, *(part + 1 for part in refs), 0))]


def read_turns(row: sqlite3.Row, tokenizer: str) -> Iterator[Turn]:
    """Both turns of a finished row of ``reply``; with tokens when they are of ``tokenizer``."""
    ours = row["tokenizer"] == tokenizer
    sides: tuple[tuple[Role, str, str], ...] = (
        ("user", turn_text(_read_message(row, row["received_at"])), "question_tokens"),
        ("assistant", row["answer"], "answer_tokens"),
    )
    for side, (role, text, tokens) in enumerate(sides):
        known = _unpack(row[tokens]) if ours else None
        yield Turn(2 * row["id"] + side, role, text, known)


def read_history(rows: Sequence[sqlite3.Row], tokenizer: str) -> list[Turn]:
    """The turns of rows of ``reply`` that are in their conversation's history, which begins at ``first_turn``."""
    return [turn for row in rows for turn in read_turns(row, tokenizer) if turn.id >= row["first_turn"]]


async def read_aside(rows: Sequence[sqlite3.Row], read: Callable[[], T]) -> T:
    """What ``read`` makes of ``rows``, in a thread where files came along: their texts can be megabytes.

    Anything else takes less time than the way to a thread.
    """
    return await asyncio.to_thread(read) if any(row["attached"] for row in rows) else read()


def _pack(tokens: Sequence[int] | None) -> bytes | None:
    return None if tokens is None else array("I", tokens).tobytes()


def _unpack(blob: bytes | None) -> list[int] | None:
    return None if blob is None else array("I", blob).tolist()
