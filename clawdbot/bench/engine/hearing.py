"""One request as its reader hears it."""

from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise

from clawdbot.clock import Clock
from clawdbot.engine.protocol import Chunk, Engine, Request, Sampling, Usage


@dataclass(slots=True)
class Heard:
    """What came of one request, growing while it runs. Times are seconds of `Clock.now`."""

    asked: float
    """When the request arrived, the time that it waited before the engine was called included."""
    chunks: list[tuple[float, Chunk]] = field(default_factory=list)
    """When each chunk with tokens came. It has several when the reader was late."""
    usage: Usage | None = None

    @property
    def ttft(self) -> float | None:
        """Seconds from the request's arrival to its first chunk; None when none came."""
        return self.chunks[0][0] - self.asked if self.chunks else None

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(chunk.text for _, chunk in self.chunks)

    @property
    def tokens(self) -> list[int]:
        """The same as token ids."""
        return [token for _, chunk in self.chunks for token in chunk.tokens]

    def gaps(self, since: float, until: float) -> Iterator[float]:
        """Seconds between two chunks, of those gaps that lie in this time, all or in part."""
        for (earlier, _), (later, _) in pairwise(self.chunks):
            if later > since and earlier < until:
                yield later - earlier

    def written(self, since: float, until: float) -> int:
        """How many tokens came in this time."""
        return sum(len(chunk.tokens) for at, chunk in self.chunks if since < at <= until)


def exactly(tokens: int) -> Sampling:
    """Greedy answers of so many tokens, whatever the model would say: their length must not depend on the policy."""
    return Sampling(max_tokens=tokens, min_tokens=tokens, temperature=0.0)


async def hear(
    engine: Engine, request: Request, heard: Heard, clock: Clock, at_first: Callable[[], None] = lambda: None
) -> None:
    """Let ``engine`` answer and put into ``heard`` what comes; ``at_first`` is called with the first chunk.

    Raises what `Engine.generate` raises.
    """
    async with aclosing(engine.generate(request)) as chunks:
        async for chunk in chunks:
            if chunk.tokens:
                if not heard.chunks:
                    at_first()
                heard.chunks.append((clock.now(), chunk))
            heard.usage = chunk.usage
