"""What a server's stream says, one event after the other, in the bot's own terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clawdbot.engine.protocol import UNOPENED, Finish, Opening
from clawdbot.engine.remote.faults import Fault
from clawdbot.prompts.thoughts import OPENING, closing, mark


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer took, by the server's account; None is what it was not told to say. Times are seconds."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    queue: float | None
    """From its waiting queue to the first step."""
    prefill: float | None
    """From there to the first token."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What came since the last one. ``spent`` comes last, after everything else."""

    text: str = ""
    tokens: tuple[int, ...] = ()
    finish: Finish | None = None
    spent: Spent | None = None


class Reader:
    """Reads the events of one answer, be it a completion's or a chat's.

    A server that was told how its model marks thoughts (``--reasoning-parser``) sends them in a chat apart and without
    their marks. These come back here, so that a thought is hidden as it is everywhere else.
    """

    def __init__(self, opening: Opening = UNOPENED) -> None:
        """``opening``: how a chat's template opens a thought for every answer, if it does."""
        self._opening = opening.text
        self._closed_by = opening.closed_by
        self._closing = ""
        """What is missing behind the thought that comes just now."""

    def read(self, event: Any) -> Delta:
        """Raises `Fault`."""
        try:
            return self._delta(event["choices"][0]) if event["choices"] else _last(event)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise Fault(f"it does not speak vLLM's form of the protocol ({error!r})") from error

    def _delta(self, choice: Mapping[str, Any]) -> Delta:
        ids, reason = choice.get("token_ids"), choice.get("finish_reason")
        text = self._of_chat(choice["delta"], ids or ()) if "delta" in choice else choice["text"]
        if ids is None and not text and reason is None:
            return Delta()  # a chat's first event says who speaks, before there is any token
        if ids is None:
            raise Fault("it does not return token ids: it has to be a vLLM server, of a version that can", lasting=True)
        if reason not in (None, "stop", "length"):
            raise Fault(f"it gave the answer up ({reason})")
        return Delta(text, tuple(ids), reason)

    def _of_chat(self, delta: Mapping[str, Any], ids: Sequence[int]) -> str:
        said: str = delta.get("content") or ""
        text: str = delta.get("reasoning") or delta.get("reasoning_content") or ""
        if (text or self._took_a_mark(delta, ids)) and not self._closing:
            self._closing = closing(self._opening or OPENING)
            text = text if self._opening else OPENING + text
            self._opening = ""
        if said and self._closing:
            text, self._closing = text + self._closing, ""
        return text + said

    def _took_a_mark(self, delta: Mapping[str, Any], ids: Sequence[int]) -> bool:
        """Whether this is the end of a thought with nothing in it: its mark is all that the server takes away then.

        The first words may come with it. A server that takes nothing apart writes the mark, too.
        """
        if not self._opening or "role" in delta:
            return False
        said = delta.get("content")
        return said is None or (self._closed_by in ids and mark(self._opening) not in said)


def _last(event: Mapping[str, Any]) -> Delta:
    usage = event.get("usage")
    if usage is None:
        return Delta()
    details, metrics = usage.get("prompt_tokens_details") or {}, event.get("metrics") or {}
    return Delta(
        spent=Spent(
            int(usage["prompt_tokens"]),
            int(usage["completion_tokens"]),
            details.get("cached_tokens"),
            _seconds(metrics.get("queue_time_ms")),
            _seconds(metrics.get("time_to_first_token_ms")),
        )
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
