"""From a conversation to the prompt that fits the model's context and keeps its beginning as long as possible.

vLLM's prefix cache makes a follow-up cost only its new tokens, as long as the prompt begins as the last one did.
Dropping the oldest turn on every message would change the beginning every time; so nothing is dropped until the room is
full, and then enough in one go that it takes long to fill again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clawdbot.engine.protocol import Role, Said, Tokenizer
from clawdbot.errors import PromptTooLong
from clawdbot.store import Turn

KEEP = 0.4
"""What is kept of the history's room when it overflows."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many tokens of the context a prompt may take."""

    prompt: int
    history: int
    """The part of it that earlier turns may fill."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt ready for the engine."""

    tokens: list[int]
    beginning: int
    """How many of them come before the question: the part that does not depend on it, unless it is a long one."""
    question: list[int]
    """The question's own tokens, to be kept in the history."""
    first_turn: int | None
    """`Turn.id` where the history begins from now on; None when nothing was dropped."""
    turns: tuple[Said, ...]
    """What it says, as text."""


def room(context: int, answer: int, history_share: float) -> Room:
    """Divide a context of so many tokens, with up to ``answer`` of them (half of it at most) kept for the answer."""
    prompt = context - min(answer, context // 2)
    return Room(prompt, int(prompt * history_share))


def exchanges_to_drop(costs: Sequence[int], available: int) -> int:
    """How many of the oldest exchanges have to go, given each one's tokens and what is ``available`` for all."""
    total = sum(costs)
    if total <= available:
        return 0
    dropped = 0
    while dropped < len(costs) and total > available * KEEP:
        total -= costs[dropped]
        dropped += 1
    return dropped


def assemble(pieces: Sequence[Sequence[int]], contents: Sequence[Sequence[int]]) -> list[int]:
    """Put the contents of the turns between the pieces of the template (one more than contents)."""
    tokens = list(pieces[0])
    for content, piece in zip(contents, pieces[1:], strict=True):
        tokens += content
        tokens += piece
    return tokens


async def compose(
    tokenizer: Tokenizer, system: str, history: Sequence[Turn], question: str, within: Room, images: int = 0
) -> Prompt:
    """The prompt that asks ``question``, with so many ``images``, after ``history``.

    That has user and assistant turns in pairs, oldest first.

    Raises `PromptTooLong` when the question does not fit even without any history.
    """
    opening: list[Role] = ["system"] if system else []
    head = [await tokenizer.encode(system)] if system else []
    asked = await tokenizer.encode(question)
    contents = [turn.tokens if turn.tokens is not None else await tokenizer.encode(turn.text) for turn in history]

    async def pieces_from(first: int) -> list[list[int]]:
        return await tokenizer.pieces([*opening, *(turn.role for turn in history[first:]), "user"], images)

    alone = len(assemble(await pieces_from(len(history)), [*head, asked]))
    if alone > within.prompt:
        raise PromptTooLong(len(asked), max(0, within.prompt - alone + len(asked)))
    pieces = await pieces_from(0)
    sizes = [len(piece) + len(content) for piece, content in zip(pieces[len(opening) : -2], contents, strict=True)]
    exchanges = [sum(sizes[start : start + 2]) for start in range(0, len(sizes), 2)]
    first = 2 * exchanges_to_drop(exchanges, min(within.history, within.prompt - alone))
    if first:
        pieces = await pieces_from(first)
    while len(tokens := assemble(pieces, [*head, *contents[first:], asked])) > within.prompt:
        first += 2  # a template may say more around the first turn than around later ones
        pieces = await pieces_from(first)
    before = [Said("system", system)] if system else []
    turns = (*before, *(Said(turn.role, turn.text) for turn in history[first:]), Said("user", question))
    return Prompt(tokens, len(tokens) - len(asked) - len(pieces[-1]), asked, _first_kept(history, first), turns)


def _first_kept(history: Sequence[Turn], dropped: int) -> int | None:
    if not dropped:
        return None
    return history[dropped].id if dropped < len(history) else history[-1].id + 1
