"""An answer while it is being written, and what is noted of it for a process that finds it unfinished."""

from dataclasses import dataclass, field
from math import inf

from clawdbot.chat import State
from clawdbot.engine.protocol import Chunk, Usage
from clawdbot.store import Answer, Store, Trimming


@dataclass(slots=True)
class Draft:
    """What is known of one answer while it is made. Times are seconds of `Clock.now`."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    tokenizer: str = ""
    """Whose the tokens are: `Tokenizer.fingerprint`."""
    opening: str = ""
    """The text of the `Opening` that the tokens begin with; the text begins with it as soon as there is any."""
    model: str = ""
    """The name of the model that makes it."""
    given: int = 0
    """How many of the tokens were there before the engine wrote the first."""
    begun: Answer | None = None
    """What was written before an interruption; the text goes on from there."""
    question_tokens: list[int] | None = None
    trimming: Trimming | None = None
    """What the model had no room for, if anything."""
    admitted: float | None = None
    first_token: float | None = None
    last_token: float | None = None
    usage: Usage | None = None
    over: bool = False
    """Whether another answer takes its place."""
    hidden_until: float = -inf
    """Nothing of it is shown before."""
    failure: State | None = None
    """The state in which a fault leaves the answer; None as long as there was none."""

    @classmethod
    def after(cls, begun: Answer | None) -> "Draft":
        """A draft that goes on where ``begun`` ends; None begins anew."""
        if begun is None or not begun.text:
            return cls()
        asked = None if begun.question_tokens is None else list(begun.question_tokens)
        tokens = list(begun.tokens or ())
        return cls(begun.text, tokens, begun.tokenizer, given=len(tokens), begun=begun, question_tokens=asked)

    @property
    def grown(self) -> bool:
        """Whether any text was written that was not there before."""
        return self.text != (self.begun.text if self.begun else "")

    @property
    def cost(self) -> int:
        """Tokens that the engine had to read or wrote for it; what it has read is known at the end."""
        if (usage := self.usage) is not None:
            return usage.prompt_tokens - (usage.cached_tokens or 0) + usage.output_tokens
        return max(0, len(self.tokens) - self.given)

    def take(self, chunk: Chunk, now: float) -> None:
        """Add what the engine has written."""
        self.last_token = now
        if self.first_token is None:
            self.first_token = now
        if chunk.text:
            self.text = (self.text or self.opening) + chunk.text
        self.tokens += chunk.tokens
        self.usage = chunk.usage

    def forget(self) -> None:
        """Forget what an engine wrote that died before its tokens made any text."""
        before = Draft.after(self.begun)
        self.tokenizer, self.tokens, self.question_tokens = before.tokenizer, before.tokens, before.question_tokens
        self.given = before.given
        self.first_token = self.last_token = None

    def fail(self) -> None:
        """Note a fault: it cuts a text short, or there will be none."""
        self.failure = State.INTERRUPTED if self.text else State.FAILED

    def answer(self, state: State) -> Answer:
        """What of it is stored."""
        return Answer(self.text, state, self.tokenizer, self.question_tokens, self.tokens)


class DraftJournal:
    """A `clawdbot.delivery.outbox.Journal` in the store, for one reply."""

    def __init__(self, store: Store, number: int, posts: set[str], draft: Draft | None) -> None:
        """``posts`` is told the ref of every message; ``draft`` is None when the text is stored already."""
        self._store = store
        self._number = number
        self._posts = posts
        self._draft = draft

    async def begin(self, parts: int) -> None:
        draft = self._draft
        # A sentence that says why there is no answer is no part of one.
        written = draft is not None and not draft.over and draft.text and draft.failure is not State.FAILED
        if draft is not None and written:
            await self._store.draft(self._number, draft.answer(State.STREAMING), parts, draft.cost)
        else:
            await self._store.draft(self._number, None, parts)

    async def posted(self, part: int, post: str) -> None:
        self._posts.add(post)
        await self._store.posted(self._number, part, post)

    async def refused(self, parts: int, seconds: float) -> None:
        await self._store.refused(self._number, parts, seconds)
