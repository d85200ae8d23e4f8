"""What the core asks of a language model's engine."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to choose tokens."""

    max_tokens: int
    temperature: float = 0.7
    top_p: float = 0.95
    min_tokens: int = 0
    """Tokens before which the model may not end its answer: measurements want answers of a known length."""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of a conversation as text."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to generate; ``id`` is unique among all requests ever made of this engine."""

    id: str
    prompt: list[int]
    sampling: Sampling
    images: Sequence["Image"] = ()
    """Those whose places are marked in the prompt (`Tokenizer.pieces`), in their order."""
    conversation: str = ""
    """Of which conversation it is, "" for none: its prompts begin alike, so one server of many should read them."""
    turns: Sequence[Said] = ()
    """What the prompt says, where there are images: some engines are shown those with words alone.

    They belong to the last question. An answer behind that is one to go on with.
    """


@dataclass(frozen=True, slots=True)
class Usage:
    """What one answer cost, from the engine's own metrics. Times are seconds of `Clock.now`.

    None is what an engine elsewhere did not tell.
    """

    queued: float | None
    """When the engine core put the request into its waiting queue."""
    scheduled: float | None
    """When its first token of prompt was scheduled: prefill begins."""
    first_token: float
    last_token: float
    prompt_tokens: int
    cached_tokens: int | None
    """How much of the prompt the prefix cache served."""
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """What came since the last chunk. The last one of an answer has ``finish`` and ``usage``."""

    text: str
    tokens: Sequence[int]
    finish: Finish | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The engine's settings in force, for `/latency` and for fitting prompts."""

    model: str
    device: str
    """Such as "NVIDIA H200" or "CPU, 2 cores"."""
    version: str
    """The engine's name and version: "vLLM 0.32.0"."""
    context: int
    """The most tokens that prompt and answer have together."""
    chunked_prefill: bool | None
    """None where the engine is elsewhere and does not tell; `long_prefill` likewise."""
    step_budget: int
    """`max_num_batched_tokens`: the most tokens of one step."""
    long_prefill: int | None
    """`long_prefill_token_threshold`: the most tokens of a step for one long prompt; 0 is no bound."""
    cache_tokens: int = 0
    """How many tokens the prefix cache holds, those of running answers included; 0 when there is none."""
    cache_block: int = 1
    """Only whole blocks of so many tokens are kept in it."""
    images: int = 0
    """How many pictures one prompt may have; 0: the model sees none."""

    def is_long(self, uncached: int) -> bool:
        """Whether reading so many tokens takes more than one step even of an idle engine.

        A long prompt's part of a step is no measure for it: on a CPU that is less than a usual question has.
        """
        return uncached > self.step_budget


@dataclass(frozen=True, slots=True)
class Opening:
    """What every answer begins with before the model writes a word of it."""

    text: str = ""
    """The tag of a thought, as `clawdbot.prompts.thoughts` knows it; "" for most models."""
    tokens: Sequence[int] = ()
    closed_by: int | None = None
    """The token that closes that thought, where it is a single one."""


UNOPENED = Opening()
"""Of models that write the whole answer."""


class Tokenizer(Protocol):
    """Text to token ids and a chat's template, off the event loop. What waits raises `EngineDead` when it is closed."""

    @property
    def fingerprint(self) -> str:
        """Whose token ids these are: two tokenizers with the same one mean the same by them."""
        ...

    @property
    def opening(self) -> Opening:
        """What the chat template opens an answer with, behind the last of `pieces`; it counts as the answer's own.

        So the history has it before the answer's other tokens, where the model had it when it wrote them.
        """
        ...

    async def encode(self, text: str) -> list[int]:
        """``text`` as a user wrote it; nothing in it ever becomes a special token."""
        ...

    async def pieces(self, roles: Sequence[Role], images: int = 0) -> list[list[int]]:
        """What the chat template puts around the contents of turns with these roles, ready for the `opening`.

        One piece more than ``roles``: before the first content, between contents, after the last. So many ``images``
        are part of the last turn, before its content, where the template knows a place for them.
        """
        ...

    async def disarmed(self, turns: Sequence[Said]) -> list[Said]:
        """``turns`` for a program that applies the template and tokenizes by itself.

        In no text is anything left that it would read as a special token, and each turn has a role that the template
        knows.
        """
        ...


class Engine(Protocol):
    """A started engine."""

    @property
    def info(self) -> EngineInfo:
        """Its settings in force."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The one that its model was made with."""
        ...

    def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """Stream one answer. Closing the generator aborts the request and frees its KV cache.

        Raises `PromptTooLong`, `GenerationFailed`, `EngineDead`.
        """
        ...


async def exhaust(engine: Engine, request: Request) -> None:
    """Let ``engine`` answer and forget what it says: for what it has read. Raises what `Engine.generate` raises."""
    async with aclosing(engine.generate(request)) as chunks:
        async for _ in chunks:
            pass
